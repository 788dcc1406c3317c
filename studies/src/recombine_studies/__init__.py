"""Studies: the papers behind this library, re-run, with their claims as checks and every seed on the table.

The public names of this room stand in `__init__.pyi`; each is loaded when it is first used, so that listing them loads
no torch.

To add a study: a folder with its words (`study.toml`) that ends in `STUDY = Study(…)`, its line in `catalogue`. A claim
is a function over the run table, with planted rows in `tests/studies/` on which it holds and on which it does not.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
