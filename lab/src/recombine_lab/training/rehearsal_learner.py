"""A model of the lab with its recipe, as a learner that `recombine.rehearse` can train anew.

The rows of a round become a task (`TableTask`): those that are kept are trained on, those that are held out are asked
about. All seeds are trained as `fit` trains them, together where that is faster, and each gives its own answers.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from recombine.base.errors import SettingError, TableError
from recombine.base.seeds import derived
from recombine.base.words import free_name
from recombine.numerics.groups import Numbers
from recombine.verbs.rehearse.learners import inputs_shown
from recombine.verbs.rehearse.round_examples import RehearsalExamples
from recombine_lab.base.catalogue import Spec
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Run
from recombine_lab.tasks.table_task import TableTask
from recombine_lab.training.fit import fit
from recombine_lab.training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class LabLearner:
    """A model, how it is trained, and with how many seeds. Made by `learner`."""

    model: Model | str | Spec
    recipe: Recipe
    seeds: int
    level: Literal["combinations", "rows"] = "rows"

    @property
    def name(self) -> str:
        """The model's name, and how often it is trained in a round."""
        called = self.model if isinstance(self.model, str) else _model_name(self.model)
        return f"{called} ({self.seeds} seeds)" if self.seeds > 1 else str(called)

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """(seeds, n) Train with every seed, and ask about the test rows."""
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        assert test.rows is not None  # noqa: S101
        rows = len(test.rows.answers)
        recipe = replace(self.recipe, test_samples=max(rows, 1))
        seeds = [derived(seed, "lab", number) % 2**31 for number in range(self.seeds)]
        runs = fit(_task(train, test), {"name": "own"}, self.model, recipe, seeds=seeds, progress=None)
        return np.array([_answers(run, rows) for run in runs])


def learner(model: Model | str | Spec, recipe: Recipe | dict[str, Any], *, seeds: int = 3) -> LabLearner:
    """A model of the lab as a learner for `recombine.rehearse`: trained anew in every round, with so many seeds.

    >>> learner({"name": "mlp", "hidden": [16]}, {"steps": 200, "samples": "every"}, seeds=2).name
    'mlp (2 seeds)'
    """
    if seeds < 1:
        raise SettingError(f"seeds={seeds}", why="a model is trained once at least", instead="write seeds=3")
    made = recipe if isinstance(recipe, Recipe) else Recipe(**recipe)
    return LabLearner(model, made, seeds)


def _model_name(model: Any) -> str:
    return str(model["name"]) if isinstance(model, dict) and "name" in model else type(model).__name__


def _task(train: RehearsalExamples, test: RehearsalExamples) -> TableTask:
    """The rows of both as one task, whose split column says which is which."""
    names = train.support.space.names
    codes, answers, sides, inputs = list[Any](), list[Any](), list[str](), list[Any]()
    for side, examples in (("train", train), ("test", test)):
        assert examples.rows is not None  # noqa: S101 - as above
        codes.append(examples.support.codes[examples.rows.combination])
        answers.append(examples.rows.answers)
        sides += [side] * len(examples.rows.answers)
        inputs.append(_shown(examples))
    together = np.concatenate(codes)
    table: dict[str, Any] = {name: [f"v{code}" for code in together[:, k]] for k, name in enumerate(names)}
    told = np.concatenate(answers)
    classes = train.classes is not None
    target, split = free_name("answer", names), free_name("side", names)
    table |= {target: told.astype(np.int64).tolist() if classes else told.tolist(), split: sides}
    return TableTask(
        source=table,
        inputs=np.concatenate(inputs).astype(np.float32),
        factors=names,
        target=target,
        form="classes" if classes else "values",
        split=split,
    )


def _shown(examples: RehearsalExamples) -> Any:
    """Inputs in their own shape, pictures among them; else the factors, one-hot."""
    assert examples.rows is not None  # noqa: S101 - as above
    return inputs_shown(examples) if examples.rows.inputs is None else examples.rows.inputs


def _answers(run: Run, rows: int) -> Numbers:
    """What a run answered on the rows that it was asked about, in their order."""
    told = run.tables["predictions"]
    if "part" in told.column_names:
        told = told.filter(pc.equal(told["part"], "unseen"))
    if run.status != "finished" or len(told) != rows or "prediction" not in told.column_names:
        raise TableError(
            f"training {run.status} without an answer to each of {rows:,} rows",
            why=run.reason or f"it gave {len(told):,} answers",
            instead="look at the recipe: fewer steps, a smaller lr, or a model that gives one number or class",
        )
    return np.array(told["prediction"].to_pylist(), dtype=np.float64)
