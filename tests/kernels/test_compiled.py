"""What numba does not tell about compiled functions that call each other."""

import ast
from pathlib import Path

import arcvec.kernels

FOLDER = Path(arcvec.kernels.__path__[0])


def functions():
    """Yield the name, the decorators and the names called of every function of the kernels."""
    for path in FOLDER.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                calls = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
                yield node.name, decorators, {c.id for c in calls if isinstance(c, ast.Name)}


def test_parallel_kernels_are_called_from_python_or_parallel_ones():
    """Others, loaded from the cache, would not start numba's threads, and crash."""
    parallel = {name for name, decorators, _ in functions() if "parallel=True" in decorators}
    assert "alternating_walks" in parallel
    crashing = [
        name
        for name, decorators, calls in functions()
        if "njit" in decorators and name not in parallel and calls & parallel
    ]
    assert crashing == []
