import numpy as np
import pytest

from arcvec.graph.names import NodeNames
from arcvec.recommendation.exact import known_ids, read_names


def test_names_are_read_as_nodes_txt_has_them(tmp_path):
    names = ["plain", "two\nlines", "back\\slash", "sp ace", "\u2028odd", "7"]
    NodeNames.from_strings(names).save(tmp_path / "nodes.txt")
    assert read_names(tmp_path / "nodes.txt") == names


def test_files_of_other_systems(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffa\r\n\r\nb".encode())
    assert read_names(path) == ["a", "b"]


@pytest.mark.parametrize(("content", "message"), [(b"\n", "got none"), (b"\xff\n", "UTF-8")])
def test_files_without_names(tmp_path, content, message):
    path = tmp_path / "names.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_names(path)


def test_no_list_is_not_an_empty_list():
    nodes = NodeNames.from_strings("ab")
    assert known_ids(nodes, None, "only") is None
    ids = known_ids(nodes, [], "only")
    assert isinstance(ids, np.ndarray)
    assert ids.size == 0
