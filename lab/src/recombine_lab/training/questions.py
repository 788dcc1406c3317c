"""What is asked of a model while it is trained, how well it does, and what is kept of it.

A question is a fixed set of examples. Of the answers a run keeps the curve, the errors by combination, the last answers
and what was shown.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine.base.seeds import derived
from recombine.data.space import Space, text
from recombine_lab.runs.run import CURVE, SCORE, TEXTS
from recombine_lab.tasks.exposure import Source
from recombine_lab.tasks.task import Batch, Codes, Shapes, Speaks, Task, factor_columns
from recombine_lab.training.batches import ExampleGroups, render_chunks
from recombine_lab.training.losses import Loss, answers

Floats = npt.NDArray[np.float64]
_CHUNK = 1000  # examples asked at once; part of the numbers, as chunks have seeds of their own
_MOST_KEPT = 2**24  # numbers of a set that is kept rendered, 64 MiB
TRAIN = "train"
_MOST_SCORED = 100
"""Classes whose scores are kept: a column each, as many as `recombine.read` takes for classes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SetScores:
    """How a model did on a set: `error` of each example, a squared error or 1 for a wrong answer.

    `scores` holds what a model of classes gave for each of them, before they are made to sum to one; `said` the tokens
    that a model of sentences gave, beside those that were right.
    """

    loss: float
    score: float
    error: Floats
    targets: Tensor | None
    predictions: Tensor | None
    scores: Tensor | None = None
    said: tuple[Tensor, Tensor] | None = None


@dataclass(eq=False)
class EvaluationSet:
    """A named set of examples, drawn once for a run."""

    name: str
    task: Task
    latents: Tensor
    seed: int
    _kept: list[Batch] | None = field(init=False, default=None)

    @cached_property
    def cells(self) -> ExampleGroups:
        """The combinations of its examples."""
        return ExampleGroups.of(self.task.space, self.task.combinations(self.latents))

    def chunks(self) -> Iterator[Batch]:
        """The examples, rendered; a large set is rendered anew each time rather than kept."""
        if self._kept is not None:
            yield from self._kept
            return
        shapes = self.task.shapes
        keep = len(self.latents) * (np.prod(shapes.inputs) + np.prod(shapes.outputs)) <= _MOST_KEPT
        made: list[Batch] = []
        for place, piece in enumerate(torch.split(self.latents, _CHUNK)):
            made.append(render_chunks(self.task, piece, seed=derived(self.seed, "render", place), part="test"))
            yield made[-1] if keep else made.pop()
        self._kept = made if keep else None


def question_of(name: str, task: Task, source: Source, *, samples: int, seed: int) -> EvaluationSet:
    """The examples of a test: all of a source that has no more than are asked for, else drawn from it.

    Where an example looks different each time, as a digit does, it is asked about several times.
    """
    own = derived(seed, "test", name)
    listed = source.every()
    if listed is None or len(listed) > samples:
        return EvaluationSet(name, task, source.draw(samples, seed=own), own)
    times = samples // max(len(listed), 1) if _varies(task, listed[:8]) else 1
    return EvaluationSet(name, task, listed.repeat(times, 1), own)


def _varies(task: Task, latents: Tensor) -> bool:
    """Whether chance decides how examples look: drawn twice, they differ."""
    one, other = (task.render(latents, seed=seed, part="test") for seed in (1, 2))
    return not (torch.equal(one.inputs, other.inputs) and torch.equal(one.targets, other.targets))


@torch.no_grad()
def ask(module: nn.Module, question: EvaluationSet, loss: Loss) -> SetScores:
    """How a model does on a set, its weights as they stand."""
    shapes = question.task.shapes
    was_training = module.training
    module.eval()
    device = next((weight.device for weight in module.parameters()), torch.device("cpu"))
    marks = [_mark(module, batch.to(device), shapes, loss) for batch in question.chunks() if len(batch)]
    module.train(was_training)
    if not marks:
        return SetScores(loss=np.nan, score=np.nan, error=np.zeros(0), targets=None, predictions=None)
    losses, errors, truths, *others = zip(*marks, strict=True)
    error, targets = np.concatenate(errors), torch.cat(truths)
    # Of each kind every chunk has one, or none has.
    predictions, scores, answered = (None if parts[0] is None else torch.cat(parts) for parts in others)
    return SetScores(
        loss=float(np.average(losses, weights=np.array([len(one) for one in errors], dtype=np.float64))),
        score=_explained(error, targets) if shapes.kind == "values" else float(1 - error.mean()),
        error=error,
        targets=None if predictions is None else targets.reshape(-1),
        predictions=predictions,
        scores=scores,
        said=None if answered is None else (targets, answered),
    )


def _mark(module: nn.Module, batch: Batch, shapes: Shapes, loss: Loss) -> tuple[Any, ...]:
    """Of a chunk: its loss, the error of each example, the targets; predictions, scores and tokens where there are."""
    said = answers(module, batch, shapes).float()
    value, targets = float(loss(said, batch.targets)), batch.targets
    predictions: Tensor | None = None
    scores: Tensor | None = None
    answered: Tensor | None = None
    if shapes.kind == "values":
        missed = (said - targets).double().square().flatten(1).mean(1)
        predictions = said.reshape(-1) if said.numel() == len(said) else None
    elif shapes.kind == "classes":
        predictions = said.argmax(dim=-1)
        missed = (predictions != targets).double()
        scores = said if said.shape[-1] <= _MOST_SCORED else None
    else:
        answered = module.answer(batch.inputs, targets.shape[1])  # type: ignore[operator]
        # Targets end with a symbol of their own: a sentence that says more than the target differs there.
        missed = ((answered != targets) & (targets != 0)).any(dim=1).double()
    kept = [None if one is None else one.cpu() for one in (predictions, scores, answered)]
    return value, missed.cpu().numpy(), targets.cpu(), *kept


def _explained(error: Floats, targets: Tensor) -> float:
    """R² of the whole set: 1 - all squared error / all squared deviation from each output's mean."""
    values = targets.flatten(1).double()
    spread = float((values - values.mean(0)).square().sum())
    return 1 - float(error.sum()) * values.shape[1] / spread if spread > 0 else np.nan


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated:
    """How a run did on one set at one step; `cells` holds the mean error of each of the set's combinations.

    A number that is not finite is None.
    """

    step: int
    part: str
    n: int
    loss: float | None
    error: float | None
    score: float | None
    cells: Floats


def evaluation_of(step: int, question: EvaluationSet, scores: SetScores) -> Evaluated:
    """An answered question as it is kept."""
    return Evaluated(
        step=step,
        part=question.name,
        n=len(scores.error),
        loss=finite(scores.loss),
        error=finite(float(scores.error.mean())) if len(scores.error) else None,
        score=finite(scores.score),
        cells=question.cells.means(scores.error),
    )


def training_loss(step: int, n: int, loss: float) -> Evaluated:
    """The loss of a step's own batch, before the update."""
    return Evaluated(step=step, part=TRAIN, n=n, loss=finite(loss), error=None, score=None, cells=np.zeros(0))


def finite(value: float) -> float | None:
    """The number, or None where there is none."""
    return value if math.isfinite(value) else None


def metrics(evaluations: Sequence[Evaluated], *, diverged: bool) -> dict[str, float | None]:
    """The last value of every measurement; a run that diverged has none."""
    last = {one.part: one for one in evaluations}
    names = [(part, name) for part in last for name in ("loss", "error", "score") if part != TRAIN or name == "loss"]
    return {f"{part}.{name}": None if diverged else getattr(last[part], name) for part, name in names}


def tables(
    space: Space,
    *,
    evaluations: Sequence[Evaluated],
    questions: Sequence[EvaluationSet],
    answered: Mapping[str, SetScores],
    support: tuple[Codes, Codes],
) -> dict[str, pa.Table]:
    """The tables of a run."""
    codes, counts = support
    # A pattern has -1 for any value, as codes have for a factor left out.
    patterns = np.array(space.impossible, dtype=np.int64)
    impossible = {"impossible": pa.table(factor_columns(space, patterns))} if len(patterns) else {}
    return impossible | {
        "curve": pa.table({name: [getattr(one, name) for one in evaluations] for name in CURVE.names}, schema=CURVE),
        "combinations": _combinations(space, evaluations, questions),
        "predictions": _predictions(space, questions, answered),
        "support": pa.table(factor_columns(space, codes) | {"count": pa.array(counts)}),
    }


def _combinations(space: Space, evaluations: Sequence[Evaluated], questions: Sequence[EvaluationSet]) -> pa.Table:
    of = {question.name: question.cells for question in questions}
    asked = [one for one in evaluations if one.part in of]
    sizes = [len(one.cells) for one in asked]
    codes = _stacked([of[one.part].codes for one in asked], len(space.factors))
    counts = np.concatenate([of[one.part].counts for one in asked] or [np.zeros(0, dtype=np.int64)])
    columns = {"step": pa.array(np.repeat([one.step for one in asked], sizes).astype(np.int64))}
    columns["part"] = pa.array([one.part for one in asked], pa.string()).take(
        pa.array(np.repeat(np.arange(len(asked)), sizes))
    )
    errors = np.concatenate([one.cells for one in asked] or [np.zeros(0)])
    return pa.table(columns | factor_columns(space, codes) | {"count": pa.array(counts), "error": _numbers(errors)})


def _predictions(space: Space, questions: Sequence[EvaluationSet], answered: Mapping[str, SetScores]) -> pa.Table:
    asked = [question for question in questions if question.name in answered]
    found = [answered[question.name] for question in asked]
    codes = _stacked([question.cells.codes[question.cells.place] for question in asked], len(space.factors))
    parts = [name for question, one in zip(asked, found, strict=True) for name in [question.name] * len(one.error)]
    columns = {"part": pa.array(parts, pa.string())} | factor_columns(space, codes)
    filled = [one for one in found if len(one.error)]
    names = asked[0].task.shapes.names if asked else ()
    if filled and all(one.predictions is not None for one in filled):
        for name, values in (("target", [o.targets for o in filled]), ("prediction", [o.predictions for o in filled])):
            whole = np.concatenate([value.numpy() for value in values if value is not None])
            columns[name] = _numbers(whole) if whole.dtype.kind == "f" else _classes(whole, names)
        columns |= _scores(filled, names, taken=columns)
    if filled and isinstance(asked[0].task, Speaks) and all(one.said is not None for one in filled):
        columns |= _texts(asked[0].task, [one.said for one in filled if one.said is not None], taken=columns)
    errors = np.concatenate([one.error for one in found] or [np.zeros(0)])
    return pa.table(columns | {"error": _numbers(errors)})


def _texts(task: Speaks, said: Sequence[tuple[Tensor, Tensor]], *, taken: Mapping[str, Any]) -> dict[str, pa.Array]:
    """Sentences in words: what was right, and what was said."""
    return {
        name: pa.array([text for pair in said for text in task.in_words(pair[place])], pa.string())
        for place, name in enumerate(TEXTS)
        if name not in taken
    }


def _classes(places: Codes, names: Sequence[Any]) -> pa.Array:
    """Classes by name, or by number where they have none."""
    return pa.array(list(names)).take(pa.array(places)) if names else pa.array(places)


def _scores(filled: Sequence[SetScores], names: Sequence[Any], *, taken: Mapping[str, Any]) -> dict[str, pa.Array]:
    """A column for each class; none of them where a factor has the name of one."""
    if any(one.scores is None for one in filled):
        return {}
    whole = np.concatenate([one.scores.numpy() for one in filled if one.scores is not None])
    columns = [f"{SCORE}{text(name)}" for name in names or range(whole.shape[1])]
    if len(set(columns)) < len(columns) or taken.keys() & set(columns):
        return {}
    return {name: _numbers(values) for name, values in zip(columns, whole.T, strict=True)}


def _stacked(codes: Sequence[Codes], factors: int) -> Codes:
    return np.concatenate([np.zeros((0, factors), dtype=np.int64), *codes])


def _numbers(values: Floats) -> pa.Array:
    """Numbers, missing where they are not finite."""
    return pa.array(values, mask=~np.isfinite(values))
