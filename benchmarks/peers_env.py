"""An environment with the peers of the benchmarks, apart from that of arcvec.

Their dependencies exclude each other's, and arcvec's.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = Path(__file__).with_name("peers-requirements.txt")
FOLDER = ROOT / "build/peers-env"


def peers_python() -> Path:
    """Return the Python that has the peers; its environment is made where it is missing or old."""
    python = FOLDER / "bin/python"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    installed = FOLDER / "installed.txt"
    if installed.exists() and installed.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {REQUIREMENTS.name} into {FOLDER}", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    # Last, so that an installation that was cut short is begun anew.
    installed.write_text(wanted, encoding="utf-8")
    return python
