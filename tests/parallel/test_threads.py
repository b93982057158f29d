import numba
import pytest
import torch

from arcvec.parallel.threads import spare_threads, start_numba


@pytest.fixture
def torch_threads():
    """Give a function that sets the threads of torch; they are put back."""
    before = torch.get_num_threads(), numba.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.mark.parametrize("threads", [1, 2])
def test_torch_keeps_its_threads_when_numba_starts_its_own(torch_threads, threads):
    torch_threads(threads)
    assert start_numba(1) in {"omp", "tbb", "workqueue"}
    assert torch.get_num_threads() == threads
    assert numba.get_num_threads() == 1


def test_threads_are_spare_where_neither_torch_nor_other_workers_have_the_core(
    torch_threads, monkeypatch
):
    monkeypatch.setattr("arcvec.parallel.threads.num_cores", lambda: 8)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    torch_threads(2)
    assert spare_threads() == 6
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert spare_threads() == 0
    monkeypatch.setattr("arcvec.parallel.threads.start_numba", lambda: "workqueue")
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    assert spare_threads() == 0
