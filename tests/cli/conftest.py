"""A small edge file, and a way to run commands."""

from pathlib import Path

import numpy as np
import pytest

from arcvec.cli import main


@pytest.fixture
def edges(tmp_path) -> Path:
    """A csv of who follows whom among 60 people, in communities of twenty."""
    generator = np.random.default_rng(0)
    sources = generator.integers(60, size=400)
    targets = sources // 20 * 20 + generator.integers(20, size=400)
    lines = [f"p{s},p{t}" for s, t in zip(sources, targets, strict=True) if s != t]
    path = tmp_path / "follows.csv"
    path.write_text("\n".join(["source,target", *lines]) + "\n")
    return path


@pytest.fixture
def run(capsys):
    """Give a function that runs a command in this process and returns what it printed.

    Of a command that fails it returns the error, without the notes that came before.
    """

    def call(*arguments, fails=False):
        capsys.readouterr()
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        assert bool(code) == fails, captured.err
        lines = captured.err.splitlines(keepends=True)
        error = "".join(line for line in lines if not line.startswith("note: "))
        return error if fails else captured.out

    return call
