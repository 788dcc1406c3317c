"""Hold out seen combinations as the unseen ones are, teach a learner without them, score it; then say what follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import pyarrow as pa

from recombine.base import limits, records
from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_number, check_seed, check_whole
from recombine.base.decoding import revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import FEWEST_TESTED, Expected, Grade, at_most, earned
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.seeds import derived
from recombine.base.words import free_name, plain_setting
from recombine.data.locations import names_a_table
from recombine.data.missing_conjunctions import missing_block
from recombine.data.read import read, support_of
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.data.table_query import ReadOptions, TableOptions, TargetKind, reading_of
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.predictive_intervals import Score
from recombine.numerics.resampling import EvidencePieces, IntervalSettings
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.rule_choice import ask_rule, chosen_rule
from recombine.verbs.audit.selection_bias import ASSUMPTION, ASSUMPTION_OF_SETS, selection_sign
from recombine.verbs.audit.structural_zeros import Zeros, suspect_zeros
from recombine.verbs.audit.unseen_combinations import unseen_combinations
from recombine.verbs.predict import simple_rules, track_record
from recombine.verbs.predict.answers import Answers, Truth, read_truth, truth_of
from recombine.verbs.rehearse import verdict as wording
from recombine.verbs.rehearse.difficulty import Difficulty, difficulty
from recombine.verbs.rehearse.forecast import RehearsalForecast, Trial, forecast
from recombine.verbs.rehearse.holdouts import HoldoutRound, Seen, choose_rounds
from recombine.verbs.rehearse.learners import AllAtOnce, Learner, Level, Part, decide, learner_of
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
    target_is_share: bool = False

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
        data = {name: records.plain(getattr(self, name)) for name in _PLAIN}
        return Record("rehearsal", data, {"trials": self.table}, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Rehearsal":
        """Back from plain data."""
        return cls(**revive_all(cls, _PLAIN, record.data), table=record.tables["trials"], provenance=record.provenance)


_PLAIN = tuple(field.name for field in fields(Rehearsal) if field.name not in ("table", "provenance"))


@explain_kinds
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
    unseen = _UnseenTargets.of(examples, _read_truth(truth, source, support, examples, reading), seed)
    settings = plain_setting({"learner": taught.name, "rounds": rounds, "seed": seed})
    untried = Rehearsal(
        verdict="",  # the sentences are made from the numbers, below
        grade="untested",
        reasons=(),
        expected=Expected(examples.score, basis="rehearsal", reason=_why_impossible(examples.support, unseen)),
        naive=None,
        learner=taught.name,
        level=taught.level,
        stands_for_a_network=bool(getattr(taught, "stands_for_a_network", False)),
        target=examples.own.name,
        score=examples.score,
        rounds=(),
        gaps=(),
        overlap=None,
        effective=None,
        moved=None,
        widened=None,
        simple={},
        combinations=len(examples.support),
        unseen=len(unseen.codes),
        sampled=unseen.sampled,
        rows=support.rows,
        factors=support.space.names,
        target_is_share=examples.own.share,
        table=pa.table(support.space.columns(unseen.codes[:0]) | {"round": pa.array([], pa.int64())}),
        provenance=replace(support.source, settings={**support.source.settings, **settings}),
    )
    found = untried if untried.expected.reason else _try(untried, taught, examples, unseen, rounds, seed, tell)
    never = "" if unseen.zeros is None else f" {unseen.zeros.sentence_of('unseen combination')}"
    if found.expected.abstains:
        return replace(
            found, verdict=f"{wording.verdict(found)}{never}{limits.partial()}", reasons=wording.reasons(found)
        )
    # whose right answers are known cannot have been left out for them unnoticed
    sign = selection_sign(examples.support, determinacy(examples.support), seed=seed) if unseen.truth is None else None
    assumption = ASSUMPTION_OF_SETS if support.space.set_factors else ASSUMPTION
    assumed = (assumption,) if unseen.truth is None and sign is None else ()
    return replace(
        found,
        verdict=f"{wording.verdict(found)}{f' {sign.warning}' if sign else ''}{never}{limits.partial()}",
        grade=at_most(sign.limit if sign else "sound", earned(found.expected)),
        reasons=(*wording.reasons(found), *assumed),
    )


def _read_truth(
    truth: Any, source: Any, support: Support, examples: RehearsalExamples, reading: ReadOptions
) -> Truth | None:
    """Right answers of unseen combinations: from another table, or from a column of this one."""
    if truth is None:
        return None
    if isinstance(truth, str) and not names_a_table(truth) and not isinstance(source, Support):
        kind: TargetKind = "number" if examples.classes is None else "label"
        truth = read(source, **cast("ReadOptions", {**reading, "target": truth, "target_kind": kind}))
    elif reading and not isinstance(truth, Support):
        truth = read_truth(truth, support, **reading)
    return truth_of(truth, examples.support, examples.own)


@dataclass(frozen=True, eq=False)
class _UnseenTargets:
    """The unseen combinations that are asked about, and their right answers where these are known."""

    codes: Codes
    truth: Numbers | None
    sampled: bool
    zeros: Zeros | None = None  # pairs of values that perhaps cannot occur

    @classmethod
    def of(cls, examples: RehearsalExamples, truth: Truth | None, seed: int) -> "_UnseenTargets":
        support, effects = examples.support, examples.support.space.effects
        if truth is not None and len(truth.codes):
            codes = np.asfortranarray(np.unique(truth.codes.astype(np.int32), axis=0))
            never = np.concatenate([np.zeros(0), *support.effect_counts, np.ones(int(effects.constant))]) == 0
            new = support.groups(range(codes.shape[1])).lookup(codes) < 0
            codes = codes[new & (effects.rows(codes).sums(never.astype(np.int64)) == 0)]
            if len(codes):
                drawn = _some(codes, seed)
                return cls(drawn, truth.on(drawn), len(drawn) < len(codes))
        values = [np.flatnonzero(count > 0) for count in support.effect_counts]
        zeros, _ = suspect_zeros(support)
        codes, sampled = unseen_combinations(support, values, listed=_LISTED, drawn=_DRAWN, seed=seed)
        drawn = _some(codes, seed)
        return cls(drawn, None, sampled or len(drawn) < len(codes), zeros)


def _some(codes: Codes, seed: int) -> Codes:
    if len(codes) <= _DRAWN:
        return codes
    chosen = np.random.default_rng(derived(seed, "unseen")).choice(len(codes), _DRAWN, replace=False)
    return np.asfortranarray(codes[np.sort(chosen)])


def _why_impossible(support: Support, unseen: _UnseenTargets) -> str | None:
    """Why nothing can be rehearsed, if that is known before anything is held out."""
    if support.target is not None and not support.target.varies:
        return "the target never varies"
    if not len(unseen.codes):
        return "every combination was seen"
    if len(support) < FEWEST_TESTED:
        return f"only {len(support)} combinations have an answer; to hold some out takes {FEWEST_TESTED}"
    return None


def _try(
    untried: Rehearsal,
    learner: Learner,
    examples: RehearsalExamples,
    unseen: _UnseenTargets,
    rounds: int,
    seed: int,
    tell: Progress,
) -> Rehearsal:
    """Hold out, teach and ask in every round, and say what follows for the unseen combinations."""
    own, support = examples.own, examples.support
    asked = difficulty(support, own, unseen.codes, unseen.truth)
    chosen = choose_rounds(
        Seen(support, own, unseen.truth is not None),
        unseen.codes,
        asked,
        rounds=rounds,
        seed=seed,
        tell=lambda share: tell("choosing what to hold out", share),
    )
    spared = len(np.unique(np.concatenate([one.held for one in chosen]))) if chosen else 0
    if spared < FEWEST_TESTED:
        few = "none" if not spared else f"only {spared}"
        reason = (
            f"{few} of the {len(support):,} seen combinations can be spared, since most are the only one with one "
            f"of their {support.space.effect_unit.replace(' and ', 's and ')}s"
        )
        return replace(untried, expected=replace(untried.expected, reason=reason))
    trial = _trial(learner, examples, chosen, seed, tell)
    chosen = chosen[: int(trial.round.max()) + 1]
    found = forecast(
        trial,
        asked,
        score=examples.score,
        unseen=len(unseen.codes),
        spread=_spread(own, unseen.truth),
        miss=track_record.miss("rehearsal", examples.score) if untried.stands_for_a_network else 0.0,
        settings=IntervalSettings(seed=seed),
        pieces=_pieces(support, unseen.codes),
    )
    expected = found.expected
    if expected.abstains and (expected.reason or "").startswith("held_out"):
        expected = replace(expected, reason=wording.unlike(found.gaps, found.overlap))
    held, goal = found.weights @ trial.difficulty.values, asked.values.mean(axis=0)
    return replace(
        untried,
        expected=expected,
        naive=found.naive,
        rounds=_score_rounds(trial, chosen, examples.score),
        gaps=tuple(
            DifficultyGap(name, float(held[place]), float(goal[place]), found.gaps[name])
            for place, name in enumerate(asked.names)
        ),
        overlap=found.overlap,
        effective=found.effective,
        moved=found.moved,
        widened=found.widened,
        simple=found.simple,
        table=_table(trial, found, support.space, examples.score),
    )


def _pieces(seen: Support, unseen: Codes) -> EvidencePieces | None:
    """Where the unseen ones miss whole conjunctions, the seen ones that share one are a single piece of evidence."""
    missing = missing_block(seen, unseen)
    if missing is None:
        return None
    return EvidencePieces(seen.groups(missing).ids, len(np.unique(unseen[:, missing], axis=0)))


def _trial(
    learner: Learner, examples: RehearsalExamples, chosen: tuple[HoldoutRound, ...], seed: int, tell: Progress
) -> Trial:
    """The learner and the simple rules on everything that is held out."""
    parts = [
        (examples.part(one.kept), examples.part(one.held), derived(seed, "learner", number))
        for number, one in enumerate(chosen)
    ]
    answers = _answers(learner, parts, tell)
    parts, chosen = parts[: len(answers)], chosen[: len(answers)]  # fewer where there was no more time
    richer = None if _sees_inputs(examples) else chosen_rule(examples.support, seed=seed)
    scores, simple = [], []
    for (train, test, _), said in zip(parts, answers, strict=True):
        good = test.by_row if learner.level == "rows" else test.by_combination
        scores.append(np.array([good(answered) for answered in np.atleast_2d(said)]))
        simple.append(_simple_rules(examples, train, test, richer))
    held = np.concatenate([one.held for one in chosen])
    return Trial(
        places=held,
        round=np.repeat(np.arange(len(chosen)), [len(one.held) for one in chosen]),
        own=np.concatenate([score.mean(axis=0) for score in scores]),
        members=np.concatenate(scores, axis=1),
        simple={name: np.concatenate([one[name] for one in simple]) for name in simple[0]},
        difficulty=Difficulty.stacked([one.difficulty for one in chosen]),
        codes=examples.support.codes[held],
    )


def _answers(learner: Learner, parts: list[Part], tell: Progress) -> list[Numbers]:
    """What the learner answers in each round: one after another, unless it knows how to do them all at once."""
    step = f"rehearsing {learner.name}"
    if isinstance(learner, AllAtOnce):
        tell(step, None)
        return learner.answer_all(parts)
    found = []
    for number, (train, test, seed) in enumerate(limits.within_time(parts, "rounds of the rehearsal")):
        tell(step, number / len(parts))
        found.append(learner.answer(train, test, seed=seed))
    return found


def _sees_inputs(examples: RehearsalExamples) -> bool:
    """Who is shown inputs is not told the factors, so rules that know them are no measure."""
    return examples.rows is not None and examples.rows.inputs is not None


def _simple_rules(
    examples: RehearsalExamples, train: RehearsalExamples, test: RehearsalExamples, richer: str | None
) -> dict[str, Numbers]:
    """The constant answer of all seen combinations first, then rules that look at what is left; last the one that the
    seen ones chose of those that say more than adding up, if they did.
    """
    known, codes = train.own, np.asfortranarray(test.support.codes)
    constant = {simple_rules.constant_name(examples.own): simple_rules.mean_answer(examples.own, codes)}
    others = {} if _sees_inputs(examples) else simple_rules.rule_scores(train.support, known, codes)
    said = {name: decide(known, scores) for name, scores in (constant | others | constant).items()}
    if richer is not None:
        scores = ask_rule(richer, train.support, codes)
        said[richer] = decide(known, scores) if known.kind == "number" else scores.argmax(axis=1).astype(np.float64)
    return {name: test.by_combination(answered) for name, answered in said.items()}


def _spread(own: Answers, truth: Numbers | None) -> float | None:
    """The mean squared error of the constant answer on the unseen combinations, where their truth is known."""
    known = np.zeros(0) if truth is None else truth[np.isfinite(truth)]
    if own.kind != "number" or not len(known):
        return None
    return float(np.square(known - own.values.mean()).mean() + (own.within or 0.0)) or None


def _score_rounds(trial: Trial, chosen: tuple[HoldoutRound, ...], score: Score) -> tuple[Held, ...]:
    usual = next(iter(trial.simple.values()))
    found = []
    for number, one in enumerate(chosen):
        mine = trial.round == number
        value, base = float(trial.own[mine].mean()), float(usual[mine].mean())
        found.append(
            Held(one.way, len(one.held), value if score == "accuracy" else 1 - value / base if base > 0 else None)
        )
    return tuple(found)


def _table(trial: Trial, found: RehearsalForecast, space: Space, score: Score) -> pa.Table:
    """A row for each trial: the combination, the round, how the learner did, how much it counts, how hard it was."""
    measure = "right" if score == "accuracy" else "squared_error"
    columns = {"round": trial.round, measure: trial.own, "weight": found.weights * len(found.weights)}
    columns |= {name: trial.difficulty.column(name) for name in trial.difficulty.names}
    factors = space.columns(trial.codes)
    return pa.table(factors | {free_name(name, factors): column for name, column in columns.items()})
