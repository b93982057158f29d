"""arcvec: source and target vectors for every node of a graph."""

__version__ = "0.1.0"
