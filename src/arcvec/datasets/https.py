"""The bytes of a file behind an https address, from any of them on."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.client import HTTPException, HTTPMessage, InvalidURL
from typing import IO
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

TIMEOUT = 30.0
"""Seconds in which a server must say something."""

_BLOCK = 1 << 18


def sent_blocks(
    address: str, start: int, end: int, context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes from `start` on, or all if the server does not know how, with their position.

    Args:
        end: bytes of the whole file; more may come nevertheless.
        context: whom to trust; by default whom the system trusts.

    Raises:
        ValueError: the server has another file, or does not send what was asked for.
        OSError: it cannot be reached, refuses, or breaks off.
    """
    try:
        yield from _blocks(address, start, end, context or ssl.create_default_context())
    except (OSError, HTTPException, UnicodeError) as error:
        raise _explained(error, address) from None


def _blocks(
    address: str, start: int, end: int, context: ssl.SSLContext
) -> Iterator[tuple[int, bytes]]:
    asked = request.Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    with _opener(context).open(asked, timeout=TIMEOUT) as answer:
        if answer.status != 206:
            start = 0
        elif not str(answer.headers["Content-Range"]).startswith(f"bytes {start}-"):
            raise ValueError(f"{address}: sent another part of the file than was asked for")
        if answer.length is not None and start + answer.length != end:
            raise ValueError(f"{address}: expected {end:,} bytes, got {start + answer.length:,}")
        while block := answer.read1(_BLOCK):
            yield start, block
            start += len(block)


def _explained(error: Exception, address: str) -> Exception:
    """Return the error to raise instead, in one line; no words of the server are repeated."""
    if isinstance(error, HTTPError):
        error.close()
        if error.code == 416:  # asked to go on behind the last byte it has
            return ValueError(f"{address}: fewer bytes than expected")
        missing = ": it has no such file" if error.code == 404 else ""
        return OSError(f"{address}: the server answered {error.code}{missing}")
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted: {reason.verify_message}"
    elif isinstance(error, (URLError, InvalidURL, UnicodeError)):
        why = f"cannot be reached: {reason}"
    else:
        kind = type(error).__name__
        why = f"the connection broke off ({kind}); the same command goes on from there"
    return ConnectionError(f"{address}: {why}")


def _opener(context: ssl.SSLContext) -> request.OpenerDirector:
    """Return what opens https addresses and no others."""
    opener = request.OpenerDirector()
    opener.add_handler(request.ProxyHandler())
    opener.add_handler(request.HTTPSHandler(context=context))
    opener.add_handler(request.HTTPErrorProcessor())
    opener.add_handler(request.HTTPDefaultErrorHandler())
    opener.add_handler(_HttpsRedirects())
    return opener


class _HttpsRedirects(request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> request.Request | None:
        fp.close()  # its text would be read to an end that it may not have
        if urlsplit(newurl).scheme != "https":
            raise URLError(f"it leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
