"""Hold out seen combinations as the unseen ones are, teach a learner without them, score it; then say what follows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import pyarrow as pa

from recombine.base.checks import check_number, check_seed, check_whole
from recombine.base.decoding import revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import FEWEST_TESTED, Expected, Grade, earned
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.seeds import derived
from recombine.base.words import free_name, plain_setting
from recombine.data.locations import names_a_table
from recombine.data.read import read, support_of
from recombine.data.support import Support
from recombine.data.table_query import ReadOptions, TableOptions, TargetKind, reading_of
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.predictive_intervals import Score
from recombine.numerics.resampling import IntervalSettings
from recombine.numerics.simple_rules import ADDITIVE, NEAREST
from recombine.verbs.audit.unseen_combinations import unseen_combinations
from recombine.verbs.predict import simple_rules, track_record
from recombine.verbs.predict.answers import Answers, Truth, read_truth, truth_of
from recombine.verbs.rehearse import verdict as wording
from recombine.verbs.rehearse.difficulty import Difficulty, difficulty
from recombine.verbs.rehearse.forecast import RehearsalForecast, Trial, forecast
from recombine.verbs.rehearse.holdouts import HoldoutRound, Seen, choose_rounds
from recombine.verbs.rehearse.learners import AllAtOnce, Learner, Level, Part, decided, learner_of
from recombine.verbs.rehearse.round_examples import RehearsalExamples, examples_of

ROUNDS = 5
_LISTED, _DRAWN = 20_000, 2_000
"""Combinations of seen values up to which all unseen ones are looked at, and how many stand for more."""


@dataclass(frozen=True)
class Held:
    """One round: how many combinations were held out, in which way, and how the learner did on them."""

    way: str
    held_out: int
    score: float | None


@dataclass(frozen=True)
class DifficultyGap:
    """One number of the difficulty, of the held-out combinations as they count, and of the unseen ones."""

    name: str
    held_out: float
    unseen: float
    units: float


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal(Result):
    """What a learner does on seen combinations that it was not shown, and what follows for the unseen ones.

    >>> import recombine
    >>> grid = [(a, b) for a in range(9) for b in range(9) if (a + 2 * b) % 5]
    >>> table = {"a": [a for a, b in grid], "b": [b for a, b in grid], "y": [a + 2.0 * b for a, b in grid]}
    >>> found = recombine.rehearse(table, "additive", factors=["a", "b"], target="y")
    >>> found.expected.basis, round(found.expected.value, 2), found.grade
    ('rehearsal', 1.0, 'sound')
    """

    kind: ClassVar[str] = "rehearsal"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    expected: Expected
    naive: Expected | None
    learner: str
    level: Level
    stands_for_a_network: bool
    target: str
    score: str
    rounds: tuple[Held, ...]
    gaps: tuple[DifficultyGap, ...]
    overlap: float | None
    effective: float | None
    moved: float | None
    widened: float | None
    simple: Mapping[str, float | None]
    combinations: int
    unseen: int
    sampled: bool
    rows: int
    factors: tuple[str, ...]
    table: pa.Table
    provenance: Provenance

    def share(self, name: str) -> float:
        """A share that a CI gate can be held against: `expected`, the low end of the score to expect, or `lift`, that
        of its lead over the best simple rule. NaN where nothing is forecast.
        """
        if name not in ("expected", "lift"):
            raise SettingError(
                f"no share {name!r}", why="a rehearsal does not measure it", instead="write expected or lift"
            )
        if self.expected.abstains or self.expected.lift is None:
            return float("nan")
        low = self.expected.low if name == "expected" else self.expected.lift[0]
        return float("nan") if low is None else low

    def record(self) -> Record:
        """The rehearsal as plain data, which can be saved, drawn and loaded."""
        data = {name: getattr(self, name) for name in _PLAIN}
        for name in ("expected", "naive"):
            data[name] = None if data[name] is None else asdict(data[name])
        for name in ("rounds", "gaps"):
            data[name] = [asdict(one) for one in data[name]]
        data |= {"reasons": list(self.reasons), "factors": list(self.factors), "simple": dict(self.simple)}
        return Record("rehearsal", data, {"trials": self.table}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Rehearsal":
        """Back from plain data."""
        return cls(**revive_all(cls, _PLAIN, record.data), table=record.tables["trials"], provenance=record.provenance)


_PLAIN = (
    "verdict",
    "grade",
    "reasons",
    "expected",
    "naive",
    "learner",
    "level",
    "stands_for_a_network",
    "target",
    "score",
    "rounds",
    "gaps",
    "overlap",
    "effective",
    "moved",
    "widened",
    "simple",
    "combinations",
    "unseen",
    "sampled",
    "rows",
    "factors",
)


def rehearse(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any,
    learner: Any,
    *,
    factors: Sequence[str] | None = None,
    target: str | None = None,
    inputs: Any = None,
    truth: Any = None,
    rounds: int = ROUNDS,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Unpack[TableOptions],
) -> Rehearsal:
    """Say how well a learner will do on unseen combinations, by holding out seen ones as the unseen ones are.

    `source` is anything that `recombine.read` takes, with `factors`, `target` and the other settings of `read` beside
    it; a `Support` will do for a learner by name.

    `learner` is a name ("relu:2" or any salience of `predict`, "additive", "nearest"; "examples": a kernel machine on
    `inputs`), anything with fit(X, y) and predict(X) such as an estimator of scikit-learn, a command
    ("python train.py {train} {test} {out}"; `time_limit` in seconds for one run), or `recombine_lab.learner(…)`.
    It is taught anew in each of the `rounds`. `inputs` are names of columns, or an array in the order of the table's
    rows; without them an estimator is shown the factors, one-hot. `truth`, a table with right answers of unseen
    combinations, makes the match better, and says which unseen combinations are meant.
    """
    check_whole("rounds", rounds, least=1, most=100)
    check_seed(seed)
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    taught = learner_of(learner, inputs=inputs, time_limit=time_limit)
    tell = progress or silent
    reading = reading_of(factors, target, options)
    support = support_of(source, "rehearse", progress=lambda share: tell("counting combinations", share), **reading)
    examples = examples_of(support, source, reading, rows=taught.level == "rows", inputs=inputs)
    known = _truth(truth, source, support, examples, reading)
    unseen = _UnseenTargets.of(examples, known, seed)
    stage = _Stage(examples, unseen, taught, rounds, seed, tell)
    return _told(stage, support)


def _truth(
    given: Any, source: Any, support: Support, examples: RehearsalExamples, reading: ReadOptions
) -> Truth | None:
    """Right answers of unseen combinations: from another table, or from a column of this one."""
    if given is None:
        return None
    if isinstance(given, str) and not names_a_table(given) and not isinstance(source, Support):
        kind: TargetKind = "number" if examples.classes is None else "label"
        given = read(source, **cast("ReadOptions", {**reading, "target": given, "target_kind": kind}))
    elif reading and not isinstance(given, Support):
        given = read_truth(given, support, **reading)
    return truth_of(given, examples.support, examples.own)


@dataclass(frozen=True, eq=False)
class _UnseenTargets:
    """The unseen combinations that are asked about, and their right answers where these are known."""

    codes: Codes
    truth: Numbers | None
    sampled: bool

    @classmethod
    def of(cls, examples: RehearsalExamples, truth: Truth | None, seed: int) -> "_UnseenTargets":
        support = examples.support
        if truth is not None and len(truth.codes):
            codes = np.asfortranarray(np.unique(truth.codes.astype(np.int32), axis=0))
            held = np.stack([support.value_counts[k][codes[:, k]] > 0 for k in range(codes.shape[1])], axis=1)
            new = support.groups(range(codes.shape[1])).lookup(codes) < 0
            codes = codes[new & held.all(axis=1)]
            if len(codes):
                drawn = _some(codes, seed)
                return cls(drawn, truth.on(drawn), len(drawn) < len(codes))
        values = [np.flatnonzero(count > 0) for count in support.value_counts]
        codes, sampled = unseen_combinations(support, values, listed=_LISTED, drawn=_DRAWN, seed=seed)
        drawn = _some(codes, seed)
        return cls(drawn, None, sampled or len(drawn) < len(codes))


def _some(codes: Codes, seed: int) -> Codes:
    if len(codes) <= _DRAWN:
        return codes
    chosen = np.random.default_rng(derived(seed, "unseen")).choice(len(codes), _DRAWN, replace=False)
    return np.asfortranarray(codes[np.sort(chosen)])


@dataclass(frozen=True, eq=False)
class _Stage:
    """All that a rehearsal needs, and what comes of it."""

    examples: RehearsalExamples
    unseen: _UnseenTargets
    learner: Learner
    rounds: int
    seed: int
    tell: Progress

    @cached_property
    def own(self) -> Answers:
        return self.examples.own

    @property
    def score(self) -> Score:
        return "R²" if self.own.kind == "number" else "accuracy"

    @cached_property
    def asked(self) -> Difficulty:
        """How hard the unseen combinations are."""
        return difficulty(self.examples.support, self.own, self.unseen.codes, self.unseen.truth)

    @cached_property
    def chosen(self) -> tuple[HoldoutRound, ...]:
        """What is held out."""
        seen = Seen(self.examples.support, self.own, self.unseen.truth is not None)
        return choose_rounds(
            seen,
            self.unseen.codes,
            self.asked,
            rounds=self.rounds,
            seed=self.seed,
            tell=lambda share: self.tell("choosing what to hold out", share),
        )

    @cached_property
    def impossible(self) -> str | None:
        """Why nothing can be rehearsed, if nothing can."""
        support = self.examples.support
        if support.target is not None and not support.target.varies:
            return "the target never varies"
        if not len(self.unseen.codes):
            return "every combination was seen"
        if len(support) < FEWEST_TESTED:
            return f"only {len(support)} combinations have an answer; to hold some out takes {FEWEST_TESTED}"
        spared = len(np.unique(np.concatenate([one.held for one in self.chosen]))) if self.chosen else 0
        if spared < FEWEST_TESTED:
            few = "none" if not spared else f"only {spared}"
            return (
                f"{few} of the {len(support):,} seen combinations can be spared, since most are the only one with one "
                "of their values"
            )
        return None

    @cached_property
    def trial(self) -> Trial:
        """The learner and the simple rules on everything that is held out."""
        found = [self._marked(part, said) for part, said in zip(self._parts, self._answers, strict=True)]
        held = np.concatenate([one.held for one in self.chosen])
        return Trial(
            places=held,
            round=np.repeat(np.arange(len(self.chosen)), [len(one.held) for one in self.chosen]),
            own=np.concatenate([own.mean(axis=0) for own, _ in found]),
            members=np.concatenate([own for own, _ in found], axis=1),
            simple={name: np.concatenate([simple[name] for _, simple in found]) for name in found[0][1]},
            difficulty=Difficulty.stacked([one.difficulty for one in self.chosen]),
            codes=self.examples.support.codes[held],
        )

    @cached_property
    def _parts(self) -> list[Part]:
        """What is taught and asked in each round."""
        return [
            (self.examples.part(one.kept), self.examples.part(one.held), derived(self.seed, "learner", number))
            for number, one in enumerate(self.chosen)
        ]

    @cached_property
    def _answers(self) -> list[Numbers]:
        """What the learner answers in each round: one after another, unless it knows how to do them all at once."""
        step = f"rehearsing {self.learner.name}"
        if isinstance(self.learner, AllAtOnce):
            self.tell(step, None)
            return self.learner.answer_all(self._parts)
        found = []
        for number, (train, test, seed) in enumerate(self._parts):
            self.tell(step, number / len(self._parts))
            found.append(self.learner.answer(train, test, seed=seed))
        return found

    def _marked(self, part: Part, said: Numbers) -> tuple[Numbers, dict[str, Numbers]]:
        train, test, _ = part
        good = test.by_row if self.learner.level == "rows" else test.by_combination
        own = np.array([good(answers) for answers in np.atleast_2d(said)])
        return own, self._simple(train, test)

    def _simple(self, train: RehearsalExamples, test: RehearsalExamples) -> dict[str, Numbers]:
        """The constant answer of all seen combinations first, then rules that look at what is left.

        Who is shown inputs is not told the factors, so rules that know them are no measure.
        """
        known, codes = train.own, np.asfortranarray(test.support.codes)
        said = {simple_rules.constant_name(self.own): simple_rules.mean_answer(self.own, codes)}
        if self.examples.rows is None or self.examples.rows.inputs is None:
            said |= {
                ADDITIVE: simple_rules.additive_rule(train.support, known, codes),
                NEAREST: simple_rules.nearest_seen(train.support, known, codes),
            }
        return {name: test.by_combination(decided(known, scores)) for name, scores in said.items()}

    @property
    def spread(self) -> float | None:
        """The mean squared error of the constant answer on the unseen combinations, where their truth is known."""
        if self.unseen.truth is None or self.own.kind != "number":
            return None
        known = self.unseen.truth[np.isfinite(self.unseen.truth)]
        found = (
            float(np.square(known - self.own.values.mean()).mean() + (self.own.within or 0.0)) if len(known) else 0.0
        )
        return found or None

    @cached_property
    def forecast(self) -> RehearsalForecast:
        """What follows for the unseen combinations."""
        trial, asked = self.trial, self.asked
        settings = IntervalSettings(seed=self.seed)
        return forecast(
            trial,
            asked,
            score=self.score,
            unseen=len(self.unseen.codes),
            spread=self.spread,
            miss=self.miss,
            settings=settings,
        )

    @property
    def miss(self) -> float:
        """How far forecasts of learners that stand for a network were from trained ones; 0 where one is itself."""
        return track_record.miss("rehearsal", self.score) if self.stands_for_a_network else 0.0

    @property
    def stands_for_a_network(self) -> bool:
        """Whether the learner is asked in place of a network that was not trained."""
        return bool(getattr(self.learner, "stands_for_a_network", False))


def _told(stage: _Stage, support: Support) -> Rehearsal:
    """The result in words and numbers."""
    found = None if stage.impossible else stage.forecast
    expected = Expected(stage.score, basis="rehearsal", reason=stage.impossible) if found is None else found.expected
    if found is not None and expected.abstains and (expected.reason or "").startswith("held_out"):
        expected = replace(expected, reason=wording.unlike(found.gaps, found.overlap))
    held_out = 0 if found is None else len(np.unique(stage.trial.places))
    told = wording.RehearsalFindings(
        learner=stage.learner.name,
        target=stage.own.name,
        expected=expected,
        naive=None if found is None else found.naive,
        gaps={} if found is None else found.gaps,
        overlap=0.0 if found is None else found.overlap,
        rounds=0 if found is None else len(stage.chosen),
        held_out=held_out,
        seen=len(stage.examples.support),
        unseen=len(stage.unseen.codes),
        with_truth=stage.unseen.truth is not None,
        sampled=stage.unseen.sampled,
        simple={} if found is None else found.simple,
        miss=stage.miss,
    )
    settings = {"learner": stage.learner.name, "rounds": stage.rounds, "seed": stage.seed}
    made = support.source
    return Rehearsal(
        verdict=wording.verdict(told),
        grade=earned(expected),
        reasons=wording.reasons(told),
        expected=expected,
        naive=told.naive,
        learner=told.learner,
        level=stage.learner.level,
        stands_for_a_network=stage.stands_for_a_network,
        target=told.target,
        score=stage.score,
        rounds=() if found is None else _rounds(stage),
        gaps=() if found is None else _gaps(stage, found),
        overlap=None if found is None else found.overlap,
        effective=None if found is None else found.effective,
        moved=None if found is None else found.moved,
        widened=None if found is None else found.widened,
        simple=told.simple,
        combinations=told.seen,
        unseen=told.unseen,
        sampled=told.sampled,
        rows=support.rows,
        factors=support.space.names,
        table=_table(stage, found),
        provenance=replace(made, settings={**made.settings, **plain_setting(settings)}),
    )


def _rounds(stage: _Stage) -> tuple[Held, ...]:
    trial = stage.trial
    usual = next(iter(trial.simple.values()))
    found = []
    for number, one in enumerate(stage.chosen):
        mine = trial.round == number
        own, base = float(trial.own[mine].mean()), float(usual[mine].mean())
        score = own if stage.score == "accuracy" else 1 - own / base if base > 0 else None
        found.append(Held(one.way, len(one.held), score))
    return tuple(found)


def _gaps(stage: _Stage, found: RehearsalForecast) -> tuple[DifficultyGap, ...]:
    held = found.weights @ stage.trial.difficulty.values
    asked = stage.asked.values.mean(axis=0)
    return tuple(
        DifficultyGap(name, float(held[place]), float(asked[place]), found.gaps[name])
        for place, name in enumerate(stage.asked.names)
    )


def _table(stage: _Stage, found: RehearsalForecast | None) -> pa.Table:
    """A row for each trial: the combination, the round, how the learner did, how much it counts, how hard it was."""
    space = stage.examples.support.space
    if found is None:
        nothing = np.zeros((0, len(space.factors)), dtype=np.int32)
        return pa.table(space.columns(nothing) | {"round": pa.array([], pa.int64())})
    trial = stage.trial
    measure = "right" if stage.score == "accuracy" else "squared_error"
    own = {"round": trial.round, measure: trial.own, "weight": found.weights * len(found.weights)}
    own |= {name: trial.difficulty.column(name) for name in trial.difficulty.names}
    factors = space.columns(trial.codes)
    return pa.table(factors | {free_name(name, factors): column for name, column in own.items()})
