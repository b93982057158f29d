"""A server's life: it starts or says why not, reloads under load, ends when all is answered."""

import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.serve.result import load_served
from tests.cli.commands import arcvec
from tests.serve.conftest import make_result
from tests.serve.processes import running


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


class Load:
    """Threads that ask all the time."""

    def __init__(self, server, num_threads=4):
        self.server, self.answers, self.ended = server, [], threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(num_threads)]

    def run(self):
        while not self.ended.is_set():
            self.answers.append(self.server.get("/v1/score", source="node20", target="node21"))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def test_reloads_under_load_drop_nothing(tmp_path):
    results = [make_result("directed", seed) for seed in range(4)]
    ends = results[0].nodes.ids(["node20"]), results[0].nodes.ids(["node21"])
    scores = [float(result.score(*ends)[0]) for result in results]
    assert len(set(scores)) > 2
    results[0].save(tmp_path / "result")
    with running(tmp_path, "serve", tmp_path / "result") as server:
        with Load(server) as load:
            for number, result in enumerate(results[1:], start=1):
                result.save(tmp_path / "result", overwrite=True)
                server.hang_up()
                wait_for(lambda n=number: server.metric("arcvec_reloads_total") == n)
                now = server.get("/v1/score", source="node20", target="node21").json["score"]
                assert now == scores[number]
        assert {answer.status for answer in load.answers} == {200}
        assert {answer.json["score"] for answer in load.answers} <= set(scores)
        assert "loaded again" in server.logged()


def test_nodes_may_come_and_go(tmp_path):
    result = make_result("directed")
    result.save(tmp_path / "result")
    with running(tmp_path, "serve", tmp_path / "result") as server:
        assert server.get("/v1/nodes", name="newcomer").status == 404
        more = NodeNames.from_strings(["newcomer", *result.nodes[:9]])
        EdgeEmbeddings(result.source[:10], result.target[:10], more).save(
            tmp_path / "result", overwrite=True
        )
        server.hang_up()
        wait_for(lambda: server.metric("arcvec_reloads_total") == 1)
        assert server.get("/v1/nodes", name="newcomer").status == 200
        assert server.get("/v1/nodes", name="node20").status == 404
        assert server.metric("arcvec_nodes") == 10


def test_a_result_that_cannot_be_read_changes_nothing(tmp_path):
    result = make_result("directed")
    result.save(tmp_path / "result")
    with running(tmp_path, "serve", tmp_path / "result") as server:
        before = server.get("/v1/recommend", node="node20", k=20).json
        (tmp_path / "result" / "source.npy").write_bytes(b"damaged")
        server.hang_up()
        wait_for(lambda: server.metric("arcvec_failed_reloads_total") == 1)
        shutil.rmtree(tmp_path / "result")
        server.hang_up()
        wait_for(lambda: server.metric("arcvec_failed_reloads_total") == 2)
        assert server.get("/v1/recommend", node="node20", k=20).json == before
        log = server.logged()
        assert "was not loaded again, the one before is served on" in log
        assert "source.npy: not what was written" in log
        assert "expected a result folder" in log
        make_result("directed", seed=3).save(tmp_path / "result")
        server.hang_up()
        wait_for(lambda: server.metric("arcvec_reloads_total") == 1)
        assert server.get("/v1/recommend", node="node20", k=20).json != before


def test_two_results_never_mix(tmp_path, monkeypatch):
    make_result("directed").save(tmp_path / "result")
    load = EdgeEmbeddings.load

    def load_slowly(path, **how):
        found = load(path, **how)
        make_result("directed", seed=1).save(path, overwrite=True)
        return found

    load_served(tmp_path / "result")
    monkeypatch.setattr(EdgeEmbeddings, "load", load_slowly)
    with pytest.raises(ValueError, match="replaced while it was read"):
        load_served(tmp_path / "result")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_all_is_answered(tmp_path, number):
    make_result("directed").save(tmp_path / "result")
    with running(tmp_path, "serve", tmp_path / "result") as server:
        body = {"nodes": [f"node{i}" for i in range(20, 60)] * 2, "k": 1000}
        answers = []
        thread = threading.Thread(
            target=lambda: answers.extend(server.post("/v1/recommend", body) for _ in range(1))
        )
        thread.start()
        wait_for(lambda: answers or server.metric("arcvec_requests_in_progress") >= 1)
        server.process.send_signal(number)
        thread.join()
        assert [answer.status for answer in answers] == [200]
        assert server.process.wait(30) == 0
        assert "Traceback" not in server.logged()


def failure(*arguments):
    process = arcvec("serve", *arguments)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert error.startswith("arcvec: ")
    assert error.count("\n") == 1
    return error


def test_what_cannot_be_served_is_told_in_one_line(place, server, tmp_path):
    result, port = place / "result", server.address[1]
    error = failure(result, "--port", port)
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in error
    assert "expected a result folder" in failure(tmp_path / "nothing", "--port", 0)
    assert "none of which is among" in failure_with_strange_graph(result, tmp_path)
    (tmp_path / "token").write_text("two words")
    assert "expected a token" in failure(result, "--token-file", tmp_path / "token")
    broken = make_result("directed")
    broken.source[3, 1] = float("nan")
    broken.save(tmp_path / "broken")
    assert "expected finite numbers in all vectors" in failure(tmp_path / "broken", "--port", 0)


def failure_with_strange_graph(result, tmp_path):
    (tmp_path / "edges.txt").write_text("nobody nowhere\nnowhere nothing\n")
    return failure(result, "--graph", tmp_path / "edges.txt", "--port", 0)


def test_serving_needs_no_torch_and_no_figures(place):
    code = (
        "import sys, arcvec.serve.app;"
        "sys.exit(str({'torch', 'matplotlib', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
