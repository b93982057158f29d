"""Environments with the peers of the benchmarks, apart from that of arcvec.

Their dependencies exclude each other's, and arcvec's.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def peers_python(peers: str = "peers") -> Path:
    """Return the Python of an environment, which is made if it is missing or outdated.

    Args:
        peers: the name before "-requirements.txt" of the file that lists what to install.
    """
    folder = ROOT / f"build/{peers}-env"
    requirements = Path(__file__).with_name(f"{peers}-requirements.txt")
    python, installed = folder / "bin/python", folder / "installed.txt"
    wanted = requirements.read_text(encoding="utf-8")
    if installed.exists() and installed.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {requirements.name} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(requirements)], check=True)
    # Written last, so that an interrupted installation is started again.
    installed.write_text(wanted, encoding="utf-8")
    return python
