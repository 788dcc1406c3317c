"""The lab, for those who train: tasks, models, training, runs, sweeps, and probes that look inside a model.

Who has a table and somebody's answers may ignore it. The public names stand in `__init__.pyi`; each is loaded when it
is first used, so that listing them loads no torch. Those of `models`, `probes` and `tasks` are public too:
`recombine_lab.tasks.Sprites`, `recombine_lab.models.MLP`.
"""

from recombine.base.lazy_names import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
