"""Weights & Biases: the scores of each moment, and at the end one table of combinations and the page.

    log(board)              # after each compute
    log_summary(board)      # once, at the end

Both work offline (`WANDB_MODE=offline`) as online; `wandb.init()` is the user's own.
"""

import tempfile
from pathlib import Path
from typing import Any

from recombine.base.errors import SettingError
from recombine.base.plugins import needing
from recombine.integrations.trainer_answers import last_scores
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

with needing(__name__, "wandb", extra="wandb"):
    import wandb


def log(board: Scoreboard, *, run: Any = None, prefix: str = "recombine/") -> None:
    """Log the last scores to a run, the current one unless another is given; what was not tested is left out."""
    step, found = last_scores(board)
    _run(run).log({f"{prefix}{name}": value for name, value in (found | {"step": step}).items()})


def log_summary(board: Scoreboard, *, run: Any = None, prefix: str = "recombine/") -> None:
    """Log the last evaluation: a table with a line for each combination, and the page."""
    found = board.evaluation().table
    table = wandb.Table(columns=found.column_names, data=[list(row.values()) for row in found.to_pylist()])
    with tempfile.TemporaryDirectory() as folder:
        page = board.page(Path(folder) / "scoreboard.html")
        shown = wandb.Html(page.read_text(encoding="utf-8"), inject=False)
    _run(run).log({f"{prefix}combinations": table, f"{prefix}page": shown})


def _run(given: Any) -> Any:
    run = given if given is not None else wandb.run
    if run is None:
        raise SettingError(
            "no run of Weights & Biases", why="scores are logged to one", instead="call wandb.init(…), or give run=…"
        )
    return run
