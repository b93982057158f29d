"""What the API answers is what the library says."""

import json

import numpy as np
import pytest

from arcvec.recommendation.exact import recommend
from tests.serve.conftest import NAMES, NUM_NODES, ODD, make_graph, make_result
from tests.serve.processes import running

WRONG = {
    "k of 0": ("/v1/recommend?node=node20&k=0", 422, "k: expected greater than or equal to 1"),
    "huge k": ("/v1/recommend?node=node20&k=99999999999999999999", 422, "k: expected"),
    "k of words": ("/v1/recommend?node=node20&k=ten", 422, "k: expected a valid integer"),
    "no node": ("/v1/recommend", 422, "expected node in the query, got none"),
    "popularity": ("/v1/recommend?node=node20&popularity=1.1", 422, "popularity: expected less"),
    "direction": ("/v1/recommend?node=node20&direction=up", 422, "'targets' or 'sources'"),
    "misspelt": ("/v1/recommend?node=node20&kk=3", 422, "unknown parameter 'kk'"),
    "twice": ("/v1/recommend?node=node20&node=node21", 422, "expected 'node' once"),
    "long name": (f"/v1/nodes?name={'x' * 1001}", 422, "at most 1000 characters"),
    "no page": ("/v2/score", 404, "/v2/score: no such page"),
    "bytes in query": ("/v1/nodes?prefix=%FF%FE", 400, "expected UTF-8 in the query"),
    "surrogate": ("/v1/nodes?prefix=%ED%A0%80", 400, "expected UTF-8 in the query"),
    "long query": (f"/v1/nodes?prefix={'%41' * 12_000}", 414, "bytes of query"),
}
WRONG_BODIES = {
    "no JSON": ("/v1/score", b"{pairs", 400, "expected JSON in the body"),
    "empty": ("/v1/score", b"", 422, "expected JSON in the body, got none"),
    "no UTF-8": ("/v1/score", b'{"pairs": [["\xff", "b"]]}', 400, "expected a body in UTF-8"),
    "surrogate": ("/v1/score", rb'{"pairs": [["\ud800", "node9"]]}', 422, "pairs.0.0: expected"),
    "deep": ("/v1/score", b"[" * 100_000, 400, "expected JSON"),
    "long number": ("/v1/recommend", b'{"nodes": ["a"], "k": %s}' % (b"9" * 5000), 400, "JSON"),
    "not a number": ("/v1/recommend", b'{"nodes": ["a"], "k": NaN}', 422, "k: expected"),
    "no popularity": ("/v1/recommend", b'{"nodes": ["a"], "popularity": NaN}', 422, "popularity"),
    "text as number": ("/v1/recommend", b'{"nodes": ["a"], "k": "5"}', 422, "k: expected"),
    "three ends": ("/v1/score", b'{"pairs": [["a", "b", "c"]]}', 422, "pairs.0: expected"),
    "no pairs": ("/v1/score", b'{"pairs": []}', 422, "at least 1 item"),
    "many nodes": ("/v1/recommend", {"nodes": ["node20"] * 101}, 422, "at most 100 items"),
    "many pairs": ("/v1/score", {"pairs": [["node20", "node21"]] * 10_001}, 422, "10000 items"),
    "too large": ("/v1/score", b" " * (1 << 20) + b"{}", 413, "at most 1,048,576 bytes"),
    "list": ("/v1/score", b"[]", 422, "expected"),
    "unknown key": ("/v1/recommend", {"nodes": ["node20"], "n": 3}, 422, "unknown parameter 'n'"),
    "unknown node": ("/v1/recommend", {"nodes": ["node20", "nod21"]}, 404, "'nod21'"),
}


@pytest.mark.parametrize("kind", ["directed", "undirected", "one vector"])
def test_answers_are_those_of_the_library(tmp_path, kind):
    embeddings = make_result(kind)
    embeddings.save(tmp_path / "result")
    names = [NAMES[i] for i in range(NUM_NODES)]
    pairs = [[a, b] for a in names[:20] for b in names[10:30]]
    with running(tmp_path, "serve", tmp_path / "result") as server:
        for direction in ("targets", "sources"):
            expected, scores = recommend(embeddings, names, 12, direction=direction)
            found = server.post(
                "/v1/recommend", {"nodes": names, "k": 12, "direction": direction}
            ).json["answers"]
            assert [one["node"] for one in found] == names
            for one, best, values in zip(found, expected, scores, strict=True):
                assert [r["node"] for r in one["recommendations"]] == list(best)
                assert [r["score"] for r in one["recommendations"]] == values.tolist()
        ids = np.array([embeddings.nodes.ids(pair) for pair in pairs]).T
        found = server.post("/v1/score", {"pairs": pairs}).json["scores"]
        assert found == embeddings.score(*ids).tolist()
        one = server.get("/v1/score", source=pairs[7][0], target=pairs[7][1]).json
        assert one == {"source": pairs[7][0], "target": pairs[7][1], "score": found[7]}


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("popularity", [1, 0.5, 0])
def test_popularity(server, direction, popularity):
    asked = {"k": 7, "direction": direction, "popularity": popularity}
    best, scores = recommend(make_result("directed"), ["node20"], exclude=make_graph(), **asked)
    answer = server.get("/v1/recommend", node="node20", **asked).json
    assert [one["node"] for one in answer["recommendations"]] == best[0].tolist()
    found = [one["score"] for one in answer["recommendations"]]
    assert found == pytest.approx(scores[0].tolist(), rel=1e-5)
    assert server.post("/v1/recommend", {"nodes": ["node20"], **asked}).json["answers"] == [answer]


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("node", [*ODD, "node20"])
def test_known_edges_are_not_recommended(server, node, direction):
    best, scores = recommend(
        make_result("directed"), [node], 7, exclude=make_graph(), direction=direction
    )
    answer = server.get("/v1/recommend", node=node, k=7, direction=direction)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {
        "node": node,
        "direction": direction,
        "recommendations": [
            {"node": name, "score": value}
            for name, value in zip(best[0], scores[0].tolist(), strict=True)
        ],
    }


def test_fewer_candidates_than_k(server):
    found = server.get("/v1/recommend", node="node20", k=1000).json["recommendations"]
    known = make_graph()
    row = known.indices[known.indptr[20] : known.indptr[21]]
    assert len(found) == NUM_NODES - len(set(row.tolist()) | {20})
    assert [one["score"] for one in found] == sorted((o["score"] for o in found), reverse=True)


@pytest.mark.parametrize("name", [*ODD, "node30"])
def test_a_node_by_its_name(server, name):
    graph, (node,) = make_graph(), NAMES.ids([name])
    degrees = int(graph.out_degrees[node]), int(graph.in_degrees[node])
    facts = {"name": name, "out_degree": degrees[0], "in_degree": degrees[1]}
    assert server.get("/v1/nodes", name=name).json == {"nodes": [facts], "more": False}


def test_nodes_that_start_alike(server):
    graph = make_graph()
    degrees = graph.out_degrees + graph.in_degrees
    answer = server.get("/v1/nodes", prefix="NODE1", limit=4).json
    alike = [i for i in range(NUM_NODES) if NAMES[i].startswith("node1")]
    expected = sorted(alike, key=lambda i: (-degrees[i], NAMES[i]))[:4]
    assert [node["name"] for node in answer["nodes"]] == [NAMES[i] for i in expected]
    assert answer["more"]
    everyone = server.get("/v1/nodes", limit=100).json
    assert len(everyone["nodes"]) == NUM_NODES
    assert not everyone["more"]
    both = server.get("/v1/nodes", prefix="node2", name="node20").json["nodes"]
    assert [node["name"] for node in both] == ["node20"]
    assert server.get("/v1/nodes", prefix="x", name="node20").json["nodes"] == []
    assert server.get("/v1/nodes", prefix="nobody").json == {"nodes": [], "more": False}


def test_no_graph_no_degrees(tmp_path):
    make_result("directed").save(tmp_path / "result")
    with running(tmp_path, "serve", tmp_path / "result") as server:
        (facts,) = server.get("/v1/nodes", name="Alice").json["nodes"]
        assert facts == {"name": "Alice", "out_degree": None, "in_degree": None}


@pytest.mark.parametrize(("path", "status", "words"), WRONG.values(), ids=WRONG)
def test_wrong_urls(server, path, status, words):
    answer = server.ask("GET", path)
    assert answer.status == status
    assert words in answer.error


@pytest.mark.parametrize(
    ("path", "body", "status", "words"), WRONG_BODIES.values(), ids=WRONG_BODIES
)
def test_wrong_bodies(server, path, body, status, words):
    answer = server.post(path, body)
    assert answer.status == status
    assert words in answer.error
    assert len(answer.error) < 500


def test_other_methods_and_types(server):
    answer = server.ask("DELETE", "/v1/score")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
    assert "expected GET, POST, got DELETE" in answer.error
    form = {"content-type": "text/plain"}
    assert server.ask("POST", "/v1/score", b'{"pairs": [["a", "b"]]}', form).status == 422


def test_unknown_nodes_offer_close_names(server):
    answer = server.get("/v1/recommend", node="nod20")
    assert answer.status == 404
    assert "unknown node 'nod20': not among the 60 nodes; did you mean 'node20'" in answer.error
    for path, asked in (
        ("score", {"source": "Alice", "target": "Alcie"}),
        ("nodes", {"name": "x"}),
    ):
        assert server.get(f"/v1/{path}", **asked).status == 404


def test_health_counts_and_description(server):
    assert server.get("/healthz").json == {"status": "ok"}
    server.get("/v1/nodes", prefix="a")
    before = server.metric('arcvec_requests_total{route="/v1/nodes",status="200"}')
    server.get("/v1/nodes", prefix="a")
    assert server.metric('arcvec_requests_total{route="/v1/nodes",status="200"}') == before + 1
    assert server.metric("arcvec_nodes") == NUM_NODES
    page = json.loads(server.get("/openapi.json").body)
    assert set(page["paths"]) == {"/v1/score", "/v1/recommend", "/v1/nodes", "/healthz", "/metrics"}
    k = {p["name"]: p for p in page["paths"]["/v1/recommend"]["get"]["parameters"]}["k"]
    expected = {"default": 10, "maximum": 1000, "minimum": 1, "type": "integer"}
    assert k["schema"].items() >= expected.items()


def test_the_same_again_comes_from_the_cache(server):
    asked = {"node": "node40", "k": 9}
    first, hits = server.get("/v1/recommend", **asked), server.metric("arcvec_cache_hits_total")
    assert server.get("/v1/recommend", **asked).body == first.body
    assert server.metric("arcvec_cache_hits_total") == hits + 1
