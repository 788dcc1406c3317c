"""Models: compositional and monolithic networks, as settings that build a torch module for any task's shapes.

The public names of this room stand in `__init__.pyi`. Each is loaded when it is first used: listing them loads
no torch.

To add a model: a file, and its line in `catalogue` and `__init__.pyi`; from another package, an entry point of the
group `recombine_lab.models`.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
