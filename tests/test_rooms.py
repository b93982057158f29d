"""Rooms follow the data: code imports from rooms above its own, never from one below."""

import ast
from pathlib import Path

import pytest

import arcvec

PACKAGE = Path(__file__).parent.parent / "src" / "arcvec"

ROOMS = (
    "settings",
    "storage",
    "notebook",
    "kernels",
    "graph",
    "ingest",
    "parallel",
    "embeddings",
    "method",
    "evaluation",
    "sampling",
    "model",
    "training",
    "baselines",
    "recommendation",
    "export",
    "view",
    "serve",
    "lab",
    "cli",
    "__main__",
)
FLOOR_OF = {room: floor for floor, room in enumerate(ROOMS)}
TORCH_ROOMS = {"parallel", "model", "training", "baselines"}


def room_of(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= (
                {f"arcvec.{alias.name}" for alias in node.names}
                if node.module == "arcvec"
                else {str(node.module)}
            )
    return found


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_backwards(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for module in imports(path):
        if not module.startswith("arcvec."):
            continue
        other = room_of(module)
        if other.startswith("__"):  # arcvec.__version__
            continue
        assert other == room or FLOOR_OF[other] < FLOOR_OF[room], f"{room} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_torch_stays_in_its_rooms(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room not in TORCH_ROOMS:
        assert not {name for name in imports(path) if name.split(".")[0] == "torch"}


def test_room_init_files_are_empty():
    for path in PACKAGE.glob("*/__init__.py"):
        if path.parent.name != "cli":  # where the installed command enters: `arcvec.cli:main`
            assert path.read_text() == "", path


def test_no_room_hides_a_public_name():
    """A room named as a public function would take its place once it is imported."""
    rooms = {path.stem for path in PACKAGE.iterdir()}
    assert not rooms & set(arcvec.__all__)
