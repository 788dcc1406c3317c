"""What a network would score on unseen combinations, forecast from examples: arrays in, a forecast out.

The learner is a kernel machine on the inputs themselves (pixels, embeddings, features). It is fitted to the rows at
hand and asked about rows of unseen combinations; nothing is trained. Several machines are asked (`members`), their mean
is the forecast and their spread is part of its interval. Three ways, by what there is to ask:

- *rows*: rows of unseen combinations are there, and their true answers are known;
- *composed*: the true answers are known, but there are no such rows: they are composed from seen ones (`composing`);
- *held out*: no true answer is known: seen combinations are held out in folds, and stand for the unseen ones.

Two things make a score low, and they are told apart. Rows that are hard to read cost as much on new rows of seen
combinations (`seen`); what is missing from there to the score on unseen combinations (`drop`) is the price of the
combinations that were not seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.checks import check_number, check_seed, check_whole
from recombine.errors import SettingError, TableError
from recombine.expected import Expected
from recombine.seeds import derived
from recombine.statistics.distributions import normal_quantile
from recombine.statistics.predictive import Score, expected_score
from recombine.statistics.resampling import IntervalSettings
from recombine.theory import track_record
from recombine.theory.ensembles import Ensemble, expected_of
from recombine.theory.examples import composing, sampling
from recombine.theory.examples.arrays import fetched, placed, refuse_too_large
from recombine.theory.examples.kernels import Kernel, Scaling, kernels_of, linear, matrices
from recombine.theory.examples.machines import Answered, Kind, Machine
from recombine.theory.examples.members import Loss, Member, Rows, losses_of, made, score

MOST_ROWS = 3_000
"""Rows that are fitted, unless more are asked for: 5 to 30 seconds, and little is gained by more."""
_FOLDS = 5
_REHEARSED = 4
_FEWEST_HELD = 5
_NO_SPREAD = 1e-12
_ALIKE = 0.03
"""Seen scores that differ by no more are the same, by chance."""
BASIS = "examples"


@dataclass(frozen=True, eq=False)
class ExampleForecast:
    """A forecast from examples. Legend: m members, c combinations, k factors.

    `scores` holds for each member and combination the share of its rows that it gets right, or their mean squared
    error; `base` the same for one answer for all. Where the way is *held out*, the combinations are seen ones.
    """

    expected: Expected
    way: str
    members: tuple[str, ...]
    seen_by_member: tuple[float, ...] | None  # on new rows of combinations that were seen
    codes: Codes  # (c, k)
    counts: Ints  # (c,) rows asked, 0 where they were composed
    scores: Numbers  # (m, c)
    base: Numbers  # (c,)
    probe: float | None  # a linear rule on the inputs
    rows: int
    of_rows: int
    asked_rows: int
    correction: tuple[float, float] | None = None  # of composed rows: how far they were off in rehearsal, and its sd
    notes: tuple[str, ...] = ()
    constant: str | None = None  # one answer for all, as people read it
    fewer: float | None = None  # the score with four fifths of the rows

    @property
    def score(self) -> str:
        """The score's name: accuracy, or R²."""
        return self.expected.score

    @property
    def by_member(self) -> tuple[float, ...]:
        """Each member's score over the combinations."""
        share = self.score == "accuracy"
        return tuple(float(own.mean()) if share else 1 - float(own.sum() / self.base.sum()) for own in self.scores)

    @property
    def seen(self) -> float | None:
        """The members' mean score on held-out rows of seen combinations; None where no combination can spare a row."""
        return None if self.seen_by_member is None else float(np.mean(self.seen_by_member))

    @property
    def drop(self) -> float | None:
        """What the missing of combinations costs: from new rows of seen ones to rows of unseen ones."""
        if self.seen is None or self.expected.value is None:
            return None
        return self.seen - self.expected.value


def forecast(  # noqa: PLR0913 - each is one plain question
    X: Any,  # noqa: N803 - scikit-learn's name
    y: Any,
    codes: Any,
    X_unseen: Any = None,  # noqa: N803
    codes_unseen: Any = None,
    truth_unseen: Any = None,
    *,
    kind: Kind | None = None,
    kernel: str | Kernel | Sequence[Kernel] | None = None,
    losses: Sequence[Loss] | None = None,
    seen_score: float | None = None,
    rows: int = MOST_ROWS,
    of: int | None = None,
    seed: int = 0,
    device: str | None = None,
) -> ExampleForecast:
    """Forecast the score on unseen combinations from examples.

    `X` (n, d) are the inputs of the training rows, `y` their targets (labels, numbers, or numbers (n, q)) and `codes`
    (n, k) their combinations. `truth_unseen` are the true targets of the rows `X_unseen`, whose combinations are
    `codes_unseen`; without `X_unseen` those of the combinations themselves. Without a truth seen combinations are held
    out. `of` is the number of unseen combinations, where those that are asked about are only some of them. `losses` are
    "margin" and "squared" for labels, "fitted" (no ridge) and "squared" (the best ridge) for both, unless left out.

    `seen_score` is a known or assumed score on new rows of seen combinations: machines that are stopped where they have
    it are then asked as well.

    >>> rng = np.random.default_rng(0)
    >>> codes = np.array([(a, b) for a in range(6) for b in range(6)] * 5)
    >>> X = np.eye(6)[codes].reshape(180, 12) + 0.1 * rng.normal(size=(180, 12))
    >>> unseen = codes.sum(axis=1) % 3 == 0
    >>> found = forecast(X[~unseen], codes[~unseen, 0], codes[~unseen], X[unseen], codes[unseen], codes[unseen, 0])
    >>> found.expected.value, found.seen, len(found.members)
    (1.0, 1.0, 3)
    """
    _check(rows, seed, seen_score)
    train, asked, truth = _read(X, y, codes, X_unseen, codes_unseen, truth_unseen, kind)
    wanted = losses_of(train.answers, seen_score) if losses is None else tuple(losses)
    work = _Work(train, kernels_of(kernel), wanted, seen_score, rows, of, seed, device)
    if truth is None:
        return work.held_out()
    if asked is None:
        return work.composed(_codes(codes_unseen, train.codes.shape[1]), truth)
    return work.asked(asked)


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with their inputs, answers and combinations."""

    inputs: Numbers
    answers: Answered
    codes: Codes

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> "Examples":
        return Examples(self.inputs[rows], self.answers[rows], self.codes[rows])


class _Work:
    """One forecast under way: the rows that were drawn, and each kernel in turn."""

    def __init__(
        self,
        train: Examples,
        kernels: tuple[Kernel, ...],
        losses: tuple[Loss, ...],
        seen_score: float | None,
        most: int,
        of: int | None,
        seed: int,
        device: str | None,
    ) -> None:
        self.of_rows, self.most, self.of, self.seed, self.device = len(train), most, of, seed, device
        self.seen_score, self.kernels, self.losses, self.notes = seen_score, kernels, losses, list[str]()
        combination, _ = sampling.numbered(train.codes)
        chosen = sampling.drawn(combination, most, seed=seed)
        fitted, held, self.alone = _parts(combination[chosen], seed)
        self.train, self.first = train[chosen][np.concatenate([fitted, held])], len(fitted)
        self.combination, _ = sampling.numbered(self.train.codes)
        self.constant = _constant(self.train.answers)
        self.scaling = Scaling.of(self.train.inputs)
        if len(chosen) < self.of_rows:
            self.notes.append(
                f"{len(chosen):,} of the {self.of_rows:,} rows were fitted, as many of each combination as there were."
            )
        if self.alone:
            self.notes.append("No combination has a second row, so noise within combinations cannot be told apart.")

    def asked(self, asked: Examples) -> ExampleForecast:
        """Rows of unseen combinations are there, and their truth is known."""
        combination, _ = sampling.numbered(asked.codes)
        asked = asked[sampling.drawn(combination, self.most, seed=self.seed)]
        place, first = sampling.numbered(asked.codes)
        members, answered, fewer = list[Member](), list[Numbers](), list[Numbers]()
        for rows, between in zip(self._rows(self.kernels), self._between(self.kernels, asked.inputs), strict=True):
            for member in self._made(rows, self.losses):
                members.append(member)
                answered.append(member.answer(between))
                fewer.append(asked.answers.marks(member.first.answer(between[:, : len(member.first.weights)])))
        kept = self._believed(members)
        members = [members[one] for one in kept]
        marks = np.array([asked.answers.marks(answered[one]) for one in kept])
        base = _by_combination(self._constant_marks(asked.answers), place)
        ensemble = Ensemble(_names(members), _by_combination(marks, place), base, self._score)
        return ExampleForecast(
            expected=self._together(ensemble),
            way="rows",
            members=ensemble.names,
            seen_by_member=self._seen(members),
            codes=asked.codes[first],
            counts=np.bincount(place),
            scores=ensemble.scores,
            base=base,
            probe=self._probe(asked),
            rows=len(self.train),
            of_rows=self.of_rows,
            asked_rows=len(asked),
            notes=tuple(self.notes),
            fewer=Ensemble(ensemble.names, _by_combination(np.array(fewer)[kept], place), base, self._score).value,
        )

    def _believed(self, members: Sequence[Member]) -> list[int]:
        """All members; where a seen score is known, those alone that have it: the stopped ones, or the others."""
        every = list(range(len(members)))
        if self.seen_score is None:
            return every
        usual = [place for place in every if members[place].loss != "stopped"]
        seen = self._seen([members[place] for place in usual])
        apart = abs((1.0 if seen is None else float(np.mean(seen))) - self.seen_score)
        return usual if apart <= _ALIKE else [place for place in every if place not in usual]

    def _together(self, ensemble: Ensemble) -> Expected:
        return expected_of(ensemble, basis=BASIS, settings=IntervalSettings(seed=self.seed), of=self.of)

    def _probe(self, asked: Examples) -> float:
        """What a linear rule on the inputs gets."""
        rule = (linear(),)
        (member,) = self._made(self._rows(rule)[0], ("squared",))
        return self._total(asked.answers, member.answer(self._between(rule, asked.inputs)[0]))

    def _total(self, answers: Answered, scores: Numbers) -> float:
        return score(answers.kind, answers.marks(scores), self._constant_marks(answers))

    @property
    def _score(self) -> Score:
        return "R²" if self.train.answers.kind == "number" else "accuracy"

    def _rows(self, kernels: tuple[Kernel, ...]) -> list[Rows]:
        refuse_too_large(len(self.train), kernels=len(kernels))
        found = self._matrices(kernels, self.train.inputs)
        return [
            Rows(one, matrix, self.train.answers, self.first, self.alone)
            for one, matrix in zip(kernels, found, strict=True)
        ]

    def _between(self, kernels: tuple[Kernel, ...], inputs: Numbers) -> list[Numbers]:
        return [fetched(matrix) for matrix in self._matrices(kernels, inputs)]

    def _matrices(self, kernels: tuple[Kernel, ...], inputs: Numbers) -> list[Any]:
        """The kernels between some rows and the training rows, those together that want them alike."""
        found: dict[int, Any] = {}
        for alike in sorted({(one.centred, one.scaled) for one in kernels}):
            places = [place for place, one in enumerate(kernels) if (one.centred, one.scaled) == alike]
            wanted = [kernels[place] for place in places]
            rows, own = (placed(self.scaling(part, wanted[0]), self.device) for part in (inputs, self.train.inputs))
            found |= dict(zip(places, matrices(wanted, rows, own), strict=True))
        return [found[place] for place in range(len(kernels))]

    def _made(self, rows: Rows, losses: Sequence[Loss], *, whole: bool = True) -> list[Member]:
        found = made(rows, losses, seen_score=self.seen_score, whole=whole)
        missed = [member.name for member in found if not member.reached]
        self.notes.extend(
            f"{name} never has a seen score of {self.seen_score}, and is stopped at its best." for name in missed
        )
        return found

    def _constant_marks(self, answers: Answered) -> Numbers:
        return answers.marks(np.tile(self.constant, (len(answers), 1)))

    def _seen(self, members: Sequence[Member]) -> tuple[float, ...] | None:
        if self.alone:
            return None
        held = self.train.answers[self.first :]
        constant = self._constant_marks(held)
        return tuple(score(held.kind, member.marks, constant) for member in members)

    def held_out(self) -> ExampleForecast:
        """No truth is known: seen combinations are held out in folds, where their values stay seen."""
        members, marks = list[Member](), list[Numbers]()
        parts = sampling.folds(self.combination, _FOLDS, seed=self.seed)
        spared = self._spared(parts)
        losses = tuple(loss for loss in self.losses if loss != "stopped")
        for rows in self._rows(self.kernels):
            for member in self._made(rows, losses, whole=False):
                members.append(member)
                marks.append(self._tried(rows, member, parts))
        place, first = sampling.numbered(self.train.codes)
        tested = np.flatnonzero(spared[first])
        scores = _by_combination(np.array(marks), place)[:, tested]
        base = _by_combination(self._constant_marks(self.train.answers), place)[tested]
        return ExampleForecast(
            expected=self._expected(_names(members), scores, base, self.train.codes[first][tested]),
            way="held out",
            members=_names(members),
            seen_by_member=self._seen(members),
            codes=self.train.codes[first][tested],
            counts=np.bincount(place)[tested],
            scores=scores,
            base=base,
            probe=None,
            rows=len(self.train),
            of_rows=self.of_rows,
            asked_rows=0,
            notes=tuple(self.notes),
        )

    def _tried(self, rows: Rows, member: Member, parts: Sequence[Ints]) -> Numbers:
        found = np.empty(len(self.train))
        for part in parts:
            rest = np.setdiff1d(np.arange(len(self.train)), part)
            if _varies(rows.answers[rest]):
                machine = member.fit(rows.part(rest, rest), rows.answers[rest])
                found[part] = rows.answers[part].marks(machine.answer(fetched(rows.part(part, rest))))
            else:
                found[part] = self._constant_marks(rows.answers[part])
        return found

    def _spared(self, parts: Sequence[Ints]) -> Any:
        """Which rows, when they are held out, leave all values of their combination in the others."""
        found = np.zeros(len(self.train), dtype=bool)
        for part in parts:
            rest = np.setdiff1d(np.arange(len(self.train)), part)
            codes = self.train.codes
            known = [np.isin(codes[part, k], codes[rest, k]) for k in range(codes.shape[1])]
            found[part] = np.logical_and.reduce(known)
        return found

    def _expected(self, names: tuple[str, ...], scores: Numbers, base: Numbers, codes: Codes) -> Expected:
        """From held-out combinations: chance over combinations, and the spread of members and the track record."""
        own = scores.mean(axis=0)
        baseline = "majority" if self._score == "accuracy" else "mean"
        asked = len(own) if self.of is None else self.of
        found = expected_score(
            own,
            {baseline: base},
            score=self._score,
            unseen=asked,
            codes=codes,
            basis=BASIS,
            settings=IntervalSettings(seed=self.seed),
        )
        if found.value is None or len(base) < 2:
            return found
        by_member = Ensemble(names, scores, base, self._score).by_member
        spread = float(by_member.var(ddof=1)) if len(names) > 1 else 0.0
        return widened(found, float(np.sqrt(spread + track_record.miss(BASIS, self._score) ** 2)))

    def composed(self, asked: Codes, truth: Answered) -> ExampleForecast:
        """The truth is known, but there are no rows: scores of held-out seen ones are put together."""
        members, marks, off = list[Member](), list[Numbers](), list[tuple[Numbers, Numbers]]()
        held = self.train.codes[self.first :]
        parts = sampling.folds(self.combination, _REHEARSED, seed=self.seed)
        for rows in self._rows(self.kernels):
            for member in self._made(rows, self.losses, whole=False):
                members.append(member)
                marks.append(_composed_marks(member.first, member.raw, held, asked, truth, self.seed))
                if member.loss != "stopped":
                    off.append(self._rehearsed(rows, member, parts))
        base = self._constant_marks(truth)
        real, said = (np.concatenate([one[side] for one in off]) for side in range(2))
        scores, correction = corrected(np.array(marks), real, said, share=self._score == "accuracy")
        ensemble = Ensemble(_names(members), scores, base, self._score)
        expected = self._together(ensemble)
        return ExampleForecast(
            expected=expected if correction is None else widened(expected, correction[1]),
            way="composed",
            members=ensemble.names,
            seen_by_member=self._seen(members),
            codes=asked,
            counts=np.zeros(len(asked), dtype=np.int64),
            scores=scores,
            base=base,
            probe=None,
            rows=len(self.train),
            of_rows=self.of_rows,
            asked_rows=0,
            correction=correction,
            notes=tuple(self.notes),
        )

    def _rehearsed(self, rows: Rows, member: Member, parts: Sequence[Ints]) -> tuple[Numbers, Numbers]:
        """Held-out seen combinations: how their own rows fare, and how composed ones do. One number a combination."""
        spared, real, said = self._spared(parts), list[Numbers](), list[Numbers]()
        for part in parts:
            test = part[spared[part]]
            fit = np.setdiff1d(np.arange(self.first), part)
            held = np.setdiff1d(np.arange(self.first, len(self.train)), part)
            if len(test) == 0 or len(held) < _FEWEST_HELD or not _varies(rows.answers[fit]):
                continue
            machine = member.fit(rows.part(fit, fit), rows.answers[fit])
            raw = machine.raw(fetched(rows.part(np.concatenate([held, test]), fit)))
            place, first = sampling.numbered(self.train.codes[test])
            real.append(_by_combination(rows.answers[test].marks(machine.scores(raw[len(held) :])), place))
            codes = self.train.codes
            truth = rows.answers[test[first]]
            said.append(_composed_marks(machine, raw[: len(held)], codes[held], codes[test[first]], truth, self.seed))
        nothing = np.zeros(0)
        return np.concatenate([nothing, *real]), np.concatenate([nothing, *said])


def corrected(
    marks: Numbers, real: Numbers, said: Numbers, *, share: bool
) -> tuple[Numbers, tuple[float, float] | None]:
    """Composed scores, moved by what a rehearsal found them to be off by; and that, with its standard deviation."""
    if len(real) < _FEWEST_HELD:
        return marks, None
    apart = real - said
    if share:
        bias = float(apart.mean())
        return np.clip(marks + bias, 0.0, 1.0), (bias, abs(bias) / 2 + float(apart.std() / np.sqrt(len(apart))))
    ratio = float(np.clip(real.sum() / max(said.sum(), _NO_SPREAD), 0.2, 5.0))
    return marks * ratio, (ratio - 1, abs(ratio - 1) / 2)


def widened(expected: Expected, sd: float) -> Expected:
    """The same forecast with one more thing that is not known, added in variance."""
    if expected.value is None or expected.low is None or expected.high is None:
        return expected
    reach = float(normal_quantile(0.975)) * sd
    low = expected.value - float(np.hypot(expected.value - expected.low, reach))
    high = expected.value + float(np.hypot(expected.high - expected.value, reach))
    high = min(high, 1.0)
    low = max(low, 0.0) if expected.score == "accuracy" else low
    lift = expected.lift
    if lift is not None and expected.baseline is not None:
        lift = (min(lift[0], low - expected.baseline), lift[1], max(lift[2], high - expected.baseline))
    return replace(expected, low=low, high=high, lift=lift)


def _composed_marks(machine: Machine, raw: Numbers, codes: Codes, asked: Codes, truth: Answered, seed: int) -> Numbers:
    found = composing.composed(raw, codes, asked, seed=seed)
    return _by_combination(truth[found.place].marks(machine.scores(found.raw)), found.place)


def _names(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(member.name for member in members)


def _parts(combination: Ints, seed: int) -> tuple[Ints, Ints, bool]:
    """Rows to fit first, rows held out, and whether those are combinations of their own."""
    fitted, held = sampling.held_out(combination, seed=seed)
    order = np.random.default_rng(derived(seed, "order")).permutation(len(combination))
    if len(held) >= _FEWEST_HELD:
        return order[np.isin(order, fitted)], held, False  # in no order, so that half of them are half of everything
    cut = max(1, round(sampling.HELD_OUT * len(order)))
    return order[cut:], order[:cut], True


def _constant(answers: Answered) -> Numbers:
    """The scores of one answer for all: the mean, or the commonest class."""
    if answers.kind == "number":
        return np.asarray(answers.values.mean(axis=0))
    counts = np.bincount(answers.labels, minlength=answers.classes)
    return np.asarray(np.arange(answers.classes) == counts.argmax(), dtype=np.float64)


def _varies(answers: Answered) -> bool:
    return bool((answers.values != answers.values[0]).any()) if len(answers) else False


def _by_combination(marks: Numbers, place: Ints) -> Numbers:
    """The mean over the rows of each combination, of one line of marks or several."""
    counts = np.bincount(place)
    several = np.atleast_2d(marks)
    found = np.array([np.bincount(place, one) / counts for one in several])
    return found if marks.ndim > 1 else found[0]


def _check(rows: Any, seed: Any, seen_score: Any) -> None:
    check_whole("rows", rows, least=10, instead=f"write rows={MOST_ROWS}")
    check_seed(seed)
    if seen_score is not None:
        check_number("seen_score", seen_score, above=-1e9, most=1.0, instead="write a score, such as seen_score=0.95")


def _read(
    x: Any, y: Any, codes: Any, x_unseen: Any, codes_unseen: Any, truth: Any, kind: Kind | None
) -> tuple[Examples, Examples | None, Answered | None]:
    """The arrays, checked to be in step with one another."""
    inputs = checked_inputs(x)
    refuse_constant(inputs)
    own_codes = _codes(codes, None)
    targets = np.asarray(y)
    _in_step(len(inputs), len(targets), "y")
    _in_step(len(inputs), len(own_codes), "codes")
    answers, known = answered(targets, None if truth is None else np.asarray(truth), kind)
    train = Examples(inputs, answers, own_codes)
    if x_unseen is None or known is None:
        return train, None, known
    others = checked_inputs(x_unseen, width=inputs.shape[1])
    other_codes = _codes(codes_unseen, own_codes.shape[1])
    _in_step(len(others), len(known), "truth_unseen")
    _in_step(len(others), len(other_codes), "codes_unseen")
    return train, Examples(others, known, other_codes), known


def answered(y: Any, truth: Any | None, kind: Kind | None) -> tuple[Answered, Answered | None]:
    """Targets and truths with one numbering of their classes; whole numbers and text are labels unless told."""
    number = kind == "number" or (kind is None and (y.ndim > 1 or y.dtype.kind == "f"))
    if number:
        own = _numbers(y, "y")
        others = None if truth is None else Answered("number", _numbers(truth, "truth_unseen"))
        return Answered("number", own), others
    classes, places = np.unique(y if truth is None else np.concatenate([y, truth]), return_inverse=True)
    values = places.astype(np.float64)[:, None]
    own_labels = Answered("label", values[: len(y)], len(classes))
    if not _varies(own_labels):
        raise TableError(
            "every training row has the same answer",
            why="with one class only, every learner answers that class everywhere",
            instead="choose a target with at least two classes, or read more rows",
        )
    return own_labels, None if truth is None else Answered("label", values[len(y) :], len(classes))


def _numbers(values: Any, name: str) -> Numbers:
    found = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if not np.isfinite(found).all():
        raise TableError(
            f"{name} holds numbers that are missing or infinite",
            why="an error of such a row is not a number",
            instead="leave those rows out, with their inputs",
        )
    return found


def _codes(codes: Any, factors: int | None) -> Codes:
    found = np.asarray(codes)
    if found.ndim != 2 or (factors is not None and found.shape[1] != factors):
        raise SettingError(
            f"codes of shape {found.shape}",
            why="each row has the place of a value for each factor" + (f", {factors} of them" if factors else ""),
            instead="give whole numbers of shape (rows, factors)",
        )
    return found.astype(np.int32)


def _in_step(inputs: int, others: int, name: str) -> None:
    if inputs != others:
        raise SettingError(
            f"{inputs:,} rows of inputs and {others:,} of {name}",
            why="row i of one belongs to row i of the other",
            instead="give them in the same order, one for each row",
        )


def checked_inputs(given: Any, *, width: int | None = None) -> Numbers:
    """Inputs as rows of numbers, none of them missing."""
    found = np.asarray(given, dtype=np.float64)
    found = found.reshape(len(found), -1) if found.ndim else found.reshape(0, 0)
    if not len(found) or not found.shape[1]:
        raise TableError(
            f"inputs of shape {np.shape(given)}",
            why="there is nothing to compare",
            instead="give an array with a row of numbers for each example",
        )
    if width is not None and found.shape[1] != width:
        raise SettingError(
            f"{found.shape[1]:,} inputs for the rows of unseen combinations",
            why=f"the other rows have {width:,}",
            instead="make both by the same features",
        )
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        raise TableError(
            f"the inputs of {bad.sum():,} of {len(found):,} rows hold NaN or infinite numbers",
            why=f"such a row is like no other; the first is number {int(bad.argmax()) + 1:,} of those that were drawn",
            instead="leave those rows out, or fill the gaps first",
        )
    return found


def refuse_constant(inputs: Numbers) -> None:
    """Refuse inputs that are the same in every row."""
    if not np.ptp(inputs, axis=0).any():
        raise TableError(
            f"the inputs are the same in all {len(inputs):,} rows",
            why="from them no row can be told from another",
            instead="check the column or file: an embedding of the wrong layer, or of an empty text, looks like this",
        )
