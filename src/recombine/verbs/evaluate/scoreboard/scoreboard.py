"""How a model fares on seen and on unseen combinations while it is being trained, by any trainer.

    board = Scoreboard(eval_table, factors=["species", "place"], target="label", train=train_table)
    for epoch in range(epochs):
        ...
        for batch in loader:
            board.update(model(batch))
        print(board.compute(epoch=epoch))
        board.reset()

or in one line, board.score(model(batch) for batch in loader).

The tables are read once. An epoch then costs milliseconds, so that it can be looked at after each; what it tells equals
what `recombine.evaluate` would tell of the same answers, causes left out, and intervals but that of the worst group.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base import records
from recombine.base.checks import check_choice, check_known
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.base.files import place_of, write_text
from recombine.base.overwrite_checks import check_page
from recombine.base.records import Record
from recombine.base.words import count
from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.evaluate.evaluation import EvaluateReading, Evaluation, evaluate, question_of
from recombine.verbs.evaluate.scoreboard.answer_arrays import Classes, Unknown, as_array, as_numbers
from recombine.verbs.evaluate.scoreboard.yardstick import Yardstick, answer_column, eval_rows

_SETTINGS = ("factors", "target", "train", "id", "classes", "score", "unknown", *EvaluateReading.__annotations__)


@dataclass(frozen=True, eq=False)
class LastAnswers:
    """The answers of an epoch, with what they are measured by."""

    yardstick: Yardstick
    answers: Numbers
    """A number for each row: the answer itself, or which class it is."""
    classes: tuple[str, ...] | None
    """The names of the classes; None for a target of numbers."""
    history: tuple[Mapping[str, Any], ...]
    """The scores each time that they were computed, with `step` and `epoch`."""


class Scoreboard:
    """Scores on seen and unseen combinations, epoch by epoch, for any trainer.

    `eval_table` holds the rows that the model is asked, `train` those that it was trained on; any source that
    `recombine.evaluate` takes. `id` names the column by which answers are told apart where they come in another order.
    `classes` names the classes in the order of the model's outputs, for class numbers and logits. `unknown="wrong"`
    counts an answer that is no class as wrong, for models that can say anything. `score` is accuracy for labels, mse or
    r2 for numbers. `target_kind`, `where`, `bins`, `domain`, `impossible`, `missing`, `sets` and `table` are those of
    `recombine.read`. The target may be one of the `factors`: then the worst group is told as worst-group accuracy.

    >>> train = {"colour": ["red", "red", "blue"], "shape": ["disc", "cube", "disc"], "y": ["a", "b", "a"]}
    >>> rows = {"colour": ["red", "blue", "blue"], "shape": ["cube", "disc", "cube"], "y": ["b", "a", "b"]}
    >>> board = Scoreboard(rows, factors=["colour", "shape"], target="y", train=train)
    >>> board.update(["b", "a"])
    >>> board.update(["a"])
    >>> found = board.compute(epoch=1)
    >>> found["seen_accuracy"], found["unseen_accuracy"], found["gap"], found["unseen_majority_accuracy"]
    (1.0, 0.0, 1.0, 0.0)
    """

    def __init__(
        self,
        eval_table: Any,
        *,
        factors: Sequence[str] = (),
        target: str,
        train: Any,
        id: str | None = None,  # noqa: A002 - what the column is called everywhere
        classes: Sequence[Any] | None = None,
        score: str | None = None,
        unknown: Unknown = "refuse",
        **reading: Unpack[EvaluateReading],
    ) -> None:
        check_known(reading, list(_SETTINGS), who="a scoreboard")
        check_choice("unknown", unknown, ("refuse", "wrong"), instead="write 'refuse' or 'wrong'")
        question = question_of(factors, target, reading)
        self._rows = eval_rows(eval_table, question, train=train, score=score, id=id)
        self._yardstick = Yardstick.of(self._rows)
        self._asked = (question, train, score, reading.get("sets"))
        labels = self._rows.perfect.kind == "label"
        self._classes = Classes(self._rows.perfect.classes, order=classes, unknown=unknown) if labels else None
        self._history: list[dict[str, Any]] = []
        self.at()
        self._metrics: dict[str, float] | None = None
        self.reset()

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        without = f", {count(self.left_out)} left out for a missing factor or target" if self.left_out else ""
        return f"Scoreboard({count(len(self))} rows: {count(self._taken)} answered{without})"

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of the factors."""
        return self._rows.perfect.tested.space.names

    @property
    def scored_by(self) -> str:
        """What rows are scored by: accuracy, mse or r2."""
        return self._rows.perfect.score.name

    @property
    def score_names(self) -> tuple[str, ...]:
        """What the scores are called, also before any are computed."""
        return tuple(self._yardstick.measure(self._rows.truth))

    @property
    def missing(self) -> int:
        """How many rows have no answer yet."""
        return len(self) - self._taken

    @property
    def left_out(self) -> int:
        """How many rows are asked but not scored, because a factor or the target is missing."""
        return self._yardstick.left_out

    def reset(self) -> None:
        """Forget the answers, for the next epoch; the history stays."""
        self._said = np.full(len(self), np.nan)
        self._answered, self._taken = np.zeros(len(self), dtype=bool), 0
        self._by_id: bool | None = None
        self._metrics = None

    def update(self, predictions: Any, ids: Any = None, *, truth: Any = None) -> None:
        """Take the answers to some rows: the next ones in the table's order, or those with these ids.

        Answers are labels, class numbers or logits (rows × classes) with `classes`, or numbers; from NumPy, PyTorch,
        JAX, TensorFlow, a frame or a list. Without an id column, ids are places in the table, from 0. A trainer that
        has the true answers at hand gives them as `truth`, so that rows in another order than the table's are noticed.
        """
        said = self._numbers_of(predictions)
        places = self._next_places(len(said)) if ids is None else self._places_of(ids, len(said))
        if truth is not None:
            self._refuse_other_rows(places, self._numbers_of(truth))
        self._said[places], self._answered[places] = said, True
        self._taken += len(places)
        self._metrics = None

    def at(self, *, step: int | None = None, epoch: float | None = None) -> None:
        """Say which moment of the training the next scores belong to, where who computes them does not know it."""
        self._moment = {"step": step, "epoch": epoch}

    def compute(self, *, step: int | None = None, epoch: float | None = None) -> dict[str, float]:
        """The scores of the answers so far, which must be all; noted in the history. NaN is what `reasons` explains.

        Keys: `accuracy`, `seen_accuracy`, `unseen_accuracy`, `novel_accuracy`; `gap` and `matched_gap`, how much worse
        the unseen fare, and `matched_share`, the share of the unseen rows that the matched gap speaks for;
        `worst_group_accuracy`, with `_low` and `_high`, an interval that allows for its being the worst of
        `worst_group_of`; what simple rules get on the unseen (`unseen_majority_accuracy`,
        `unseen_additive_accuracy`, `unseen_best_rule_accuracy`) and the `lift` over the best of them;
        `left_out`, how many rows are not scored because a factor or the target is missing. For numbers
        `_mse` and `_r2` stand in place of `_accuracy`.
        """
        self._refuse_missing()
        if self._metrics is None:
            self._metrics = self._yardstick.measure(self._said)
            if not self._history and (notice := self._yardstick.nothing_shared()) is not None:
                warnings.warn(notice, UserWarning, stacklevel=2)
            told = {name: given for name, given in (("step", step), ("epoch", epoch)) if given is not None}
            self._history.append(self._moment | told | self._metrics)
            self.at()
        return dict(self._metrics)

    @property
    def reasons(self) -> dict[str, str]:
        """Of each of the last scores that is NaN, the reason; empty before the first ones are computed.

        >>> rows = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [0, 1, 1]}
        >>> board = Scoreboard(rows, factors=["a", "b"], target="y", train=rows)
        >>> _ = board.score(rows["y"])
        >>> board.reasons["gap"]
        'no row is of a combination that is unseen'
        """
        return {} if self._metrics is None else self._yardstick.reasons(self._metrics)

    @property
    def best_rule(self) -> str | None:
        """The simple rule that `lift` is measured against; None where there is none, and `reasons` says why."""
        return self._yardstick.best

    def score(self, answers: Any, *, step: int | None = None, epoch: float | None = None) -> dict[str, float]:
        """The scores of a whole epoch's answers at once: forget, update, compute. An iterator gives batch after batch.

        >>> train = {"a": [0, 0, 1], "b": [0, 1, 0], "y": [0, 1, 1]}
        >>> board = Scoreboard({"a": [1, 0], "b": [1, 0], "y": [0, 0]}, factors=["a", "b"], target="y", train=train)
        >>> board.score(iter([[0], [0]]))["unseen_accuracy"]
        1.0
        """
        self.reset()
        for batch in answers if isinstance(answers, Iterator) else [answers]:
            self.update(batch)
        return self.compute(step=step, epoch=epoch)

    @property
    def history(self) -> pa.Table:
        """A row for each time that scores were computed: when, step, epoch, and every score."""
        columns = {"computed": pa.array(range(1, len(self._history) + 1), pa.int64())}
        for name in self._history[0] if self._history else ("step", "epoch"):
            kind = pa.int64() if name == "step" else pa.float64()
            columns[name] = pa.array([line[name] for line in self._history], kind)
        return pa.table(columns)

    def answers(self) -> pa.Table:
        """The rows in their order with the last answers, in the column `prediction`."""
        self._refuse_missing()
        said = pa.array(self._said)
        if self._classes is not None:
            said = pa.array(self._classes.names, pa.string()).take(said.cast(pa.int64()))
        return self._rows.table.append_column(answer_column(self._rows.table), said)

    def evaluation(self, **settings: Any) -> Evaluation:
        """The whole evaluation of the last answers; `settings` are those of `recombine.evaluate`."""
        question, train, score, sets = self._asked
        asked = {name: getattr(question, name) for name in ("factors", "target", "bins", "impossible", "missing")}
        asked |= {"domain": question.domain or None, "target_kind": self._rows.perfect.kind}
        asked |= {"prediction": answer_column(self._rows.table), "train": train, "score": score, "sets": sets}
        return evaluate(self.answers(), **(asked | settings))

    def page(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the scores over time and the last evaluation as one self-contained HTML page."""
        from recombine.output.pages import draw  # noqa: PLC0415 - a template engine, which a training run can spare

        place = place_of(path)
        found = self.evaluation().record()
        check_page(place, force=force, inputs=records.sources(found.provenance))
        write_text(
            place, draw(Record(found.kind, found.data, {**found.tables, "history": self.history}, found.provenance))
        )
        return place

    def last_answers(self) -> LastAnswers:
        """The last answers, which must be all, as they are scored: what a run of the lab is made of."""
        self._refuse_missing()
        names = None if self._classes is None else tuple(self._classes.names)
        return LastAnswers(self._yardstick, self._said, names, tuple(self._history))

    def _numbers_of(self, answers: Any) -> Numbers:
        return as_numbers(answers) if self._classes is None else self._classes.places(answers).astype(np.float64)

    def _refuse_other_rows(self, places: Ints, truth: Numbers) -> None:
        own = self._rows.truth[places]
        apart = np.isfinite(own) & ~np.isclose(truth, own, rtol=1e-4, atol=1e-6)  # numbers may come in half precision
        if len(truth) != len(own) or apart.any():
            first = int(places[np.argmax(apart)]) if len(places) else 0
            raise ColumnError(
                f"{count(int(apart.sum()))} of {count(len(own))} rows have another truth in the table, the first in "
                f"row {first}",
                why="the model was asked other rows than the scoreboard holds, or in another order",
                instead="ask it the rows of the scoreboard's table in their order (no shuffling, no grouping by "
                "length), or give ids; check that classes=[…] is in the order of the model's outputs",
            )

    def _refuse_missing(self) -> None:
        if self.missing:
            raise TableError(
                f"{count(self.missing)} of {count(len(self))} rows have no answer yet",
                why="scores of some of the rows would not be those of the table",
                instead="update the scoreboard with the answers to every row, or give it the table of those rows alone",
            )

    def _next_places(self, answers: int) -> Ints:
        self._one_way(by_id=False)
        first = self._taken
        if first + answers > len(self):
            raise ColumnError(
                f"{count(answers)} more answers after {count(first)}",
                why=f"the table has {count(len(self))} rows",
                instead="call reset() before each epoch, and give each row's answer once (a last batch that is padded "
                "repeats some)",
            )
        return np.arange(first, first + answers)

    def _places_of(self, ids: Any, answers: int) -> Ints:
        self._one_way(by_id=True)
        asked = as_array(ids)
        if asked.shape != (answers,):
            raise ColumnError(
                f"{count(answers)} answers and ids of shape {asked.shape}",
                why="each answer has one id",
                instead="give as many ids as answers",
            )
        places = self._look_up(asked)
        again = np.ones(len(places), dtype=bool)
        again[np.unique(places, return_index=True)[1]] = False  # of some that are alike the first is no repetition
        again |= self._answered[places]
        if again.any():
            raise ColumnError(
                f"the id {asked[again][0]!s} was answered before",
                why=f"{count(int(again.sum()))} of these {count(answers)} rows have an answer already",
                instead="call reset() before each epoch, and give each row's answer once",
            )
        return places

    def _look_up(self, wanted: npt.NDArray[Any]) -> Ints:
        """The rows with these ids, or at these places where there is no id column."""
        known = pa.array(range(len(self))) if self._rows.ids is None else self._rows.ids
        if self._rows.ids is None and wanted.dtype.kind not in "iu":
            places = np.full(len(wanted), -1)
        else:
            ids = pa.array(wanted)
            if known.type != ids.type:
                both = pa.types.is_integer(known.type) and pa.types.is_integer(ids.type)
                kind = pa.int64() if both else pa.string()
                known, ids = known.cast(kind), ids.cast(kind)
            places = pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy().astype(np.int64)
        if (places < 0).any():
            strange = wanted[places < 0]
            more = f", and {count(len(strange) - 1)} more" if len(strange) > 1 else ""
            why, instead = "it is not in the id column of the evaluated table", "write ids as that column does"
            if self._rows.ids is None:
                why = "ids are places in the table, from 0, where no id column was named"
                instead = "name the column that holds them: id='…'"
            raise ColumnError(f"no row has the id {strange[0]!s}{more}", why=why, instead=instead)
        return places

    def _one_way(self, *, by_id: bool) -> None:
        if self._by_id is not None and self._by_id != by_id:
            raise SettingError(
                "answers with ids and without",
                why="nobody knows which rows are next after some were answered by id",
                instead="give ids with every update, or with none",
            )
        self._by_id = by_id
