"""What a model answered, gathered by combination: the value that the whole room computes from.

However many rows were predicted, an evaluation needs of each tested combination only how many rows it has, the sum of
their scores and of the scores' squares, and for labels how often each answer was given for each truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.decoding import revive
from recombine.base.errors import TableError
from recombine.base.records import Record
from recombine.data import support
from recombine.data.missing_conjunctions import missing_block
from recombine.data.space import Value
from recombine.data.support import LabelTarget, Support
from recombine.numerics.additive_design import AdditiveFit
from recombine.numerics.groups import Codes, Ints, Numbers, totals
from recombine.verbs.audit.combination_status import rungs
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.set_coverage import element_rungs

Kind = Literal["label", "number", "score"]
Mask = npt.NDArray[np.bool_]
_ROUNDING = 1e-12  # of the sum of squares: less of it within combinations is rounding, and no luck
_OWN_ROUNDING = 1e-10
"""A score far from 0 is no surer than this share of it: below lies what its own arithmetic left."""

_MOST_PARTS = 5 * 10**7
"""Combinations times elements that are written out as yes and no: 200 MB."""

RUNGS = ("seen", "determined", "undetermined", "novel")
UNKNOWN = "unknown"
"""The rung of every combination where nothing is known of the training."""


@dataclass(frozen=True)
class Score:
    """How a row is scored, and which way is better.

    `name` is accuracy, mse, r2, logloss, or the column that holds the scores; it is `binary` where each is 0 or 1.
    """

    name: str
    better: Literal["higher", "lower"]
    binary: bool = False

    @property
    def is_share(self) -> bool:
        """Whether a score is a share of rows, which is told in percent and points."""
        return self.name == "accuracy" or self.binary

    @property
    def rows_better(self) -> Literal["higher", "lower"]:
        """Which way a row's own score is better: R² is better higher, the squared errors that it is made of lower."""
        return "lower" if self.name == "r2" else self.better

    @property
    def never_negative(self) -> bool:
        """Whether the row scores are losses that cannot fall below nothing."""
        return self.name in ("mse", "logloss")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What was predicted, gathered by combination.

    `tested` holds the scored rows (counts = rows; target = the truth's statistics), `training` what the model was
    trained on, in the same space. Classes are numbered alike everywhere: in `truth`, in `said`, and in the targets of
    `tested` and `training`. For labels there is a line for each (combination, true class, predicted class); the
    arrays are empty otherwise. `total` and `squares` are the sums over each tested combination's rows of the row
    score and of the square of score - `shift`; a row's score is 0 or 1 for accuracy, the squared error for mse and r2,
    the log loss, or the given column.

    >>> from recombine.data.space import Space
    >>> space = Space.of({"bird": ["land", "water"], "background": ["land", "water"]})
    >>> codes = np.asfortranarray([[0, 0], [1, 1]], dtype=np.int32)
    >>> found = Outcomes(
    ...     tested=Support(space, codes, np.array([2.0, 2.0])),
    ...     training=None, kind="score", classes=(), score=Score("accuracy", "higher"),
    ...     combination=np.zeros(0, int), truth=np.zeros(0, int), said=np.zeros(0, int), count=np.zeros(0),
    ...     total=np.array([2.0, 1.0]), squares=np.array([2.0, 1.0]), prediction_total=None)
    >>> found.mean.tolist(), found.rung.tolist()
    ([1.0, 0.5], ['unknown', 'unknown'])
    """

    tested: Support
    training: Support | None
    kind: Kind
    classes: tuple[Value, ...]
    combination: Ints
    truth: Ints
    said: Ints
    count: Numbers
    total: Numbers
    squares: Numbers
    prediction_total: Numbers | None
    score: Score
    left_out: Mapping[str, int] = field(default_factory=dict)
    shift: float = 0.0
    """What `squares` are taken about: scores that are large and hardly differ would lose their digits."""
    prediction_squares: Numbers | None = None
    """Probabilities of two classes: the sum of (p - y)², where `prediction_total` is that of p, the later class's."""

    def __len__(self) -> int:
        return len(self.tested)

    @property
    def rows(self) -> Numbers:
        """How many rows of each tested combination were scored."""
        return self.tested.counts

    @cached_property
    def mean(self) -> Numbers:
        """The mean row score of each tested combination (for r2 the mean squared error)."""
        return self.total / self.rows

    @cached_property
    def spread(self) -> Numbers:
        """The variance of the row scores within each tested combination; NaN where there is one row only."""
        with np.errstate(invalid="ignore", divide="ignore"):
            away = self.total - self.shift * self.rows
            apart = np.maximum(self.squares - away**2 / self.rows, 0.0) / (self.rows - 1)
        return np.where(self.rows > 1, apart, np.nan)

    def have_luck(self, chosen: Mask | slice = slice(None)) -> bool:
        """Whether rows of one combination score differently at all: if not, nothing tells luck from difference.

        So it is with one row each, and with rows that a deterministic model was asked twice.
        """
        within = float((np.nan_to_num(self.spread) * (self.rows - 1))[chosen].sum())
        rows, squares = float(self.rows[chosen].sum()), float(self.squares[chosen].sum())
        return within > _ROUNDING * squares + rows * (_OWN_ROUNDING * self.shift) ** 2

    @cached_property
    def wrong(self) -> Numbers:
        """Labels: how many rows of each tested combination were answered wrong."""
        return totals(self.combination, self.count * (self.truth != self.said), len(self))

    @cached_property
    def determinacy(self) -> Determinacy | None:
        """What the training fixes under an additive rule; None where it cannot be told."""
        if self.training is None:
            return None
        try:
            return determinacy(self.training)
        except TableError:  # too loose to be solved exactly: seen and novel can still be told
            return None

    @cached_property
    def rung(self) -> npt.NDArray[np.str_]:
        """How far each tested combination is from training: seen, determined, undetermined, novel; or unknown."""
        if self.training is None:
            return np.full(len(self), UNKNOWN)
        if self.determinacy is not None:
            return rungs(self.training, self.determinacy, self.tested.codes)
        return np.select([self.seen, self.novel], ["seen", "novel"], default="undetermined")

    @cached_property
    def seen(self) -> Mask:
        """Which tested combinations were in training."""
        if self.training is None:
            return np.zeros(len(self), dtype=bool)
        codes = self.tested.codes
        return np.asarray(self.training.groups(range(codes.shape[1])).lookup(codes) >= 0)

    @cached_property
    def novel(self) -> Mask:
        """Which tested combinations hold a value that was never in training."""
        found = np.zeros(len(self), dtype=bool)
        if self.training is None:
            return found
        kinds = (factor.kind for factor in self.tested.space.factors)
        for kind, column, counts in zip(kinds, self.tested.codes.T, self.training.effect_counts, strict=True):
            never = counts == 0
            found |= never[column] if kind.exclusive else kind.rows(column).sums(never.astype(np.int64)) > 0
        return found

    @cached_property
    def elements(self) -> npt.NDArray[np.str_] | None:
        """Of sets by what their elements were trained on in: alone, with others only, never; None without any set."""
        if self.training is None or not self.tested.space.set_factors:
            return None
        return np.array(element_rungs(self.training, self.tested.codes))

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """How many values each column of `part_codes` has."""
        kinds = [factor.kind for factor in self.tested.space.factors]
        return tuple(size for kind in kinds for size in ((kind.effects,) if kind.exclusive else (2,) * kind.effects))

    @cached_property
    def part_codes(self) -> Codes:
        """(c, parts) The tested combinations with a yes or no for each element in place of a set.

        Adding up one number for each value of these columns is adding up one for each value and element: a fit that
        knows ordinary factors alone knows sets by them.
        """
        codes, factors = self.tested.codes, self.tested.space.factors
        if not self.tested.space.set_factors:
            return codes
        found, start = np.zeros((len(self), len(self.part_sizes)), dtype=np.int32, order="F"), 0
        for factor, column in zip(factors, codes.T, strict=True):
            if factor.sets is None:
                found[:, start] = column
                start += 1
            else:
                held = factor.sets.rows(column)
                found[held.owners, start + held.columns] = 1
                start += held.width
        return found

    @property
    def too_many_parts(self) -> bool:
        """Whether a fit of one number for each value and element would be too large."""
        sizes = self.part_sizes
        wide = bool(self.tested.space.set_factors) and len(self) * len(sizes) > _MOST_PARTS
        return wide or AdditiveFit.too_large(sizes)

    @cached_property
    def unseen(self) -> Mask:
        """Which tested combinations were not in training though each of their values was."""
        if self.training is None:
            return np.zeros(len(self), dtype=bool)
        return ~self.seen & ~self.novel

    @cached_property
    def pieces(self) -> Ints:
        """Which tested combinations are one piece of evidence.

        Where unseen ones miss a whole pair of values, or a larger conjunction, what was held out are blocks, and all
        of a block share its luck: those that share the conjunction are one piece, seen or not. Elsewhere each
        combination is one.
        """
        factors = None if self.training is None else missing_block(self.training, self.tested.codes[self.unseen])
        return np.arange(len(self)) if factors is None else self.tested.groups(factors).ids

    def with_scores(self, total: Numbers, squares: Numbers, shift: float = 0.0) -> "Outcomes":
        """The same rows with other scores; what hangs on the rows alone is not looked up again.

        Who said what is not told by scores, so that there are no lines of answers.
        """
        nothing = np.zeros(0, dtype=np.int64)
        lines: dict[str, Any] = {"combination": nothing, "truth": nothing, "said": nothing, "count": np.zeros(0)}
        lines |= dict.fromkeys(("prediction_total", "prediction_squares"))
        found = replace(self, total=total, squares=squares, shift=shift, **lines)
        kept = {name: getattr(self, name) for name in ("seen", "unseen", "novel", "pieces", "elements")}
        found.__dict__.update(kept)  # where cached_property keeps them
        return found

    def labels(self, place: int) -> dict[str, str]:
        """One tested combination as people read it."""
        return self.tested.space.label_row(self.tested.codes[place])


def describe_outcomes(outcomes: Outcomes) -> dict[str, Any]:
    """The small facts about what was tested and trained on, as JSON holds them."""
    return {
        **support.describe(outcomes.tested),
        "answers": outcomes.kind,
        "score": {"name": outcomes.score.name, "better": outcomes.score.better, "share": outcomes.score.is_share},
        "scores_about": outcomes.shift,
        "not_scored": dict(outcomes.left_out),
        "factors": [
            {"name": f.name, "values": len(counts), "tested": int((counts > 0).sum()), "declared": f.declared}
            for f, counts in zip(outcomes.tested.space.factors, outcomes.tested.effect_counts, strict=True)
        ],
        "training": None if outcomes.training is None else _describe_training(outcomes.training),
    }


def outcome_tables(outcomes: Outcomes) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = support.tables(outcomes.tested)
    sums = {"total": outcomes.total, "squares": outcomes.squares}
    for name in ("prediction_total", "prediction_squares"):
        if getattr(outcomes, name) is not None:
            sums[name] = getattr(outcomes, name)
    found["sums"] = pa.table(sums)
    found["answers"] = pa.table({name: getattr(outcomes, name) for name in ("combination", "truth", "said", "count")})
    if outcomes.training is not None:
        found |= {f"training_{name}": table for name, table in support.tables(outcomes.training).items()}
    return found


def load_outcomes(record: Record) -> Outcomes:
    """The outcomes that a record was made from."""
    tested = support.load_support(record)
    sums, answers = record.tables["sums"], record.tables["answers"]
    return Outcomes(
        tested=tested,
        training=_load_training(record),
        kind=revive(Kind, record.data["answers"], at="answers"),
        classes=tested.target.classes if isinstance(tested.target, LabelTarget) else (),
        combination=answers["combination"].to_numpy(),
        truth=answers["truth"].to_numpy(),
        said=answers["said"].to_numpy(),
        count=answers["count"].to_numpy().astype(np.float64),
        total=sums["total"].to_numpy(),
        squares=sums["squares"].to_numpy(),
        prediction_total=_optional(sums, "prediction_total"),
        score=_load_score(record.data["score"]),
        left_out=revive(Mapping[str, int], record.data["not_scored"], at="not_scored"),
        shift=revive(float, record.data["scores_about"], at="scores_about"),
        prediction_squares=_optional(sums, "prediction_squares"),
    )


def _optional(sums: pa.Table, name: str) -> Numbers | None:
    return sums[name].to_numpy() if name in sums.column_names else None


def _load_score(plain: Any) -> Score:
    kept = {name: plain[name] for name in ("name", "better")}
    score: Score = revive(Score, kept | {"binary": plain["share"] and plain["name"] != "accuracy"}, at="score")
    return score


def _describe_training(training: Support) -> dict[str, Any]:
    return {**support.describe(training), "combinations": len(training)}


def _load_training(record: Record) -> Support | None:
    described = record.data["training"]
    if described is None:
        return None
    mine = {name.removeprefix("training_"): table for name, table in record.tables.items() if "training_" in name}
    part = Record(record.kind, described | {"factors": record.data["factors"]}, mine, record.provenance)
    return support.load_support(part)
