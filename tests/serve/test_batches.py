"""Batches give what one search gives, and the completion what a look at every name gives."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcvec.graph.names import NodeNames
from arcvec.recommendation.exact import top_k
from arcvec.serve.gate import Metrics, Refusal
from arcvec.serve.result import Completion, Served
from arcvec.serve.schemas import ServeSettings
from arcvec.serve.service import Batches
from tests.serve.conftest import NAMES, NUM_NODES, make_graph, make_result


def make_batches(**settings):
    served = Served.of(make_result("directed"), make_graph())
    return Batches(served, ThreadPoolExecutor(1), ServeSettings(**settings), Metrics())


@pytest.mark.parametrize("batch", [1, 5, 64])
def test_questions_of_all_kinds_at_once(batch):
    batches = make_batches(batch=batch, cache=10, max_requests=1000)
    generator = np.random.default_rng(0)
    questions = [
        ([int(node)], int(k), direction, popularity)
        for node, k in zip(
            generator.integers(NUM_NODES, size=150), generator.integers(1, 30, 150), strict=True
        )
        for direction in ("targets", "sources")
        for popularity in (1, 0.5)
    ]

    async def ask_all():
        return await asyncio.gather(*(batches.recommend(*asked) for asked in questions))

    for (nodes, k, *how), (answer,) in zip(questions, asyncio.run(ask_all()), strict=True):
        asked = dict(zip(("direction", "popularity"), how, strict=True))
        ids, _ = top_k(batches.served.embeddings, np.array(nodes), k, exclude=make_graph(), **asked)
        found = [one["node"] for one in json.loads(answer)["recommendations"]]
        assert found == [NAMES[i] for i in ids[0] if i >= 0]


def test_more_than_may_wait_is_refused():
    batches = make_batches(max_requests=3, batch=1)

    async def ask_all():
        asked = (batches.recommend([node], 5, "targets") for node in range(8))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(ask_all())
    assert [isinstance(answer, Refusal) for answer in answers] == [False] * 3 + [True] * 5


def test_an_error_reaches_everyone_who_waits():
    batches = make_batches()

    async def ask():
        asked = (batches.recommend([node], 5, "targets") for node in (3, NUM_NODES + 5))
        return await asyncio.gather(*asked, return_exceptions=True)

    assert all(isinstance(answer, IndexError) for answer in asyncio.run(ask()))
    assert asyncio.run(batches.recommend([3], 5, "targets"))


@given(st.lists(st.text("aAbß\U0010ffff", max_size=4), unique=True), st.text("aAbsß", max_size=3))
def test_completion_against_a_look_at_every_name(names, prefix):
    weights = np.array([len(name) * 7 % 3 for name in names], dtype=np.int64)
    found = Completion(NodeNames.from_strings(names), weights).find(prefix, 5)
    folded = prefix.casefold()
    alike = [i for i, name in enumerate(names) if name.casefold().startswith(folded)]
    expected = sorted(
        alike,
        key=lambda i: (names[i].casefold() != folded, -weights[i], names[i].casefold()),
    )
    keys = [(names[i].casefold(), weights[i]) for i in expected[:5]]
    assert [(names[i].casefold(), weights[i]) for i in found] == keys
