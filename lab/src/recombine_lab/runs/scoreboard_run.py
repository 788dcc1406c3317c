"""What a scoreboard saw as a run, so that it can stand beside other runs in a store."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.errors import OutputError, SettingError
from recombine.base.records import Provenance
from recombine.base.version import __version__
from recombine.data.space import Space, text
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.evaluate.scoreboard.scoreboard import LastAnswers, Scoreboard
from recombine.verbs.evaluate.scoreboard.yardstick import Yardstick
from recombine_lab.base.catalogue import Spec
from recombine_lab.runs.run import CURVE, Configuration, Run, domain_of
from recombine_lab.runs.store import Store

_PARTS = ("seen", "unseen", "novel")
_TAKEN = ("step", "part", "count", "target", "prediction", "error")
_MOST_LISTED = 100_000


def run_of(
    board: Scoreboard,
    store: Store | str | Path | None = None,
    *,
    model: Any,
    task: Any = "own",
    recipe: Any = None,
    seed: int = 0,
    seconds: float = 0.0,
    force: bool = False,
) -> Run:
    """A scoreboard's last answers and its history as a run, put into a store where one is given.

    `model`, `task` and `recipe` are names, or settings with a `name`. With the seed and the rows (those asked, and what
    was trained on) they make the run's key, so that runs with other settings or other data stand beside each other.
    Where the store has a run of that key with other answers it is refused, or with `force` replaced.

    >>> train = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [0, 1, 1]}
    >>> board = Scoreboard({"a": [1, 0], "b": [1, 0], "y": [0, 0]}, factors=["a", "b"], target="y", train=train)
    >>> _ = board.score([0, 0])
    >>> run_of(board, model="mine").metrics["unseen.score"]
    1.0
    """
    last = board.last_answers()
    made = _configuration(last.yardstick, model=model, task=task, recipe=recipe, seed=seed)
    run = _run(last, made, seconds=seconds)
    if store is not None:
        _keep(store if isinstance(store, Store) else Store.open(store), run, force=force)
    return run


def _configuration(yardstick: Yardstick, *, model: Any, task: Any, recipe: Any, seed: int) -> Configuration:
    """What tells a run from others: names, or mappings of settings with a name; and the rows asked and trained on."""
    asked = {**_named_spec("task", task), "rows": _rows_digest(yardstick)}
    parts = {"task": asked, "model": _named_spec("model", model)}
    split = {"name": "own", "support": _support_digest(yardstick)}
    own = {} if recipe is None else _named_spec("recipe", recipe) if isinstance(recipe, str) else dict(recipe)
    return Configuration(**parts, split=split, recipe=own, seed=seed, code=f"scoreboard {__version__}")


def _rows_digest(yardstick: Yardstick) -> str:
    """The same for the same scored rows with the same truth, in whatever order."""
    tested, classes = yardstick.perfect.tested, yardstick.perfect.classes
    truth = yardstick.truth.tolist()
    told = [text(classes[int(place)]) for place in truth] if yardstick.perfect.kind == "label" else map(repr, truth)
    return _digest(_lines(tested.space, tested.codes[yardstick.combination], told))


def _support_digest(yardstick: Yardstick) -> str:
    training = _training(yardstick)
    return _digest(_lines(training.space, training.codes, map(str, training.counts.tolist())))


def _lines(space: Space, codes: Codes, last: Iterable[str]) -> list[tuple[str, ...]]:
    columns = [
        np.array(factor.labels, dtype=object)[column] for factor, column in zip(space.factors, codes.T, strict=True)
    ]
    return list(zip(*columns, last, strict=True))


def _digest(lines: list[tuple[str, ...]]) -> str:
    return hashlib.sha256(json.dumps(sorted(lines)).encode()).hexdigest()[:16]


def _keep(store: Store, run: Run, *, force: bool) -> None:
    """Put a run into a store; one with the same settings and other answers is replaced on demand, never silently."""
    if store.put(run):
        return
    stored = store.get(run.key)
    if all(_sorted_rows(stored.tables[name]) == _sorted_rows(run.tables[name]) for name in ("curve", "predictions")):
        return
    if not force:
        raise OutputError(
            f"the store '{store.place}' holds a run of {run.configuration.model['name']!r} with seed "
            f"{run.configuration.seed} and the same settings, but with other answers or another history",
            why="runs are told apart by task, model, recipe, seed and data, and these are equal",
            instead="say what differs, such as model={'name': …, 'width': …} or seed=…; or force=True to replace it",
        )
    store.remove(run.key)
    store.put(run)


def _sorted_rows(table: pa.Table) -> list[str]:
    """Its lines as text, so that NaN equals NaN, in an order that is not that of the rows."""
    return sorted(map(repr, table.to_pylist()))


def _named_spec(part: str, spec: Any) -> Spec:
    if isinstance(spec, str):
        return {"name": spec}
    if isinstance(spec, Mapping) and isinstance(spec.get("name"), str):
        return dict(spec)
    raise SettingError(
        f"{part}={spec!r}",
        why="a run is told from others by names and settings",
        instead=f"write a name, or a mapping with one: {part}={{'name': 'bert-tiny', 'lr': 1e-4}}",
    )


def _run(last: LastAnswers, made: Configuration, *, seconds: float) -> Run:
    """The last answers and the scores over time as the tables of a run."""
    yardstick, said, names, history = last.yardstick, last.answers, last.classes, last.history
    space = yardstick.perfect.tested.space
    taken = [name for name in space.names if name in _TAKEN]
    if taken:
        raise SettingError(
            f"a factor called {taken[0]!r}",
            why="a run's own tables have a column of that name",
            instead="rename the factor",
        )
    # Whether each combination was seen, by name.
    place = sum(k * yardstick.sides[name] for k, name in enumerate(_PARTS))
    part = pa.array(_PARTS, pa.string()).take(pa.array(place))
    steps = [number if line["step"] is None else line["step"] for number, line in enumerate(history, start=1)]
    training = _training(yardstick)
    support = training.space.columns(training.codes) | {"count": pa.array(training.counts.astype(np.int64))}
    return Run(
        configuration=made,
        status="finished",
        reason=None,
        steps=steps[-1] if steps else 0,
        seconds=seconds,
        together=1,
        metrics=_metrics(history[-1], yardstick) if history else {},
        provenance=Provenance(source=str(made.task["name"])),
        domain=domain_of(space, most=_MOST_LISTED),
        tables={
            "curve": _curve(history, steps, yardstick),
            "combinations": _combinations(yardstick, said, part, steps[-1] if steps else 0),
            "predictions": _predictions(yardstick, said, names, part),
            "support": pa.table(support),
        },
    )


def _score_name(yardstick: Yardstick) -> str:
    return "accuracy" if yardstick.perfect.score.is_share else "r2"


def _error(line: Mapping[str, Any], part: str, yardstick: Yardstick) -> float:
    """A share of wrong answers, or a mean squared error."""
    return float(1 - line[f"{part}_accuracy"] if yardstick.perfect.score.is_share else line[f"{part}_mse"])


def _metrics(line: Mapping[str, Any], yardstick: Yardstick) -> dict[str, float | None]:
    found = {}
    for part in _PARTS:
        found[f"{part}.error"] = _error(line, part, yardstick)
        found[f"{part}.score"] = float(line[f"{part}_{_score_name(yardstick)}"])
    return {name: None if np.isnan(value) else value for name, value in found.items()}


def _curve(history: Sequence[Mapping[str, Any]], steps: Sequence[int], yardstick: Yardstick) -> pa.Table:
    rows = {part: int(yardstick.perfect.rows[yardstick.sides[part]].sum()) for part in _PARTS}
    lines = [
        {
            "step": step,
            "part": part,
            "n": rows[part],
            "loss": None,
            "error": _error(line, part, yardstick),
            "score": line[f"{part}_{_score_name(yardstick)}"],
        }
        for step, line in zip(steps, history, strict=True)
        for part in _PARTS
        if rows[part]
    ]
    return pa.Table.from_pylist(lines, schema=CURVE)


def _combinations(yardstick: Yardstick, said: Numbers, part: pa.Array, step: int) -> pa.Table:
    tested = yardstick.perfect.tested
    error = yardstick.errors(said)
    mean = np.bincount(yardstick.combination, weights=error, minlength=len(tested)) / tested.counts
    columns = {"step": pa.array([step] * len(tested), pa.int64()), "part": part} | tested.space.columns(tested.codes)
    return pa.table(columns | {"count": pa.array(tested.counts.astype(np.int64)), "error": pa.array(mean)})


def _predictions(yardstick: Yardstick, said: Numbers, names: Sequence[str] | None, part: pa.Array) -> pa.Table:
    tested, place = yardstick.perfect.tested, yardstick.combination
    columns = {"part": part.take(pa.array(place))} | tested.space.columns(tested.codes[place])
    truth, answers = yardstick.truth, said[yardstick.scored]
    for name, values in (("target", truth), ("prediction", answers)):
        columns[name] = pa.array(values) if names is None else pa.array(names).take(pa.array(values.astype(np.int64)))
    return pa.table(columns | {"error": pa.array(yardstick.errors(said))})


def _training(yardstick: Yardstick) -> Support:
    training = yardstick.perfect.training
    assert training is not None  # noqa: S101 - a scoreboard is told what was trained on
    return training
