"""The command line; its entry point is `main`."""

from arcvec.cli.app import main

__all__ = ["main"]
