"""Connections from each worker to each other one, for the many small messages of a step."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import select
import socket
from collections.abc import Sequence
from datetime import timedelta

from torch._C._distributed_c10d import Store

_SECRET_BYTES = 16
_RANK_BYTES = 4
_SECONDS_TO_SAY_HELLO = 10.0


class LostWorkerError(RuntimeError):
    """Another worker no longer answers."""


class Links:
    """A connection of this worker to each other one.

    gloo hands a message through three threads, each of which must first be woken. A step has some
    ten messages of a few kilobytes, which take less time than that.

    Args:
        store: where workers find each other.
        name: of this set of connections, the same on all workers.
        patience: how long the others may be at work on their own.
    """

    def __init__(self, store: Store, name: str, rank: int, count: int, patience: timedelta) -> None:
        self._milliseconds = int(patience.total_seconds() * 1e3)
        self._sockets: dict[int, socket.socket] = {}
        if count > 1:
            self._connect(store, name, rank, count, patience.total_seconds())
        self._ranks = {link.fileno(): peer for peer, link in self._sockets.items()}

    def _connect(self, store: Store, name: str, rank: int, count: int, seconds: float) -> None:
        """Call all workers of lower rank, and be called by all others."""
        secret = secrets.token_bytes(_SECRET_BYTES)
        address, server = _listen(count)
        with server:
            told = [address, server.getsockname()[1], secret.hex()]
            store.set(f"{name}-{rank}", json.dumps(told))
            for peer in range(rank):
                host, port, word = json.loads(store.get(f"{name}-{peer}"))
                link = socket.create_connection((host, port), timeout=seconds)
                link.sendall(bytes.fromhex(word) + rank.to_bytes(_RANK_BYTES))
                self._sockets[peer] = link
            server.settimeout(seconds)
            while len(self._sockets) < count - 1:
                link, _ = server.accept()
                caller = _caller(link, secret)
                if caller is None:
                    link.close()  # a stranger
                else:
                    self._sockets[caller] = link
        for link in self._sockets.values():
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setblocking(False)

    def exchange(self, sent: Sequence[memoryview], received: Sequence[memoryview]) -> None:
        """Send bytes to each worker and fill what comes from each; nothing goes to itself.

        Raises:
            LostWorkerError: one of them closed its connection, or kept silent for too long.
        """
        out = {peer: sent[peer] for peer in self._sockets if len(sent[peer])}
        into = {peer: received[peer] for peer in self._sockets if len(received[peer])}
        waiting = select.poll()
        for peer in out.keys() | into.keys():
            waiting.register(self._sockets[peer], _events(peer, out, into))
        while out or into:
            ready = waiting.poll(self._milliseconds)
            if not ready:
                raise LostWorkerError(f"worker {min(out | into)} does not answer")
            for file, _ in ready:
                peer = self._ranks[file]
                self._move(peer, out, into)
                if events := _events(peer, out, into):
                    waiting.modify(file, events)
                else:
                    waiting.unregister(file)

    def _move(self, peer: int, out: dict[int, memoryview], into: dict[int, memoryview]) -> None:
        """Send and receive what can be at once; what is left stays."""
        link = self._sockets[peer]
        try:
            if peer in out:
                _take_off(out, peer, link.send(out[peer]))
            if peer in into:
                got = link.recv_into(into[peer])
                if not got:
                    raise LostWorkerError(f"worker {peer} closed its connection")
                _take_off(into, peer, got)
        except BlockingIOError:
            pass
        except ConnectionError as error:
            raise LostWorkerError(f"the connection to worker {peer} broke: {error}") from error

    def close(self) -> None:
        """Close all connections."""
        for link in self._sockets.values():
            link.close()


def _listen(count: int) -> tuple[str, socket.socket]:
    """Return a socket for others to call, and the address by which they reach this host."""
    master = os.environ.get("MASTER_ADDR", "localhost")
    family = socket.getaddrinfo(master, None, type=socket.SOCK_STREAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((master, 9))  # sends nothing: it only finds the way there
        address = probe.getsockname()[0]
    is_alone = os.environ.get("LOCAL_WORLD_SIZE", str(count)) == str(count)
    if is_alone or not address.startswith(("127.", "::1")):
        return address, socket.create_server((address, 0), family=family, backlog=count)
    # On the host that all others know by this name, whatever it is to itself.
    return master, socket.create_server(("", 0), family=family, backlog=count)


def _caller(link: socket.socket, secret: bytes) -> int | None:
    """Return the rank of who has called, None if it does not know the secret."""
    link.settimeout(_SECONDS_TO_SAY_HELLO)
    try:
        hello = link.recv(_SECRET_BYTES + _RANK_BYTES, socket.MSG_WAITALL)
    except OSError:
        return None
    if not hmac.compare_digest(hello[:_SECRET_BYTES], secret):
        return None
    return int.from_bytes(hello[_SECRET_BYTES:])


def _events(peer: int, out: dict[int, memoryview], into: dict[int, memoryview]) -> int:
    return (select.POLLOUT if peer in out else 0) | (select.POLLIN if peer in into else 0)


def _take_off(left: dict[int, memoryview], peer: int, size: int) -> None:
    left[peer] = left[peer][size:]
    if not len(left[peer]):
        del left[peer]
