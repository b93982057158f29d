"""What tests of the command line share besides fixtures."""

import subprocess
import sys

QUICK = ("--quiet", "--training.steps", "20", "--training.batch-pairs", "200", "--dim", "8")


def write(path, text):
    path.write_text(text)
    return path


def arcvec(*arguments, **options):
    command = [sys.executable, "-m", "arcvec", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
