"""The HTTP service among bad clients: it refuses or hangs up, keeps its memory, and answers on."""

import asyncio
import itertools
import json
import random
import resource
import string
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from types import SimpleNamespace

import numpy as np
import pytest
import uvicorn

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.serve.app import behind_gate, make_app
from arcvec.serve.explore import add_page
from arcvec.serve.gate import MAX_BODY_BYTES
from arcvec.serve.result import load_served
from arcvec.serve.schemas import ServeSettings
from arcvec.serve.service import Service, listen, url_of
from arcvec.view.explore.scene import Scene
from tests.faults.clients import (
    JSON,
    UNFINISHED,
    answers,
    asking,
    connect,
    hang_up,
    memory,
    open_files,
    status_of,
    trickle,
    wait_for,
)
from tests.serve.processes import Server, running
from tests.serve.test_gate import exchange

NUM_NODES = 3000
INJECTING = "a\r\nX-Injected: yes\r\n\r\nb"
NAMES = [f"person number {i} {'of a long name ' * 12}" for i in range(NUM_NODES - 1)]
SECRET = "not for anyone who asks"
MIB = 1 << 20
MAX_REQUESTS = 120
MAX_CONNECTIONS = 20
MARGIN = 100
"""MiB that a process may grow by for other reasons: its allocator keeps what was freed."""

LARGE = json.dumps({"nodes": NAMES[:25], "k": 1000}).encode()  # its answer has 5 MB
TOKEN = "s3cret"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a result, beside a file that nobody may read."""
    folder = tmp_path_factory.mktemp("service")
    sides = np.random.default_rng(0).normal(size=(2, NUM_NODES, 4)).astype(np.float32)
    nodes = NodeNames.from_strings([*NAMES, INJECTING])
    EdgeEmbeddings(*sides, nodes).save(folder / "result")
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def server(place):
    """A server that the tests of this file wear out; none may make it log a traceback."""
    with running(place, "serve", place / "result", "--max-requests", MAX_REQUESTS) as started:
        assert len(started.post("/v1/recommend", LARGE).body) > 4 * MIB
        started.fresh = memory(started)
        yield started
        assert started.process.poll() is None
        assert "Traceback" not in started.logged()


@pytest.fixture(scope="module")
def explorer(place):
    """API and explorer page behind a token, for few at once; `routes` are all of the app's."""
    service = Service(lambda: load_served(place / "result"), ServeSettings())
    app = make_app(service)
    add_page(app, service, lambda served: Scene.of(served.embeddings), "result")
    gate = behind_gate(app, service, TOKEN)
    config = uvicorn.Config(
        gate, http="h11", lifespan="off", limit_concurrency=MAX_CONNECTIONS, log_config=None
    )
    web = uvicorn.Server(config)
    routes = [(method, route.path) for route in app.routes for method in sorted(route.methods)]
    with listen("127.0.0.1", 0) as listener:

        async def serve():
            await service.load()
            await web.serve([listener])

        runner = asyncio.Runner(loop_factory=config.get_loop_factory())
        thread = threading.Thread(target=runner.run, args=(serve(),))
        thread.start()
        yield SimpleNamespace(server=Server(None, url_of(listener), None), routes=routes)
        web.should_exit = True
        thread.join()
        runner.close()


def not_http():
    """Yield requests that HTTP does not allow, many of them to have others see a second header."""
    for place in (b"\r", b"\n", b"\0", b"\r\n "):
        yield b"GET /healthz HTTP/1.1\r\nA%sX-Injected: yes\r\n\r\n" % place
        yield b"GET /healthz HTTP/1.1\r\nA: b%sX-Injected: yes\r\n\r\n" % place
        yield b"GET /healthz?a=%sX-Injected: yes HTTP/1.1\r\n\r\n" % place
        yield b"GET%s/healthz HTTP/1.1\r\n\r\n" % place
    yield b"GET http://x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    yield b"CONNECT localhost:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield b"GET /\xff\xfe HTTP/1.1\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # TLS
    yield asking("/v1/score", "POST", b"{}", b"Transfer-Encoding: chunked\r\n")
    yield asking("/v1/score", "POST", b"{}", b"Content-Length: 3\r\n")
    yield asking("/v1/score", "POST", None, b"Content-Length: -1\r\n")
    yield asking("/v1/score", "POST", None, b"Content-Length: 99999999999999999999\r\n")
    yield asking("/v1/score", "POST", None, b"Transfer-Encoding: gzip\r\n") + b"0\r\n\r\n"
    yield asking("/v1/score", "POST", None, b"Transfer-Encoding: chunked\r\n") + b"-1\r\n\r\n"


class Soak:
    """Clients of mixed kinds that go on until they are told to end.

    Attributes:
        statuses: what was answered, by kind of client.
    """

    def __init__(self, server):
        self.server, self.statuses, self.ended = server, Counter(), threading.Event()

    def run(self, kind):
        chance = random.Random(kind.__name__)
        while not self.ended.wait(0.005):
            self.statuses[kind.__name__, kind(self.server, chance)] += 1


def asks(server, chance):
    return server.get("/v1/recommend", node=chance.choice(NAMES), k=chance.randrange(1, 50)).status


def asks_much(server, chance):
    return server.post("/v1/recommend", {"nodes": chance.choices(NAMES, k=100), "k": 150}).status


def stays(server, chance):
    connection = HTTPConnection(*server.address, timeout=120)
    for _ in range(20):
        connection.request("GET", f"/v1/nodes?prefix=person%20number%20{chance.randrange(999)}")
        response = connection.getresponse()
        response.read()
    connection.close()
    return response.status


def misspells(server, chance):
    return server.get("/v1/recommend", node=f"nobody {chance.random()}").status


def confuses(server, chance):
    status = status_of(exchange(server, chance.choice(list(not_http()))))
    return 400 if status is None else status // 100 * 100


def hangs_up(server, chance):
    with connect(server) as connection:
        connection.sendall(chance.choice(list(UNFINISHED.values())))
        hang_up(connection, reset=chance.random() < 0.5)


def sends_too_much(server, chance):
    return server.post("/v1/score", b" " * (MAX_BODY_BYTES + 1)).status


def test_soak(server, times, record):
    expected = {
        asks: 200,
        asks_much: 200,
        stays: 200,
        misspells: 404,
        confuses: 400,
        hangs_up: None,
        sends_too_much: 413,
    }
    seconds, files, soak = times(3, 600), open_files(server), Soak(server)
    with ThreadPoolExecutor(len(expected)) as threads:
        clients = [threads.submit(soak.run, kind) for kind in expected]
        try:
            time.sleep(times(1, 60))
            wait_for(lambda: len(soak.statuses) >= len(expected))
            warm = memory(server)
            time.sleep(seconds)
            final = memory(server)
        finally:
            soak.ended.set()
    for client in clients:
        client.result()
    assert set(soak.statuses) == {(kind.__name__, status) for kind, status in expected.items()}
    assert final < 1.25 * warm
    wait_for(lambda: open_files(server) <= files)
    wait_for(lambda: server.metric("arcvec_requests_in_progress") == 1)
    record(
        "Service",
        fault=f"{seconds} seconds of load by {len(expected)} kinds of clients",
        times=soak.statuses.total(),
        outcome=f"no error; memory {warm:.0f} MiB when warm, {final:.0f} at the end; "
        "no file left open",
    )


def test_overload_is_shed(server, times, record):
    rounds, statuses, highest = times(1, 100), Counter(), 0.0

    def ask(number):
        body = {"nodes": NAMES[number : number + 20], "k": 150}
        return server.post("/v1/recommend", body).status

    with ThreadPoolExecutor(4 * MAX_REQUESTS) as threads:
        for _ in range(rounds):
            statuses.update(threads.map(ask, range(4 * MAX_REQUESTS)))
            highest = max(highest, memory(server))
    assert set(statuses) == {200, 503}
    assert highest < server.fresh + MARGIN
    wait_for(lambda: server.metric("arcvec_requests_in_progress") == 1)
    assert ask(0) == 200
    record(
        "Service",
        fault=f"{4 * MAX_REQUESTS} requests at once where {MAX_REQUESTS} are worked on",
        times=statuses.total(),
        outcome=f"{statuses[200]} answered, {statuses[503]} refused with 503, then it recovered; "
        f"memory {server.fresh:.0f} MiB at its start, {highest:.0f} at most",
    )


def test_what_never_ends(server, times, record):
    """Endless trailers after a body, endless extensions of a chunk, thousands of requests ahead."""
    rounds = times(1, 20)
    chunked = b"POST /v1/score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    trailers = b"".join(b"A%d: b\r\n" % i for i in range(10_000))
    kinds = (
        (chunked + b"0\r\n", trailers),
        (chunked + b"0\r\nA: ", b"a" * 100_000),
        (chunked + b"5;a=", b"a" * 100_000),
        (b"", b"GET / HTTP/1.1\r\n\r\n" * 10_000),
        (b"", b"\r\n" * 50_000),
    )
    for _, (begin, more) in itertools.product(range(rounds), kinds):
        received = exchange(server, begin, *[more] * 500)
        statuses = {int(line.split()[1]) for line in received.split(b"\r\n") if b"HTTP/1" in line}
        assert statuses <= {400, 404}, begin
        assert received.count(b"HTTP/1.1 ") < 10_000
    assert memory(server) < server.fresh + MARGIN
    assert answers(server)
    record(
        "Service",
        fault="endless trailers, chunk extensions, empty lines, requests ahead of answers",
        times=rounds * len(kinds),
        outcome="hung up early; memory as before",
    )


def test_slow_and_silent_clients(server, explorer, times, record):
    """Others are answered meanwhile; a body has a time limit, heads are left to a proxy."""
    crowd, num_each, statuses = 3 * MAX_CONNECTIONS, times(3, 30), Counter()
    body = asking("/v1/score", "POST", b" " * 900, JSON)[:-800]
    refused = asking(f"/v1/nodes?prefix={'a' * 40_000}", "POST", b" " * 900)[:-800]
    kinds = {
        "a body a byte at a time": (body, b" ", {408, None}),
        "a body without end": (body, b"", {408}),
        "the body of a request already refused": (refused, b" ", {414}),
    }
    with ExitStack() as stack:
        silent = [stack.enter_context(connect(explorer.server)) for _ in range(crowd)]
        wait_for(lambda: not answers(explorer.server))
        for connection in silent:
            hang_up(connection)
        wait_for(lambda: answers(explorer.server))
        for begin in (b"", b"GET /v1/no", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            stack.enter_context(connect(server)).sendall(begin)
        threads = stack.enter_context(ThreadPoolExecutor(num_each * len(kinds)))
        tried = {
            kind: [threads.submit(trickle, server, begin, piece) for _ in range(num_each)]
            for kind, (begin, piece, _) in kinds.items()
        }
        unread = [stack.enter_context(connect(server, 4096)) for _ in range(num_each)]
        for connection in unread:
            connection.sendall(asking("/v1/recommend", "POST", LARGE, JSON))
        while not all(one.done() for some in tried.values() for one in some):
            statuses[server.get("/v1/recommend", node=NAMES[statuses.total() % 1000]).status] += 1
            time.sleep(0.02)
        assert set(statuses) == {200}
        for kind, (_, _, expected) in kinds.items():
            assert {status_of(one.result()) for one in tried[kind]} <= expected, kind
        # Answers that nobody reads take memory, and no place among the requests worked on.
        wait_for(lambda: server.metric("arcvec_requests_in_progress") == 1)
    for kind in kinds:
        record(
            "Service",
            fault=f"slow client: {kind}",
            times=num_each,
            outcome="refused or hung up; others were answered meanwhile",
        )
    record(
        "Service",
        fault="slow client: a large answer never read",
        times=num_each,
        outcome=f"not waited for; {statuses[200]} others answered meanwhile",
    )
    record(
        "Service",
        fault=f"silent connections where {MAX_CONNECTIONS} are allowed",
        times=crowd,
        outcome="more are refused with 503; it recovered when they had gone",
    )


def test_clients_that_hang_up(server, times, record):
    files, number = open_files(server), times(10, 1000)
    for _, begin, reset in itertools.product(range(number), UNFINISHED.values(), (False, True)):
        connection = connect(server)
        connection.sendall(begin)
        hang_up(connection, reset)
    large = [connect(server, 4096) for _ in range(min(number, 20))]
    for connection in large:
        connection.sendall(asking("/v1/recommend", "POST", LARGE, JSON))
    for connection in large:
        connection.recv(1000)
        hang_up(connection, reset=True)
    wait_for(lambda: server.metric("arcvec_requests_in_progress") == 1)
    wait_for(lambda: open_files(server) <= files)
    record(
        "Service",
        fault="connections closed or reset in the middle",
        times=2 * number * len(UNFINISHED) + len(large),
        outcome="no file left open, nothing left in memory",
    )


def test_no_more_files_to_open(server, record):
    files, number = open_files(server), 100
    process, kind = server.process.pid, resource.RLIMIT_NOFILE
    usual, most = resource.prlimit(process, kind)
    resource.prlimit(process, kind, (files + 20, most))
    connections = [connect(server) for _ in range(number)]
    wait_for(lambda: not answers(server))
    for connection in connections:
        connection.close()
    wait_for(lambda: answers(server))
    resource.prlimit(process, kind, (usual, most))
    wait_for(lambda: open_files(server) <= files)
    record(
        "Service",
        fault="more connections than files it may open",
        times=number,
        outcome="hung up on those beyond; it recovered",
    )


def wrong_questions():
    """Yield requests that are HTTP and nonsense."""
    for host in ("[", "a/b?c#d", "a b", "\xff", "x@y:99999999"):
        yield asking("/nowhere").replace(b"localhost", host.encode("latin-1"))
    for name in ("%ff", "%ed%a0%80", "%c0%ae", "%f8%88%80%80%80"):
        yield asking(f"/v1/nodes?name={name}")
        yield asking(f"/{name}")
    for path, wrong in itertools.product(("/v1/score", "/v1/recommend"), wrong_bodies()):
        yield asking(path, "POST", wrong, JSON)
    yield asking("/v1/nodes?prefix=a%0d%0aX-Injected:%20yes&none")
    yield asking("/%0d%0aX-Injected:%20yes")
    yield asking("/v1/score%0d%0aX-Injected:%20yes", "DELETE")
    names = ["".join(three) for three in itertools.product(string.ascii_lowercase, repeat=3)]
    yield asking(f"/v1/recommend?{'&'.join(names[:8000])}&{names[0]}")
    yield asking(f"/v1/recommend?{'&'.join([*names[:8000], names[7999]])}")


def wrong_bodies():
    for depth in (10, 900, 990, 1000, 5000, 500_000):
        yield b'{"pairs": %s}' % (b"[" * depth + b"]" * depth)
        yield b'{"nodes": %s}' % (b'{"a":' * (depth // 5) + b"1" + b"}" * (depth // 5))
        yield b"[" * depth
    for wrong in (b"\xff", b"\xc0\xae", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"):
        yield b'{"pairs": [["%s", "b"]], "nodes": ["%s"]}' % (wrong, wrong)
    yield b"{%s}" % b",".join(b'"%x":1' % i for i in range(95_000))
    yield b'{"pairs": [%s]}' % b",".join([b"[]"] * 340_000)
    yield b'{"pairs": [%s]}' % b",".join([b"[1,2,3]"] * 10_000)
    yield b'{"nodes": [%s]}' % b",".join([b"1"] * 500_000)
    yield b" " * (MAX_BODY_BYTES + 1)


def test_malformed_requests(server, times, record):
    rounds, tried = times(1, 20), 0
    for _ in range(rounds):
        for sent in itertools.chain(not_http(), wrong_questions()):
            worked = server.metric("process_cpu_seconds_total")
            received = exchange(server, sent)
            assert received == b"" or 400 <= status_of(received) < 500, sent[:200]
            assert b"\r\nx-injected" not in received.lower(), sent[:200]
            # Others wait while one is refused: before it was bounded, for seven seconds.
            assert server.metric("process_cpu_seconds_total") - worked < 2, sent[:200]
            tried += 1
    assert server.get("/v1/nodes", name=INJECTING).json["nodes"][0]["name"] == INJECTING
    assert answers(server)
    record(
        "Service",
        fault="malformed requests: no HTTP, no UTF-8, nested JSON, injected headers",
        times=tried,
        outcome="each refused with 4xx or hung up, none injected, none costly",
    )


def outside(path):
    """Yield paths that would lead out of a path, to files there are."""
    for up in ("/..", "/%2e%2e", "/.%2E", "%2f..", "/..%5c..", "/%252e%252e"):
        for file in ("/etc/passwd", "/secret.txt", "%2fetc%2fpasswd"):
            yield path.rstrip("/") + 9 * up + file
            yield 2 * up + file + path
    yield from (f"{path.rstrip('/')}//etc/passwd", f"file:///etc/passwd{path}", f"//etc{path}")


def test_paths_lead_nowhere_else(server, explorer, record):
    tried = 0
    described = server.get("/openapi.json").json["paths"]
    for asked, paths in (
        (server, described),
        (explorer.server, [path for _, path in explorer.routes]),
    ):
        with closing(HTTPConnection(*asked.address, timeout=120)) as connection:
            for wrong in (wrong for path in set(paths) for wrong in outside(path)):
                connection.request("GET", wrong, headers=RIGHT)
                response = connection.getresponse()
                received = response.read()
                assert 400 <= response.status < 500, wrong
                assert SECRET.encode() not in received
                assert b"root:" not in received
                tried += 1
    record(
        "Service",
        fault="paths that lead out of every route, of the API and the explorer page",
        times=tried,
        outcome="each refused with 4xx; no file outside was read",
    )


def test_every_route_needs_the_token(explorer, record):
    wrong = ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": f"Basic {TOKEN}"})
    tried = 0
    assert {"/", "/openapi.json", "/metrics", "/v1/score"} <= {path for _, path in explorer.routes}
    for method, path in explorer.routes:
        open_to_all = path == "/healthz"
        for variant in (path, f"{path}?a=b", f"{path}?/healthz"):
            for headers in wrong:
                status = explorer.server.ask(method, variant, headers=headers).status
                assert (status == 401) is not open_to_all, (method, variant)
                tried += 1
            assert explorer.server.ask(method, variant, headers=RIGHT).status != 401
    for around in ("/healthz/", "//healthz", "/healthz/../metrics", "/healthz%2f..%2fmetrics"):
        assert explorer.server.ask("GET", around).status == 401
    record(
        "Service",
        fault="no token or a wrong one, on every route but /healthz",
        times=tried,
        outcome="each refused with 401",
    )
