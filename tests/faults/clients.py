"""Clients that do what no good client does, and what their server takes meanwhile."""

import contextlib
import http.client
import os
import socket
import struct
import time
from pathlib import Path

JSON = b"Content-Type: application/json\r\n"
UNFINISHED = {
    "nothing": b"",
    "half a first line": b"GET /v1/no",
    "half a head": b"GET /v1/nodes?prefix=person HTTP/1.1\r\nHost: x\r\nAccept: te",
    "half a body": b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{",
    "half a chunk": b"POST /v1/score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
    "a question, its answer unread": b"GET /v1/nodes?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n",
}


def asking(path, method="GET", body=None, more=b""):
    """Return the bytes of a request, after which the connection is closed."""
    length = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
    first = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
    return first + length + more + b"\r\n" + (body or b"")


def connect(server, receive_buffer=None):
    connection = socket.socket()
    connection.settimeout(120)
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(server.address)
    return connection


def hang_up(connection, reset=False):
    """Close a connection in the usual way, or as a machine that fell over does."""
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def trickle(server, begin, piece=b"", pause=0.1):
    """Send a beginning, then a piece again and again; return what came until the server closed."""
    with connect(server) as connection:
        received = b""
        try:
            connection.sendall(begin)
            connection.settimeout(pause if piece else 120)
            while True:
                try:
                    chunk = connection.recv(1 << 16)
                except TimeoutError:
                    assert piece, "the server waits for ever"
                    connection.sendall(piece)
                    continue
                if not chunk:
                    return received
                received += chunk
        except ConnectionError:
            return received


def status_of(received):
    """Return the status of the first answer in what came; None if nothing did."""
    return int(received.split(b" ", 2)[1]) if received else None


def answers(server):
    """Tell whether a server is well."""
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        return server.get("/healthz").status == 200
    return False


def memory(server):
    """Return the MiB of memory a server takes."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)
