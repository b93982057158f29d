"""Node names: any strings in, the same strings out."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arcvec.graph.names import NodeNames, escape

ANY_TEXT = st.text(st.characters(codec="utf-8"))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(ANY_TEXT, max_size=8))
def test_any_names_survive_memory_and_disk(tmp_path, names):
    made = NodeNames.from_strings(names)
    made.save(tmp_path / "nodes.txt")
    for found in (made, NodeNames.load(tmp_path / "nodes.txt")):
        assert list(found) == names
        assert [found[i] for i in range(len(found))] == names
        assert len(found) == len(names)


@given(ANY_TEXT)
def test_an_escaped_name_is_one_line(name):
    assert not {"\n", "\r"} & set(escape(name))


def test_backslashes_are_not_mistaken_for_escapes():
    names = ["\\n", "\n", "\\\n", "\\\\n", "a\\"]
    assert list(NodeNames.from_strings(names)) == names


def test_contains():
    names = NodeNames.from_strings(["a", "two\nlines"])
    assert "two\nlines" in names
    assert "b" not in names


def test_indexing():
    names = NodeNames.from_strings(["a", "b", "c"])
    assert (names[0], names[-1], names[1:]) == ("a", "c", ["b", "c"])
    with pytest.raises(IndexError):
        names[3]
    assert names.at(np.array([[2, -1], [0, 0]])).tolist() == [["c", ""], ["a", "a"]]


def test_ids():
    names = NodeNames.from_strings(["alice", "bob", 7])
    assert names.ids(["bob", "alice", 7, "7"]).tolist() == [1, 0, 2, 2]
    assert names.ids([]).shape == (0,)
    with pytest.raises(KeyError, match=r"unknown node 'alise'.* did you mean 'alice'"):
        names.ids(["alise"])


@pytest.mark.parametrize("wrong", ["stefanie_grafx", "xstefanie_graf", "stefnie_graf", "ab"])
def test_close_names_are_found_among_very_many(wrong):
    names = NodeNames.from_strings([*range(200_000), "stefanie_graf", "abc"])
    close = "abc" if wrong == "ab" else "stefanie_graf"
    with pytest.raises(KeyError, match=f"did you mean '{close}'"):
        names.ids([wrong])


def test_numbered_and_empty(tmp_path):
    assert list(NodeNames.numbered(3)) == ["0", "1", "2"]
    empty = NodeNames.numbered(0)
    empty.save(tmp_path / "nodes.txt")
    assert list(NodeNames.load(tmp_path / "nodes.txt")) == list(empty) == []


def test_a_file_cut_short_is_noticed():
    with pytest.raises(ValueError, match="cut short"):
        NodeNames(np.frombuffer(b"a\nb", dtype=np.uint8))


def test_repr_shows_a_few():
    assert repr(NodeNames.numbered(5)) == "NodeNames(5: '0', '1', '2', ...)"


def test_unknown_names_are_found_nowhere():
    assert NodeNames.from_strings(["a", "b"]).find(["b", "c", "a"]).tolist() == [1, -1, 0]
