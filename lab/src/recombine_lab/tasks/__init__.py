"""Tasks: factors turned into tensors.

The public names of this room stand in `__init__.pyi`. Each is loaded when it is first used: listing them loads
no torch.

To add a task: a file, and its line in `catalogue` and `__init__.pyi`; from another package, an entry point of the
group `recombine_lab.tasks`. A kind of data of one's own: `table_inputs` (what a row looks like), `table_rows`; its line
in `docs/own.md` and `tests/lab/own/test_data.py`.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
