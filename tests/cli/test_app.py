import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from arcvec.cli.app import COMMANDS, app, main, summary


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_a_command_says_of_itself(name):
    command = getattr(import_module(f"arcvec.cli.{COMMANDS[name]}"), name)
    assert inspect.getdoc(command).split("\n")[0] == summary(name) != ""


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_list_names_every_command(capsys, arguments):
    main(arguments)
    listed = capsys.readouterr().out
    for name in COMMANDS:
        assert f"│ {name} " in listed
    assert "--version" in listed


def test_the_help_of_a_command_is_its_whole_docstring(capsys):
    main(["add", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Known nodes keep their vectors" in shown


def test_the_docs_have_the_flags_of_all_commands():
    assert "--walks.window" in app.generate_docs()


def test_listing_the_commands_imports_none_of_their_needs():
    """What makes `arcvec --help` slow shows here, not in seconds."""
    heavy = ["numba", "numpy", "pydantic", "scipy", "torch", "markdown_it"]
    code = (
        "import sys; from arcvec.cli import main; main(['--help']);"
        f"sys.exit(str([name for name in {heavy} if name in sys.modules] or 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "0", done.stderr
