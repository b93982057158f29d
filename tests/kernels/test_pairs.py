import numpy as np
import pytest

from arcvec.kernels.walks import window_pairs


def slow_pairs(walks, left, right, alternating, self_pairs):
    pairs = []
    for walk in walks.tolist():
        nodes = [node for node in walk if node >= 0]
        for i, source in enumerate(nodes):
            for j, target in enumerate(nodes):
                in_window = i != j and i - left <= j <= i + right
                right_parity = not alternating or (i % 2 == 0 and j % 2 == 1)
                if in_window and right_parity and (self_pairs or source != target):
                    pairs.append((source, target))
    return pairs


def pairs_of(walks, *args):
    return list(zip(*(side.tolist() for side in window_pairs(walks, *args)), strict=True))


def test_the_papers_example():
    walks = np.array([[1, 2, 3, 4, 5]], dtype=np.int32)
    undirected = [target for source, target in pairs_of(walks, 2, 2, False, False) if source == 3]
    directed = [target for source, target in pairs_of(walks, 0, 2, False, False) if source == 3]
    assert undirected == [1, 2, 4, 5]
    assert directed == [4, 5]


@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("self_pairs", [False, True])
@pytest.mark.parametrize(("left", "right"), [(0, 2), (2, 2), (3, 1), (10, 10)])
def test_against_plain_python(left, right, alternating, self_pairs):
    walks = np.random.default_rng(1).integers(4, size=(30, 7)).astype(np.int32)
    for row, length in enumerate(np.random.default_rng(2).integers(1, 8, size=30)):
        walks[row, length:] = -1
    args = (left, right, alternating, self_pairs)
    assert pairs_of(walks, *args) == slow_pairs(walks, *args)


def test_walks_of_one_node_give_no_pairs():
    walks = np.array([[3, -1, -1]], dtype=np.int32)
    assert pairs_of(walks, 2, 2, False, True) == []
