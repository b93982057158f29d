"""arcvec: source and target vectors for every node of a graph."""

import lazy_loader

__version__ = "0.2.0.dev0"

# `__init__.pyi` lists the public names. A module is imported when one of its names is first used,
# so `import arcvec` costs neither torch nor numba.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
