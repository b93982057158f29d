"""Commands as processes of their own, to be killed, stopped, or starved of disk."""

import time

import numpy as np

from tests.cli.commands import arcvec


def finished(*arguments, **options):
    """Run a command to its end; return the exit code and the last line of stderr."""
    code, error = run(*arguments, **options)
    return code, (error.strip().splitlines() or [""])[-1]


def run(*arguments, **options):
    """Run a command to its end; return the exit code and all of stderr."""
    with arcvec(*arguments, **options) as process:
        _, error = process.communicate(timeout=600)
    return process.returncode, error


def killed_after(seconds, *arguments):
    """Run a command and kill it then; tell whether it was alive."""
    with arcvec(*arguments) as process:
        time.sleep(seconds)
        process.kill()
        _, error = process.communicate()
    assert process.returncode in (-9, 0), error
    return process.returncode == -9


def write_communities(path, num_people=60, num_edges=400, seed=0):
    """Write a csv of who follows whom, in communities of twenty."""
    generator = np.random.default_rng(seed)
    sources = generator.integers(num_people, size=num_edges)
    targets = sources // 20 * 20 + generator.integers(20, size=num_edges)
    pairs = {(s, t) for s, t in zip(sources.tolist(), targets.tolist(), strict=True) if s != t}
    path.write_text("source,target\n" + "".join(f"p{s},p{t}\n" for s, t in sorted(pairs)))
    return path
