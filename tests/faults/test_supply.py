"""What is shipped and what comes with it: built alike twice, nothing unused, nothing unknown.

Whether a version has a known weakness takes an online database: `pip-audit --requirement
constraints.txt`, which cannot run offline and so is no test.
"""

import ast
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
USED_EXTRAS = ("baselines", "parquet", "plot", "serve")

# What lies about in a folder that was worked in, and belongs to nobody else.
LEFTOVERS = ("out/run.json", "build/site.html", "dist/old.whl", "arcvec-demo/split/split.json")
LEFTOVERS += ("src/arcvec/__pycache__/cli.pyc", ".venv/pyvenv.cfg", ".pytest_cache/README.md")

MODULE_OF = {
    "scikit-learn": "sklearn",
    "lazy-loader": "lazy_loader",
    "prometheus-client": "prometheus_client",
}

# uvicorn imports it itself, where it is installed.
IMPORTED_BY_UVICORN = {"uvloop"}

# GPL and its like, but neither LGPL nor MPL, which leave what is beside them alone.
COPYLEFT = re.compile(r"(?<!L)GPL|(?<!Lesser )General Public|SSPL|EUPL|CC-BY-SA|CC-BY-NC", re.I)


@pytest.fixture(scope="module")
def licences():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "scripts/licences.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def constraints():
    """The version of every package in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def tracked_files():
    """Return the files of the project, those that git ignores left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def build(folder, out):
    """Return the sdist and the wheel of the project in a folder."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the project: others may change the original while it is being built."""
    folder = tmp_path_factory.mktemp("supply") / "project"
    for name in tracked_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def shipped(copied):
    """The sdist and the wheel that are built of it."""
    return build(copied, copied.parent / "one")


def test_builds_are_the_same_to_the_byte(copied, shipped, record):
    """Elsewhere, of files that are newer and less open, with leftovers among them."""
    other = copied.parent / "elsewhere" / "under another name"
    shutil.copytree(copied, other)
    for path in other.rglob("*"):
        os.utime(path, (2e9, 2e9))
        path.chmod(path.stat().st_mode & 0o700)
    for name in LEFTOVERS:
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("left over")
    again = build(other, copied.parent / "two")
    assert [path.name for path in again] == [path.name for path in shipped]
    for one, two in zip(shipped, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name
    record("Checks", check="sdist and wheel built twice", cases=len(again), outcome="same bytes")


def test_the_wheel_holds_the_package_and_nothing_else(copied, shipped, record):
    sdist, wheel = shipped
    package = {path for path in (copied / "src").rglob("*") if path.is_file()}
    expected = {path.relative_to(copied / "src").as_posix() for path in package}
    assert {"arcvec/py.typed", "arcvec/data/stdlib_imports.txt.gz"} < expected
    about = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")
    version = sdist.name.removeprefix("arcvec-").removesuffix(".tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert names == expected | {f"arcvec-{version}.dist-info/{name}" for name in about}
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside == {*map(str, tracked_in(copied)), "PKG-INFO"}
    record("Checks", check="files in the wheel", cases=len(names), outcome="the package's own")


def tracked_in(folder):
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path, shipped, constraints, record):
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"

    def run(*command):
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
        process = subprocess.run(list(map(str, command)), **options)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--constraint", ROOT / "constraints.txt", shipped[1])
    run(*pip, "check")
    installed = dict(line.split("==") for line in run(*pip, "list", "--format=freeze").split())
    installed = {canonicalize_name(name): version for name, version in installed.items()}
    needed = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    assert needed < set(installed)
    for name in installed.keys() - {"arcvec", "pip"}:
        assert installed[name].partition("+")[0] == constraints[name], name
    assert "failed" not in run(programs / "arcvec", "doctor")
    assert "arcvec, dim 32" in run(programs / "arcvec", "demo", "--out", tmp_path / "demo")
    assert (tmp_path / "demo" / "result" / "nodes.txt").is_file()
    record("Checks", check="wheel in an empty environment", cases=len(installed), outcome="works")


def third_party_imports(folder):
    """Return the modules that files in a folder import from neither Python nor arcvec."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"arcvec"}


def modules(requirements):
    names = [canonicalize_name(Requirement(text).name) for text in requirements]
    return {MODULE_OF.get(name, name) for name in names}


def test_dependencies_are_used_and_what_is_used_is_declared(tmp_path, record):
    """What is imported without being declared is itself needed by what is declared."""
    always = PROJECT["dependencies"]
    extras = [text for name in USED_EXTRAS for text in PROJECT["optional-dependencies"][name]]
    imported = third_party_imports(ROOT / "src" / "arcvec")
    assert modules(always) <= imported
    assert modules(extras) <= imported | IMPORTED_BY_UVICORN
    of_others = {
        module
        for text in (*always, *extras)
        for module in modules(importlib.metadata.requires(Requirement(text).name) or [])
    }
    assert imported - modules(always) - modules(extras) <= of_others
    (tmp_path / "one.py").write_text("import numpy.linalg\nfrom os import path\n")
    assert third_party_imports(tmp_path) == {"numpy"}
    record("Checks", check="dependencies", cases=len(always) + len(extras), outcome="all in use")


def test_versions_are_exact(licences, constraints, record):
    """All that is installed with arcvec, and what its tests, docs and builds need directly."""
    packages = licences.runtime_packages()
    for package in packages:
        assert constraints.get(package.name) == package.version, package.name
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        names = {canonicalize_name(Requirement(text).name) for text in group}
        assert names - {"arcvec"} <= set(constraints)
    record("Checks", check="versions", cases=len(packages), outcome="exact")


def refusal(licence):
    """Return why a licence cannot be shipped with; nothing, if it can."""
    if not licence or licence == "unknown":
        return "unknown"
    # Of several licences to choose from, one that can is enough.
    choices = re.split(r"\bOR\b", licence)
    return "copyleft" if all(COPYLEFT.search(choice) for choice in choices) else ""


def test_the_page_of_licences_is_up_to_date(licences, constraints, record):
    page = licences.PAGE.read_text()
    assert page == licences.build_page(), "run: make pages"
    rows = re.findall(r"^\| ([\w-]+) \| ([\w.]+) \| (.+) \| [\w, ]+ \|$", page, re.MULTILINE)[1:]
    assert len(rows) == len(licences.runtime_packages())
    for name, version, licence in rows:
        assert constraints[name] == version
        assert not refusal(licence), f"{name}: {licence}"
    record("Checks", check="licences", cases=len(rows), outcome="known, none stronger than LGPL")


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("", "unknown"),
        ("unknown", "unknown"),
        ("GPL-3.0-only", "copyleft"),
        ("AGPL-3.0", "copyleft"),
        ("MIT AND GPL-2.0-or-later", "copyleft"),
        ("GNU General Public License v3 (GPLv3)", "copyleft"),
        ("GNU Affero General Public License v3", "copyleft"),
        ("SSPL-1.0", "copyleft"),
        ("MIT OR GPL-3.0", ""),
        ("LGPL-2.1-only", ""),
        ("GNU Lesser General Public License v3", ""),
        ("MPL-2.0", ""),
        ("BSD License", ""),
    ],
)
def test_licences_that_are_refused(licence, expected):
    assert refusal(licence) == expected


def test_a_package_without_a_licence_is_unknown(licences):
    metadata = importlib.metadata.metadata("numpy")
    assert "BSD" in licences.licence_of(metadata)
    del metadata["License-Expression"], metadata["License"], metadata["Classifier"]
    assert licences.licence_of(metadata) == "unknown"
