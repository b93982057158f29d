"""`python -m arcvec` is the command line."""

from arcvec.cli import main

main()
