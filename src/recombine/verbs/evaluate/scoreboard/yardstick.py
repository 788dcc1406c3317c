"""What is the same in every epoch, computed once; and what it makes of one epoch's answers.

Which rows are seen and unseen, how they are matched, and what simple rules get: none of it hangs on the answers. What
is left for an epoch are a few sums over rows. Every formula is the evaluation's own.

The rows that a model is evaluated on, read once: of each its combination, whether that was trained on, its truth.

They are read as `recombine.evaluate` reads them, with every answer right; so the scoreboard has the space, the classes
and the sides that an evaluation of the same rows has.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError
from recombine.base.records import Provenance
from recombine.base.words import free_name, listing
from recombine.data import columns
from recombine.data.engine import explained, sniffing_again
from recombine.data.row_codes import has_order, row_codes
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery, filtered
from recombine.numerics.groups import Ints, Numbers, totals
from recombine.numerics.resampling import IntervalSettings, mean
from recombine.numerics.simple_rules import ADDITIVE, CONSTANTS, MAJORITY, by_rows
from recombine.verbs.evaluate.baselines import Rules, simple_rules, why_unmeasured
from recombine.verbs.evaluate.matched_gap import THIN, Matching, holds_class, matching, pick_worst
from recombine.verbs.evaluate.outcome_reader import outcomes_of
from recombine.verbs.evaluate.outcomes import Mask, Outcomes, Score
from recombine.verbs.evaluate.prediction_query import check_ids, gather
from recombine.verbs.evaluate.scores import score_of, shrunk, worst_first
from recombine.verbs.evaluate.scoring import SCORES, PredictionQuestion

_SCORES = ("accuracy", "mse", "r2")


@dataclass(frozen=True, eq=False)
class EvalRows:
    """The rows of an evaluation. Legend: n rows.

    `perfect` is what the outcomes would be if every answer were right. A row that cannot be scored, because a factor or
    the truth is missing, has the combination -1.
    """

    table: pa.Table  # factors and target, as they were read
    ids: pa.Array | None  # (n,)
    combination: Ints  # (n,)
    truth: Numbers  # (n,) the number, or the place of the class among perfect.classes
    perfect: Outcomes
    source: str

    def __len__(self) -> int:
        return len(self.combination)


def eval_rows(source: Any, question: TableQuery, *, train: Any, score: str | None, id: str | None) -> EvalRows:  # noqa: A002
    """Read the rows of an evaluation, and what was trained on."""
    if score not in (None, *_SCORES):
        raise SettingError(
            f"score={score!r}",
            why="a scoreboard scores labels by accuracy, and numbers by mse or r2",
            instead=f"write one of {', '.join(_SCORES)}; recombine.evaluate knows more",
        )
    if id is None and not has_order(source):
        raise SettingError(
            "a table of a database without an id",
            why="its rows have no order, so nobody knows which answer belongs to which row",
            instead="name the column that tells rows apart: id='…', and give update(…, ids=…)",
        )
    target = str(question.target)
    names = list(dict.fromkeys([*question.columns, target, *([id] if id else [])]))
    rows, name = _in_order(source, question, names)
    if id is not None:
        check_ids(rows[id], id, "evaluated")
    infinite = int(pc.sum(pc.is_inf(rows[target])).as_py() or 0) if pa.types.is_floating(rows[target].type) else 0
    if infinite:
        raise ColumnError(
            f"the target {target!r} is infinite in {infinite:,} rows",
            why="every answer would be infinitely wrong",
            instead="repair the column, or leave such rows out with `where`",
        )
    read = replace(question, where=None, table=None)  # which the rows have behind them
    answers = answer_column(rows)
    all_right = PredictionQuestion(query=read, prediction=answers, score=score)
    gathered = gather(rows.append_column(answers, rows[target]), all_right, train=train)
    perfect = outcomes_of(gathered, all_right, Provenance(source=name, settings=read.settings())).outcomes
    found = row_codes(rows, perfect.tested, bins=question.bins, domain=question.domain, sets=question.sets)
    assert found.answers is not None  # noqa: S101 - a table without any truth was refused
    scored = (found.combination >= 0) & np.isfinite(found.answers)
    return EvalRows(
        rows,
        None if id is None else rows[id].combine_chunks(),
        np.where(scored, found.combination, -1),
        np.where(scored, found.answers, np.nan),
        perfect,
        name,
    )


def _in_order(source: Any, question: TableQuery, names: Sequence[str]) -> tuple[pa.Table, str]:
    wanted = None if question.where is not None else names

    def ask(sniff_all: bool) -> tuple[pa.Table, str]:
        with (
            opened(source, table=question.table, columns=wanted, sniff_all=sniff_all) as open_table,
            explained(open_table),
        ):
            if has_order(source):
                open_table.backend.con.execute("SET preserve_insertion_order = true")
            table = filtered(open_table.table, question.where, open_table.backend)
            columns.require(table, question.columns, role="a factor")
            columns.require(table, names, role="the target or the id")
            return open_table.backend.to_pyarrow(table.select(*names)), open_table.name

    return sniffing_again(ask)


def answer_column(rows: pa.Table) -> str:
    """A name for the column of answers that no other column has."""
    return free_name("prediction", rows.column_names)


_SIDES = ("seen", "unseen", "novel")
_OF_BOTH = ("gap", "matched_gap", "matched_share")
_UNDEFINED = "these rows do not determine it: too few can be matched, or their true answers never differ"
_INTERVALS = IntervalSettings()
_FAR = 100.0  # spreads that a mean may lie from 0 before squares about 0 lose digits that matter


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The rows that are scored, what they are measured with, and what simple rules get on them. Legend: n rows."""

    scored: Ints  # (n,) places of the rows that can be scored
    combination: Ints  # (n,) of these
    truth: Numbers  # (n,)
    perfect: Outcomes
    sides: dict[str, Mask]
    way: Matching | None
    cell: Ints  # (n,) what is matched: a combination, or the rows of one class within one
    rules: Rules
    best: str | None
    constant: dict[str, float]
    left_out: int  # rows that cannot be scored

    @classmethod
    def of(cls, rows: EvalRows) -> "Yardstick":
        """Everything that hangs on the rows alone."""
        perfect = rows.perfect
        scored = np.flatnonzero(rows.combination >= 0)
        combination, truth = rows.combination[scored], rows.truth[scored]
        sides = {"": np.ones(len(perfect), dtype=bool), "seen": perfect.seen, "unseen": perfect.unseen}
        sides["novel"] = perfect.novel
        both = perfect.seen.any() and perfect.unseen.any() and perfect.score.name != "r2"
        way = matching(perfect) if both else None
        rules = simple_rules(perfect)
        # A rule that looks at a factor which decides the target is always right, and so none does; with one label less
        # that agrees, all do. A lift that falls by half of the scale for one row says nothing about the model.
        best = None if rules.telling else rules.best(perfect.unseen)
        constant = _rule_scores(perfect, rules, best)
        cell = _cells(way, perfect, combination, truth)
        return cls(
            scored, combination, truth, perfect, sides, way, cell, rules, best, constant, len(rows) - len(scored)
        )

    def measure(self, said: Numbers) -> dict[str, float]:
        """The scores of one epoch's answers, one for each row of the table: NaN for what could not be tested."""
        row_score = self._row_scores(said[self.scored])
        now = self._score_epoch(row_score)
        found: dict[str, float] = {}
        for name in ("accuracy",) if now.score.is_share else ("mse", "r2"):
            one = replace_score(now, name)
            found |= {_key(side, name): _finite(score_of(one, mask).of_all) for side, mask in self.sides.items()}
        apart = found[_key("seen", now.score.name)] - found[_key("unseen", now.score.name)]
        found["gap"] = apart if now.score.better == "higher" else -apart
        found["matched_gap"] = found["matched_share"] = math.nan
        if self.way is not None:
            rows = self.way.cells.rows
            found["matched_gap"] = self.way.gap(now, totals(self.cell, row_score, len(rows)) / rows)
            found["matched_share"] = self.way.share
        found |= _worst_group(now)
        return found | self.constant | {"lift": self._lift(now), "left_out": float(self.left_out)}

    def reasons(self, found: Mapping[str, float]) -> dict[str, str]:
        """Why each score that is NaN is not known."""
        return {name: self._reason(name) for name, value in found.items() if math.isnan(value)}

    def _reason(self, name: str) -> str:
        of_rules = name == "lift" or name in self.constant
        about = ["unseen"] if of_rules else [side for side in _SIDES if name.startswith(f"{side}_")]
        both = ["seen", "unseen"] if name in _OF_BOTH else []
        empty = [side for side in about or both if not self.sides[side].any()]
        if empty:
            return f"no row is of a combination that is {' or '.join(empty)}"
        if of_rules and self.rules.telling:
            return _why_decided(self.rules.telling)
        if of_rules:
            return why_unmeasured(self.perfect, self.rules.own) or self.rules.missing or "there is no such rule here"
        return _UNDEFINED

    def nothing_shared(self) -> str | None:
        """That no row can be seen or unseen, because training has none of a factor's values; None where it has."""
        training, tested = self.perfect.training, self.perfect.tested
        assert training is not None  # noqa: S101 - a scoreboard is told what was trained on
        apart = []
        both = zip(tested.space.factors, tested.effect_counts, training.effect_counts, strict=True)
        for factor, here, counts in both:
            if here.any() and not counts[here > 0].any():
                labels = np.array(factor.effect_labels, dtype=object)
                mine, theirs = _alike(*(labels[np.flatnonzero(one)].tolist() for one in (here, counts)))
                apart.append(f"of {factor.name} ({mine!r} here, {theirs!r} in training)")
        if not apart:
            return None
        return (
            f"Training has no value {' and none '.join(apart)} that the evaluated rows have, so every row counts as "
            "novel: the scores of seen and unseen combinations, the gap and the lift are NaN. If these are the same "
            "values, write them alike in both tables."
        )

    def errors(self, said: Numbers) -> Numbers:
        """Of each row that is scored its squared error, or 1 for a wrong answer."""
        row_scores = self._row_scores(said[self.scored])
        return 1 - row_scores if self.perfect.score.is_share else row_scores

    def _row_scores(self, said: Numbers) -> Numbers:
        if self.perfect.score.is_share:
            return np.asarray(said == self.truth, dtype=np.float64)
        return np.square(said - self.truth)

    def _score_epoch(self, row_score: Numbers) -> Outcomes:
        total = totals(self.combination, row_score, len(self.perfect))
        if self.perfect.score.is_share:
            return self.perfect.with_scores(total, total)
        middle, spread = float(row_score.mean()), float(row_score.std())
        shift = middle if middle > _FAR * spread else 0.0
        return self.perfect.with_scores(
            total, totals(self.combination, np.square(row_score - shift), len(self.perfect)), shift
        )

    def _lift(self, now: Outcomes) -> float:
        """What is gained over the best simple rule on unseen combinations, in the unit of the rules."""
        own, chosen = self.rules.own, self.perfect.unseen
        if own is None or self.best is None:
            return math.nan
        gained = now.total if own.is_share else own.of - now.total
        return _finite(mean(own.of[chosen], (gained - self.rules.gained[self.best])[chosen]).of_all)


def _worst_group(now: Outcomes) -> dict[str, float]:
    """The worst group, or the worst combination after shrinkage; an interval that knows that it was picked, and of how
    many.
    """
    enough = now.rows >= THIN if holds_class(now) else np.ones(len(now), dtype=bool)
    value = low = high = math.nan
    if holds_class(now) and enough.any():
        place, (low, high) = pick_worst(now, enough, _INTERVALS)
        value = float(now.mean[place])
    elif not holds_class(now) and now.score.name != "r2":
        pulled = shrunk(now, _INTERVALS)
        place = int(worst_first(now, pulled.score)[0])
        value, low, high = (float(part[place]) for part in (pulled.score, pulled.low, pulled.high))
    name = f"worst_group_{now.score.name}"
    return {name: value, f"{name}_low": low, f"{name}_high": high, "worst_group_of": float(enough.sum())}


def _why_decided(factors: Sequence[str]) -> str:
    one = len(factors) == 1
    return (
        f"{listing(factors)} alone {'decides' if one else 'decide'} the target in every row: a rule that looks there "
        f"is always right, and one that does not is no match for a model that may; leave {'it' if one else 'them'} "
        "out of the factors to see the others"
    )


def _alike(tested: Sequence[str], trained: Sequence[str]) -> tuple[str, str]:
    """A value of each side, if there is one a pair that differs in case or spaces alone."""
    plain = {value.casefold().strip(): value for value in trained}
    return next(
        ((one, plain[key]) for one in tested if (key := one.casefold().strip()) in plain), (tested[0], trained[0])
    )


def _cells(way: Matching | None, perfect: Outcomes, combination: Ints, truth: Numbers) -> Ints:
    """Which cell each row belongs to: its combination, or with classes its combination and true class."""
    if way is None or way.cells.label is None or len(way.cells.rows) == len(perfect):
        return combination
    classes = len(perfect.classes)
    keys = way.cells.combination * classes + way.cells.label
    return np.searchsorted(keys, combination * classes + truth.astype(np.int64))


def _rule_scores(perfect: Outcomes, rules: Rules, best: str | None) -> dict[str, float]:
    """What simple rules get on the unseen combinations, in the score's own unit; NaN for one that there is not."""
    constant = next((rule for rule in CONSTANTS if rule in rules.gained), None)
    additive = None if rules.telling else by_rows(ADDITIVE)
    named = {constant or MAJORITY: constant, ADDITIVE: additive, "best_rule": best}
    found = {}
    for name, rule in named.items():
        key = _key(f"unseen_{name}", perfect.score.name)
        found[key] = math.nan
        if rule is not None and rule in rules.gained and rules.own is not None:
            gained = rules.gained[rule]
            total = gained if rules.own.is_share else rules.own.of - gained  # right answers, or squared errors
            found[key] = _finite(score_of(perfect.with_scores(total, total), perfect.unseen).of_all)
    return found


def replace_score(outcomes: Outcomes, name: str) -> Outcomes:
    """The same rows, told by another score of the same sums: squared errors as mse or r2."""
    return outcomes if outcomes.score.name == name else replace(outcomes, score=Score(name, SCORES[name]))


def _key(side: str, score: str) -> str:
    return f"{side}_{score}" if side else score


def _finite(number: float) -> float:
    """A number, or NaN where it is infinite: a score that has no value is not known."""
    return number if math.isfinite(number) else math.nan
