"""recombine tells whether a model will handle combinations of factors that it has never seen together.

The public names, which stand in `__init__.pyi`, and nothing else. Each is loaded when it is first used, so that `import
recombine` stays quick: it is the one part of a command in which an interrupt is not heard.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
