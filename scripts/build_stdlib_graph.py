"""Build the embedded graph: which module of Python's standard library imports which.

    python scripts/build_stdlib_graph.py src/arcvec/data/stdlib_imports.txt.gz

Every `import` of every module is read with `ast`, wherever in the module it stands. Tests are
left out: they import what they test, which says nothing about how modules belong together.
"""

from __future__ import annotations

import ast
import gzip
import platform
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "__pycache__"}


def main(out: Path) -> None:
    """Write the edge list, and say how large it is."""
    sources = dict(find_modules(Path(sysconfig.get_paths()["stdlib"])))
    known = set(sources) | set(sys.stdlib_module_names)
    edges = sorted(
        {
            (module, imported)
            for module, path in sources.items()
            for imported in imported_modules(module, path, known)
            if imported != module
        }
    )
    version = platform.python_version()
    lines = [f"# Imports in Python {version}'s standard library: importing module, imported module"]
    lines += [f"{module} {imported}" for module, imported in edges]
    # No time stamp, so that the same edges give the same bytes.
    out.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    nodes = {name for edge in edges for name in edge}
    print(f"{out}: {len(nodes):,} modules, {len(edges):,} imports of Python {version}")


def find_modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module below the standard library."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not LEFT_OUT.intersection(parts) and parts[0] != "lib-dynload" and "-" not in parts[0]:
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported_modules(module: str, path: Path, known: set[str]) -> Iterator[str]:
    """Yield the known modules that a module imports; of `from a import b`, a.b if it is one."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute_base(node, package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in known or base in known:
                    yield full if full in known else base


def _absolute_base(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parents, node.module] if node.module else parents)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
