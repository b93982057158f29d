"""Write docs/licences.md: what arcvec brings along when it is installed, and under which licence.

    python scripts/licences.py            # or: make pages

Names and licences are those that the installed packages state themselves.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from arcvec.storage.atomic import new_file

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/licences.md"
EXTRAS = ("baselines", "parquet", "plot", "serve")

HEAD = """\
# Licences

arcvec itself is under the Apache licence 2.0. These packages come with it, those that its
dependencies need included, as installed on Linux with the versions of `constraints.txt`. Extras
are installed only if asked for, as in `pip install 'arcvec[serve]'`. Licences are as the packages
state them; `python scripts/licences.py` writes this page. Builds of torch for graphics cards bring
packages of their makers as well, which are not listed: they have licences of their own.

Whether a version has a known weakness is not told here, since it takes a database that is kept
online. With a connection:

```
pip install pip-audit
pip-audit --requirement constraints.txt
```

| package | version | licence | needed for |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Package:
    """An installed package; `needed_for` is "everything" or the names of extras."""

    name: str
    version: str
    licence: str
    needed_for: str


def main() -> None:
    """Write the page."""
    with new_file(PAGE, overwrite=True) as partial:
        partial.write_text(build_page(), encoding="utf-8")
    print(PAGE)


def build_page() -> str:
    """Return the page as the installed packages make it."""
    rows = (
        f"| {package.name} | {package.version} | {package.licence} | {package.needed_for} |\n"
        for package in runtime_packages()
    )
    return HEAD + "".join(rows)


def runtime_packages() -> list[Package]:
    """Return all packages that arcvec, or one of its extras, needs when it runs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    always = needed_by(project["dependencies"])
    extras = {name: needed_by(project["optional-dependencies"][name]) for name in EXTRAS}
    packages = []
    for name in sorted(always.union(*extras.values())):
        users = [extra for extra, names in extras.items() if name in names]
        metadata = importlib.metadata.metadata(name)
        packages.append(
            Package(
                name,
                metadata["Version"].partition("+")[0],  # "2.13.0+cpu" is a build of 2.13.0
                licence_of(metadata),
                "everything" if name in always else ", ".join(users),
            )
        )
    return packages


def needed_by(requirements: Iterable[str]) -> set[str]:
    """Return the names of packages that fulfil requirements, and of those that they need."""
    found: set[tuple[str, frozenset[str]]] = set()
    todo = [Requirement(text) for text in requirements]
    while todo:
        wanted = todo.pop()
        key = str(canonicalize_name(wanted.name)), frozenset(wanted.extras)
        if key not in found and (wanted.marker is None or wanted.marker.evaluate()):
            found.add(key)
            todo += requirements_of(*key)
    return {name for name, _ in found}


def requirements_of(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """Yield what an installed package needs here, with some of its extras."""
    for text in importlib.metadata.requires(name) or []:
        wanted = Requirement(text)
        marker, wanted.marker = wanted.marker, None
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield wanted


def licence_of(metadata: Message) -> str:
    """Return the licence in the metadata of a package: its expression, its name or its class."""
    stated = metadata.get("License-Expression") or metadata.get("License", "")
    if stated and "\n" not in stated and len(stated) < 120:
        return str(stated)
    classes = (text for text in metadata.get_all("Classifier", []) if text.startswith("License"))
    return ", ".join(text.rpartition(" :: ")[2] for text in classes) or "unknown"


if __name__ == "__main__":
    main()
