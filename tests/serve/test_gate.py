"""Who is let in, and how much at once."""

import re
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from arcvec.serve.service import MAX_HEAD_BYTES
from tests.serve.processes import running

PATHS = ("/v1/nodes?prefix=a", "/v1/recommend?node=node20", "/metrics", "/openapi.json", "/nowhere")


def exchange(server, *parts):
    """Send bytes as they are and return all that comes back until the server closes."""
    with socket.create_connection(server.address, timeout=60) as connection:
        received = b""
        try:
            for part in parts:
                connection.sendall(part)
            while chunk := connection.recv(1 << 16):
                received += chunk
        except ConnectionError:
            pass
        return received


@pytest.fixture(scope="module", params=["file", "variable"])
def guarded(request, place):
    flags, environment = (), {"ARCVEC_TOKEN": "s3cret"}
    if request.param == "file":
        (place / "token").write_text("s3cret\n")
        flags = ("--token-file", place / "token")
        environment = {"ARCVEC_TOKEN": "the file is meant"}
    with running(place, "serve", place / "result", *flags, **environment) as server:
        yield server


def test_the_token_is_needed_but_for_health(guarded):
    assert guarded.get("/healthz").status == 200
    wrong = ("Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret", "Bearer", "Bearer \xff")
    for path in PATHS:
        for headers in ({}, *({"Authorization": value} for value in wrong)):
            answer = guarded.ask("GET", path, headers=headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in answer.error
        answer = guarded.ask("GET", path, headers={"Authorization": "Bearer s3cret"})
        assert answer.status == (404 if path == "/nowhere" else 200)
    page = guarded.ask("GET", "/openapi.json", headers={"Authorization": "bearer s3cret"}).json
    assert page["security"] == [{"token": []}]


def test_a_large_body_is_refused_without_being_kept(server):
    head = b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    closing = b"Connection: close\r\nContent-Length: 999999999999\r\n\r\n{"
    assert exchange(server, head + closing).startswith(b"HTTP/1.1 413")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
    health = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    # The rest of the body is discarded, and the connection can be used again.
    answer = exchange(server, chunked, *[chunk] * 200, b"0\r\n\r\n", health)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"413", b"200"]


def test_a_head_without_end_is_refused(server):
    answer = exchange(
        server, b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", b"a" * (MAX_HEAD_BYTES + 1000)
    )
    assert answer.startswith(b"HTTP/1.1 400") or answer == b""
    assert exchange(server, b"no HTTP at all\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert server.get("/healthz").status == 200


def test_what_is_too_much_is_shed(place):
    with running(place, "serve", place / "result", "--max-requests", 2, "--cache", 0) as server:
        nodes = [f"node{i}" for i in range(20, 60)] * 2

        def ask(_):
            return server.post("/v1/recommend", {"nodes": nodes, "k": 50})

        with ThreadPoolExecutor(24) as threads:
            answers = list(threads.map(ask, range(240)))
        statuses = {answer.status for answer in answers}
        assert statuses == {200, 503}
        refused = next(answer for answer in answers if answer.status == 503)
        assert refused.headers["retry-after"] == "1"
        assert "works on 2 requests already" in refused.error
        assert server.get("/v1/recommend", node="node20").status == 200
        assert server.metric("arcvec_requests_in_progress") == 1  # the one that asks
