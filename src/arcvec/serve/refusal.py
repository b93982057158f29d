"""Requests that are answered by an error, and with what words."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is answered by an error."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        """Take the status and words of the answer, and headers with _ for -."""
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def overloaded(max_requests: int) -> Refusal:
    """Return the refusal of a server that has enough to do."""
    message = f"the server works on {max_requests} requests already; ask again in a second"
    return Refusal(503, message, retry_after="1")


def full(max_bytes: int) -> Refusal:
    """Return the refusal of a server that has enough in memory."""
    message = f"the server holds {max_bytes:,} bytes of others already; ask again in a second"
    return Refusal(503, message, retry_after="1")
