"""Schemathesis makes requests from the API's own description, right ones and wrong ones."""

import subprocess
import sys


def test_every_answer_is_as_described(server, tmp_path):
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    flags = ("--max-examples=60", "--seed=0", "--no-color", "--generation-database=none")
    done = subprocess.run(
        [*command, *flags], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "7 selected / 7 total" in done.stdout
    assert server.get("/healthz").status == 200
