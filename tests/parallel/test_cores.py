import os

from arcvec.parallel.threads import num_cores


def test_cores_are_those_that_this_process_may_use():
    assert num_cores() == len(os.sched_getaffinity(0))
