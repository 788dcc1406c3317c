"""The engine's lines as outcomes: one space for both sides, classes numbered alike, what cannot be scored counted.

The truth's, the answers' and the training's labels are numbered alike. A label is the same however a table types it: 1,
1.0, "1" and, beside whole numbers, true are one class, as a model's answers often come back from another library with
another type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, TableError
from recombine.base.records import Provenance
from recombine.base.words import count as counted
from recombine.base.words import listing
from recombine.data.centred_sums import out_of_range
from recombine.data.space import Space, Value, text
from recombine.data.support import LabelTarget, NumberTarget, Support, Target
from recombine.data.support_assembly import encoded, floats, refuse_no_rows, without_missing
from recombine.numerics.groups import Codes, Groups, Ints, Numbers, group, number, totals
from recombine.verbs.evaluate import scoring as states
from recombine.verbs.evaluate.outcomes import Kind, Mask, Outcomes
from recombine.verbs.evaluate.prediction_query import NOT_BINARY, TAUGHT, GatheredLines
from recombine.verbs.evaluate.scoring import PredictionQuestion, Scoring

_MOST_CLASSES = 10_000
MISSING = -1


@dataclass(frozen=True, eq=False)
class PairedOutcomes:
    """Two models on the same rows of each tested combination: how many both answered, and each one's sum of scores."""

    rows: Numbers
    own: Numbers
    other: Numbers


@dataclass(frozen=True)
class MatchedClasses:
    """The classes of all columns together, and each column's labels as places among them, -1 where missing."""

    classes: tuple[Value, ...]
    places: tuple[Ints, ...]


def match_classes(labels: Sequence[pa.ChunkedArray], names: Sequence[str]) -> MatchedClasses:
    """Number the labels of several columns alike; the first column's way of writing a class is kept.

    >>> found = match_classes([pa.chunked_array([[1, 0]]), pa.chunked_array([["0", None]])], ["truth", "said"])
    >>> found.classes, [place.tolist() for place in found.places]
    ((0, 1), [[1, 0], [0, -1]])
    """
    encoded = [pc.dictionary_encode(column).combine_chunks() for column in labels]
    several = [column.dictionary.to_pylist() for column in encoded]
    whole = any(isinstance(value, int) and not isinstance(value, bool) for values in several for value in values)
    kept: dict[str, Any] = {}
    for name, values in zip(names, several, strict=True):
        if len(values) > _MOST_CLASSES:
            raise ColumnError(
                f"{name!r} has {len(values):,} different labels",
                why=f"that is an identifier or a number rather than a label; at most {_MOST_CLASSES:,} are compared",
                instead="choose another column, or say target_kind='number' (--target-kind number) if it is one",
            )
        for value in values:
            kept.setdefault(written(value, whole=whole), value)
    keys = sorted(kept, key=lambda key: (str(type(kept[key])), kept[key]))
    place = {key: position for position, key in enumerate(keys)}
    places = []
    for column, values in zip(encoded, several, strict=True):
        recode = np.array([*(place[written(value, whole=whole)] for value in values), MISSING], dtype=np.int64)
        places.append(recode[pc.fill_null(column.indices, len(values)).to_numpy(zero_copy_only=False)])
    return MatchedClasses(tuple(kept[key] for key in keys), tuple(places))


def written(value: Any, *, whole: bool = False) -> str:
    """A label as text, the same for 1 and 1.0; and for true, where another column holds whole numbers.

    >>> written(1.0), written(True), written(True, whole=True), written("cat")
    ('1', 'true', '1', 'cat')
    """
    if isinstance(value, bool) and whole:
        return str(int(value))
    return text(int(value)) if isinstance(value, float) and value.is_integer() else text(value)


@dataclass(frozen=True, eq=False)
class OutcomeReading:
    """Outcomes, the other model's beside them where there is one, and what must be told about the rows."""

    outcomes: Outcomes
    paired: PairedOutcomes | None
    notes: tuple[str, ...]


def outcomes_of(gathered: GatheredLines, question: PredictionQuestion, source: Provenance) -> OutcomeReading:
    """Gather the lines by combination."""
    lines = gathered.lines
    side = lines["side"].to_numpy()
    rows = floats(lines["rows"])
    refuse_no_rows(rows.astype(np.int64), gathered.source, question.query)
    _check_answers(lines, side == "test", rows, question)
    whole, left_out = _whole_combinations(lines, gathered, question, side, rows)
    table = lines.filter(pa.array(whole))
    space, codes = encoded(table, gathered.keys, question.query)
    kept = _EngineLines(table, codes, space, side[whole], rows[whole], gathered.scoring, question)
    about = gathered.trained_about
    centres = {"target": about.get(TAUGHT, about.get("target", 0.0))}
    trained = kept.where(kept.side == "train", scoring=replace(kept.scoring, centres=centres))
    tested = kept.where((kept.side == "test") & (kept.state == states.SCORED))
    if (side == "train").any() and not len(trained.codes):  # else all would look as if nothing was known of training
        raise TableError(
            f"no training row of '{gathered.source}' holds a whole combination",
            why="each of them misses a factor, so that nothing can be told seen or unseen",
            instead="repair these rows, or treat missing as a value: missing='value' (--missing value)",
        )
    if not len(tested.codes):
        reasons = [f"{reason} in {rows_lost:,} rows" for reason, rows_lost in left_out.items()]
        raise TableError(
            f"no row of '{gathered.source}' can be scored",
            why="; ".join(reasons) or "there are no rows on the test side",
            instead="check the names of the columns, and on which side the rows stand",
        )
    outcomes = Outcomes(
        tested=tested.support(source),
        training=trained.support(source) if len(trained.codes) else None,
        kind=gathered.scoring.kind,
        classes=kept.matched.classes,
        **tested.answers(),
        score=replace(
            gathered.scoring.score,
            binary=NOT_BINARY in table.column_names and not tested.column(NOT_BINARY).any(),
        ),
        left_out=left_out,
    )
    paired = tested.paired() if question.other is not None else None
    return OutcomeReading(outcomes, paired, _notes(trained, tested, gathered, question))


@dataclass(frozen=True, eq=False)
class _EngineLines:
    """Some of the engine's lines, with their combinations and classes in numbers."""

    table: pa.Table
    codes: Codes
    space: Space
    side: Any
    rows: Numbers
    scoring: Scoring
    question: PredictionQuestion

    @property
    def kind(self) -> Kind:
        """What the answers are."""
        return self.scoring.kind

    @cached_property
    def state(self) -> Ints:
        """Whether each line was scored, or why not."""
        return _states(self.table)

    def where(self, mask: Mask, **changes: Any) -> "_EngineLines":
        """Some of these lines, in which the classes keep their numbers."""
        chosen = np.flatnonzero(mask)
        found = replace(
            self,
            table=self.table.filter(pa.array(mask)),
            codes=np.asfortranarray(self.codes[chosen]),
            side=self.side[chosen],
            rows=self.rows[chosen],
            **changes,
        )
        places = tuple(places[chosen] for places in self.matched.places)
        found.__dict__["matched"] = MatchedClasses(self.matched.classes, places)  # where cached_property keeps it
        return found

    @cached_property
    def groups(self) -> Groups:
        """The combinations of these lines, each once, in the order of the values."""
        return group(self.codes, sizes=self.space.sizes, factors=tuple(range(self.codes.shape[1])))

    def column(self, name: str) -> Numbers:
        """A column of sums, 0 where a table was not asked."""
        if name not in self.table.column_names:
            return np.zeros(len(self.table))
        return np.nan_to_num(floats(self.table[name]), nan=0.0, posinf=np.inf, neginf=-np.inf)

    def support(self, source: Provenance) -> Support:
        """The combinations of these lines."""
        groups = self.groups
        return Support(
            self.space,
            np.asfortranarray(self.codes[groups.representatives]),
            groups.total(self.rows),
            target=self._target(),
            rows=int(self.rows.sum()),
            source=source,
        )

    def answers(self) -> dict[str, Any]:
        """The sums of the scores by combination, and for labels the lines of (combination, truth, said)."""
        nothing = np.zeros(0, dtype=np.int64)
        found: dict[str, Any] = {"combination": nothing, "truth": nothing, "said": nothing, "count": np.zeros(0)}
        groups = self.groups
        if self.kind == "label":
            combination, places, rows = self._distinct(self.matched.places[:2])
            found = {"combination": combination, "truth": places[0], "said": places[1], "count": rows}
        shift = self.scoring.centres.get("score", 0.0)
        if "total" in self.table.column_names:
            total, squares = groups.total(self.column("total")), groups.total(self.column("squares"))
        else:
            right = found["count"] * (found["truth"] == found["said"])
            total = squares = totals(found["combination"], right, groups.size)
        _check_range(
            groups.total(self.rows),
            total,
            squares,
            f"the scores of {self.question.prediction or self.question.own_score!r} are",
        )
        total = total + shift * groups.total(self.rows)  # 0 for labels, whose answers are right or wrong
        found |= {"total": total, "squares": squares, "shift": shift, "prediction_total": None}
        if self.kind == "number":
            away = self.scoring.centres["target"] * groups.total(self.rows)
            found["prediction_total"] = groups.total(self.column("prediction_total")) + away
        elif "prediction_squares" in self.table.column_names:
            later, rows = groups.total(self.column("prediction_total")), groups.total(self.rows)
            if text(self.matched.classes[-1]) != self.scoring.classes[1]:  # whichever column was named first
                later = rows - later
            found |= {"prediction_total": later, "prediction_squares": groups.total(self.column("prediction_squares"))}
        return found

    def paired(self) -> PairedOutcomes:
        """Both models' sums over the rows that both answered."""
        groups = self.groups
        if "both_rows" in self.table.column_names:
            return PairedOutcomes(
                *(groups.total(self.column(name)) for name in ("both_rows", "own_both", "other_both"))
            )
        truth, said, other = self.matched.places
        both = self.rows * (other != MISSING)
        return PairedOutcomes(
            groups.total(both), groups.total(both * (truth == said)), groups.total(both * (truth == other))
        )

    @cached_property
    def matched(self) -> MatchedClasses:
        """The classes of truth and answers, numbered alike."""
        if self.kind != "label" or "truth" not in self.table.column_names:
            return MatchedClasses((), ())
        names = [name for name in ("truth", "said", "other") if name in self.table.column_names]
        called = {"truth": self.question.target, "said": self.question.prediction, "other": self.question.other}
        return match_classes([self._labels(name) for name in names], [str(called[name]) for name in names])

    def _labels(self, name: str) -> pa.ChunkedArray:
        """A column of labels; of probabilities the engine told only the likeliest class's place."""
        column = self.table[name]
        if name == "truth" or not self.scoring.classes:
            return column
        return pa.chunked_array([pa.array(self.scoring.classes).take(column.combine_chunks().cast(pa.int64()))])

    def _target(self) -> Target | None:
        name = str(self.question.target)
        if self.kind == "label":
            combination, places, rows = self._distinct(self.matched.places[:1])
            known = places[0] != MISSING
            if not known.any():
                return None
            return LabelTarget(name, self.matched.classes, combination[known], places[0][known], rows[known])
        if self.kind == "number":
            count, total, squares = (
                self.groups.total(self.column(f"target_{part}")) for part in ("count", "total", "squares")
            )
            _check_range(count, total, squares, f"the target {name!r} holds numbers that are")
            shift = self.scoring.centres["target"]
            return NumberTarget(name, count, total, squares, shift) if count.any() else None
        return None

    def _distinct(self, places: tuple[Ints, ...]) -> tuple[Ints, list[Ints], Numbers]:
        """Lines that agree in combination and in these classes, put together."""
        classes = len(self.matched.classes) + 1  # one more for a missing label
        key = self.groups.ids
        for place in places:
            key = key * classes + (place + 1)
        keys, ids = number(key, self.groups.size * classes ** len(places))
        found = []
        for _ in places:
            found.append(keys % classes - 1)
            keys = keys // classes
        return keys, found[::-1], totals(ids, self.rows, len(keys))


def _whole_combinations(
    lines: pa.Table, gathered: GatheredLines, question: PredictionQuestion, side: Any, rows: Numbers
) -> tuple[Mask, dict[str, int]]:
    """Which lines hold a whole combination, and how many tested rows cannot be scored, by reason."""
    kept, _ = without_missing(lines, gathered.keys, rows.astype(np.int64), question.query)
    whole = np.ones(len(lines), dtype=bool)
    if len(kept) < len(lines):
        for place in range(len(gathered.keys)):
            whole &= lines[f"f{place}"].is_valid().to_numpy()
    test = side == "test"
    state = _states(lines)
    reasons = {
        "a factor is missing": test & ~whole,
        "the true answer is missing": test & whole & (state == states.NO_TRUTH),
        "the prediction is missing": test & whole & (state == states.NO_ANSWER),
        "on the validation side": side == "validation",
        "on no side of the split": lines["side"].is_null().to_numpy(),
    }
    left_out = {reason: int(rows[mask].sum()) for reason, mask in reasons.items()}
    return whole, {reason: found for reason, found in left_out.items() if found}


_FAULTS = {
    states.INFINITE: ("is infinite", "its score would be infinite too"),
    states.INFINITE_TRUTH: ("is infinite", "every answer would be infinitely wrong"),
    states.OUTSIDE: ("is below 0 or above 1", "it is not a probability"),
    states.NOT_ONE: ("do not sum to one", "they are not the probabilities of classes of which one is true"),
}


def _check_answers(lines: pa.Table, test: Mask, rows: Numbers, question: PredictionQuestion) -> None:
    """Answers that are wrong in themselves are not left out: the table is not what it was said to be."""
    state = _states(lines)
    for fault, (what, why) in _FAULTS.items():
        found = int(rows[test & (state == fault)].sum())
        if found:
            raise ColumnError(
                f"{_subject(fault, question)} {what} in {found:,} rows",
                why=why,
                instead="repair the column, or leave such rows out with `where`",
            )
    stray = test & (state == states.NO_COLUMN)
    if stray.any():
        first = lines["truth"].to_pylist()[int(np.flatnonzero(stray)[0])]
        raise ColumnError(
            f"the target {question.target!r} is {text(first)!r} in {int(rows[stray].sum()):,} rows",
            why="no probability was given for that class",
            instead=f"name its column too: --prediction {text(first)}=COLUMN,…",
        )
    if "other_bad" in lines.column_names and floats(lines["other_bad"]).any():
        raise ColumnError(
            f"the other prediction is infinite or no probability in {int(floats(lines['other_bad']).sum()):,} rows",
            why="it cannot be scored",
            instead="repair the column, or leave such rows out with `where`",
        )


def _subject(fault: int, question: PredictionQuestion) -> str:
    if fault == states.INFINITE_TRUTH:
        return f"the target {question.target!r}"
    if fault == states.NOT_ONE and isinstance(question.prediction, Mapping):
        return f"the probabilities {listing(list(question.prediction.values()))}"
    if question.own_score is not None:
        return f"the score {question.own_score!r}"
    named = question.prediction
    return f"the prediction {named!r}" if isinstance(named, str) else f"one of {listing(list((named or {}).values()))}"


def _check_range(count: Numbers, total: Numbers, squares: Numbers, subject: str) -> None:
    fault = out_of_range(count, total, squares)
    if fault is not None:
        raise ColumnError(
            f"{subject} {fault}",
            why="their mean and spread cannot be computed",
            instead="write target and prediction in another unit, or leave such rows out with `where`",
        )


def _notes(
    trained: _EngineLines, tested: _EngineLines, gathered: GatheredLines, question: PredictionQuestion
) -> tuple[str, ...]:
    """What must be told about the rows and the classes."""
    found = [
        f"{rows - matched_rows:,} of {rows:,} rows of the {role} table have an id that the data do not have."
        for role, (rows, matched_rows) in gathered.counted.items()
        if rows != matched_rows
    ]
    if gathered.scoring.guessed:
        found.append(
            f"{question.target!r} holds few whole numbers and {question.prediction!r} fractions: they are compared as "
            "numbers. For labels write --score accuracy, for probabilities --score logloss."
        )
    if gathered.scoring.positive is not None:
        found.append(f"{question.prediction!r} is taken as the probability of {gathered.scoring.positive!r}.")
    return tuple(found + _class_notes(trained, tested, question) if tested.kind == "label" else found)


def _class_notes(trained: _EngineLines, tested: _EngineLines, question: PredictionQuestion) -> list[str]:
    classes = tested.matched.classes
    truth, said = (set(np.unique(places).tolist()) - {MISSING} for places in tested.matched.places[:2])
    taught = set(np.unique(trained.matched.places[0]).tolist()) - {MISSING}
    if not said & (truth | taught):
        raise ColumnError(
            f"no label of {question.prediction!r} is a class of {question.target!r}: "
            f"it holds {_list_classes(classes, said)}, the target {_list_classes(classes, truth)}",
            why="not one answer could be right",
            instead="write both the same way, or name the column with the model's own answer",
        )
    never = truth - taught if taught else set()
    if not never:
        return []
    rows = float(tested.rows[np.isin(tested.matched.places[0], sorted(never))].sum())
    return [
        f"{_list_classes(classes, never)} never occurs as {question.target} in training: "
        f"its {counted(rows)} tested rows cannot have been learnt."
    ]


def _list_classes(classes: tuple[Value, ...], places: set[int], most: int = 5) -> str:
    shown = [repr(text(classes[place])) for place in sorted(places)]
    return listing(shown) if len(shown) <= most else f"{', '.join(shown[:most])} … ({len(shown):,} in all)"


def _states(lines: pa.Table) -> Ints:
    """Of each line whether it was scored, or why not; lines of a training table say nothing of it."""
    if "state" not in lines.column_names:
        return np.zeros(len(lines), dtype=np.int64)
    return np.asarray(np.nan_to_num(lines["state"].to_numpy().astype(np.float64)), dtype=np.int64)
