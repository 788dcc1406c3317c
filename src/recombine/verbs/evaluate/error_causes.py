"""Why the errors on unseen combinations happen: memory, a shortcut through one factor, or neither.

Several explanations can fit one error, and with two classes nearly all do. So every answer on an unseen combination,
right or wrong, is taken to come from one of several sources: knowing (the truth), memory, a shortcut, the commonest
class, or none of these (any wrong class alike). Their shares are those that make all the answers likeliest (expectation
maximisation; the likelihood is concave, so there is one best value). An error is then split among its explanations in
proportion. Right answers count as evidence too: a shortcut that should have misled the model and did not is no cause.

A shortcut is named only if the answers go with the factor's values by more than chance (`shortcut_test`): where each
combination has an error rate of its own, some factor's answers always fit the errors best.

Intervals resample combinations. Each resample starts from other shares, so what the data leave open stays wide.
No library fits this: it is twenty lines, and vectorised over the resamples.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recombine.base.words import count, listing, percent
from recombine.data.space import text
from recombine.data.support import LabelTarget
from recombine.numerics.groups import Ints
from recombine.numerics.intervals import reflected_interval
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.evaluate.error_explanations import (
    DRAWS,
    ConfusionLines,
    Explanation,
    Mixture,
    explanations,
    mixture_of,
    together,
    unseen_lines,
)
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.shortcut_test import followed, following_chances

_FEWEST = 10  # unseen combinations with an error, for an interval
_SURE = 0.9  # of the resamples that must name the same explanation
_EXAMPLES = 3  # of each explanation
_SETTINGS = IntervalSettings(draws=DRAWS)
_MOST = 0.5  # of the errors, for which two explanations together must surely account
_FIRMER = 0.2  # how much more than either alone
_MATTERS = 0.1  # of the errors: a smaller share is not worth a word
_ALIKE = 0.05  # probabilities closer than this, or fewer of the errors, do not tell two explanations apart


@dataclass(frozen=True)
class Share:
    """One explanation and its part of the errors.

    `share` is what it gets when each error is split, with a 95 % interval; `fits` how many errors give an answer
    that it could have given, `only` how many of them no other explanation fits. Beside the share of the errors that
    it fits stand two base rates: the share of the right answers that it fits, and the share of errors that it would
    fit if errors fell anywhere at random.
    """

    name: str
    habit: str
    factors: tuple[str, ...]
    share: float
    low: float | None
    high: float | None
    fits: float
    only: float
    among_errors: float
    among_right: float | None
    by_chance: float | None


@dataclass(frozen=True)
class Together:
    """Two explanations that stand for each other: their sum is firm, though not how it is divided."""

    names: tuple[str, str]
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Example:
    """An error that tells much, and the explanation that fits it best."""

    combination: dict[str, str]
    truth: str
    said: str
    count: float
    explanation: str


@dataclass(frozen=True)
class Anatomy:
    """The errors on unseen combinations and what explains them, the largest share first.

    `leading` is None where the data cannot tell, or where it would be a shortcut and answers do not follow the factor
    beyond chance; `sure` is the share of resamples that agree on the first place. `several` errors are fitted by more
    than one explanation, `none` by not one.
    """

    verdict: str
    errors: float
    right: float
    combinations: int
    shares: tuple[Share, ...]
    leading: str | None
    sure: float | None
    several: float
    none: float
    cannot_tell: tuple[str, ...]
    together: Together | None
    examples: tuple[Example, ...]
    draws: int


def anatomy(outcomes: Outcomes, *, seed: int = 0) -> Anatomy | None:
    """Split the errors on unseen combinations among their explanations.

    None where the question cannot be asked: no classes, or a training table whose answers are not known.

    >>> import recombine
    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> cells = [(bird, place) for bird in range(20) for place in range(20)]
    >>> rows = [cell for cell in cells if cell[0] // 10 == cell[1] // 10 or cell[0] % 5 == 0]
    >>> table = {"bird": [b for b, _ in rows], "place": [p for _, p in rows], "sea": [b < 10 for b, _ in rows]}
    >>> training = recombine.read(table, factors=["bird", "place"], target="sea")
    >>> codes = np.asfortranarray([cell for cell in cells if cell not in rows], dtype=np.int32)
    >>> size, true, said = len(codes), (codes[:, 0] < 10).astype(int), (codes[:, 1] < 10).astype(int)
    >>> outcomes = Outcomes(
    ...     recombine.Support(training.space, codes, np.ones(size)), training, "label", (False, True),
    ...     np.arange(size), true, said, np.ones(size), np.zeros(size), np.zeros(size), None,
    ...     Score("accuracy", "higher"))
    >>> found = anatomy(outcomes)
    >>> found.errors, found.shares[0].name
    (160.0, 'shortcut: place')
    """
    training = outcomes.training
    if outcomes.kind != "label" or training is None or not isinstance(training.target, LabelTarget):
        return None
    lines = unseen_lines(outcomes)
    if not lines.errors or not training.target.count.sum() > 0:
        return _nothing(lines)
    habits = together(explanations(training, lines), lines)
    mixture = mixture_of(lines, habits, seed=seed)
    chances = following_chances(outcomes, draws=DRAWS, seed=seed)
    trusted = {name for name, yes in zip(training.space.names, followed(chances), strict=True) if yes}
    return _assemble(outcomes, lines, habits, mixture, trusted)


def _nothing(lines: ConfusionLines) -> Anatomy:
    tested = len(lines.codes)
    if not tested:
        verdict = "No unseen combination was tested, so there are no errors to explain."
    elif not lines.errors:
        verdict = f"There are no errors on the {count(tested)} unseen combinations: nothing is to be explained."
    else:
        verdict = f"The {count(lines.errors)} errors cannot be explained: the training table has no answers."
    right = float(lines.count.sum()) - lines.errors
    return Anatomy(verdict, lines.errors, right, tested, (), None, None, 0.0, 0.0, (), None, (), 0)


def _assemble(
    outcomes: Outcomes,
    lines: ConfusionLines,
    habits: tuple[Explanation, ...],
    mixture: Mixture,
    trusted: set[str],
) -> Anatomy:
    wrong, errors, rows = lines.wrong, lines.errors, float(lines.count.sum())
    fits = np.stack([one.probability > 0 for one in habits], axis=1)
    fitting = fits.sum(axis=1)
    firm = len(np.unique(lines.combination[wrong])) >= _FEWEST
    none = float(lines.count[wrong & (fitting == 0)].sum())
    shares = []
    for e, one in enumerate(habits):
        fitted = float(lines.count[wrong & fits[:, e]].sum())
        by_right = float(lines.count[~wrong & fits[:, e]].sum()) / (rows - errors) if rows > errors else None
        by_chance = float(lines.count @ one.allowed) / max(lines.classes - 1, 1) / rows
        only = float(lines.count[wrong & fits[:, e] & (fitting == 1)].sum())
        part = _estimate(mixture, e, firm=firm)
        shares.append(
            Share(one.name, one.habit, one.factors, *part, fitted, only, fitted / errors, by_right, by_chance)
        )
    part = _estimate(mixture, len(habits), firm=firm)
    shares.append(Share("neither", "neither", (), *part, none, none, none / errors, None, None))
    shares.sort(key=lambda one: -one.share)
    sure = _agreement(mixture) if firm else None
    by_factor = shares[0].factors and shares[0].habit == "shortcut"
    told = sure is not None and sure >= _SURE and (not by_factor or bool(trusted & set(shares[0].factors)))
    leading = shares[0] if told else None
    unclear = _cannot_tell(lines, habits, mixture)
    pair = _together(habits, mixture) if firm and leading is None else None
    return Anatomy(
        verdict=_verdict(lines, shares, leading, firm, unclear, pair),
        errors=errors,
        right=rows - errors,
        combinations=len(lines.codes),
        shares=tuple(shares),
        leading=leading.name if leading else None,
        sure=sure,
        several=float(lines.count[wrong & (fitting > 1)].sum()),
        none=none,
        cannot_tell=unclear,
        together=pair,
        examples=_examples(outcomes, lines, habits, mixture, fitting),
        draws=DRAWS if firm else 0,
    )


def _estimate(mixture: Mixture, place: int, *, firm: bool) -> tuple[float, float | None, float | None]:
    """One explanation's share with its interval, where there are errors enough for one."""
    share = float(mixture.shares[place])
    low, high = reflected_interval(share, mixture.draws[place], _SETTINGS) if firm else (None, None)
    return share, low, high


def _together(habits: tuple[Explanation, ...], mixture: Mixture) -> Together | None:
    """The two explanations that surely account for most errors between them, where neither does by itself."""
    alone = [_estimate(mixture, e, firm=True)[1] or 0.0 for e in range(len(habits))]
    pairs = []
    for p, q in combinations(range(len(habits)), 2):
        share = float(mixture.shares[p] + mixture.shares[q])
        low, high = reflected_interval(share, mixture.draws[p] + mixture.draws[q], _SETTINGS)
        if low >= _MOST and low - max(alone[p], alone[q]) >= _FIRMER:
            pairs.append(Together((habits[p].name, habits[q].name), share, low, high))
    return max(pairs, key=lambda pair: pair.low, default=None)


def _agreement(mixture: Mixture) -> float:
    """In how many resamples the largest share belongs to the same explanation as in all the answers."""
    usable = mixture.draws[:, np.isfinite(mixture.draws).all(axis=0)]
    return float((usable.argmax(axis=0) == int(mixture.shares.argmax())).mean())


def _cannot_tell(lines: ConfusionLines, habits: tuple[Explanation, ...], mixture: Mixture) -> tuple[str, ...]:
    """Explanations that are one, or nearly: they differ on few of the errors that either fits."""
    wrong, shares = lines.wrong, mixture.shares
    anything = wrong / max(lines.classes - 1, 1)
    said = [
        f"{one.name} or neither: it gives every wrong answer that can be given to the tested unseen combinations; "
        "some on which it is right would tell"
        for e, one in enumerate(habits)
        if np.allclose(one.probability, anything) and max(shares[e], shares[-1]) >= _MATTERS
    ]
    said += [
        f"{one.name}: they give the same answers on every tested unseen combination"
        for e, one in enumerate(habits)
        if one.habit == "unclear" and shares[e] >= _MATTERS
    ]
    for (p, one), (q, other) in combinations(enumerate(habits), 2):
        either = wrong & ((one.probability > 0) | (other.probability > 0))
        apart = either & (np.abs(one.probability - other.probability) > _ALIKE)
        few, many = float(lines.count[apart].sum()), float(lines.count[either].sum())
        if max(shares[p], shares[q]) >= _MATTERS and few < _ALIKE * many:
            said.append(f"{one.name} or {other.name}: {count(few)} of {count(many)} errors tell them apart")
    return tuple(said)


def _examples(
    outcomes: Outcomes, lines: ConfusionLines, habits: tuple[Explanation, ...], mixture: Mixture, fitting: Ints
) -> tuple[Example, ...]:
    """For each explanation the largest errors that it alone fits, or else that are put down to it most."""
    names = [*(one.name for one in habits), "neither"]
    best = mixture.split.argmax(axis=1)
    telling: list[Example] = []
    for e in np.argsort(-mixture.shares, kind="stable").tolist():
        mine = np.flatnonzero(lines.wrong & (best == e))
        order = np.lexsort((-lines.count[mine], -mixture.split[mine, e], fitting[mine] > 1))
        for line in mine[order[:_EXAMPLES]]:
            combination = outcomes.labels(int(lines.places[lines.combination[line]]))
            truth, said = (text(outcomes.classes[int(place[line])]) for place in (lines.truth, lines.said))
            telling.append(Example(combination, truth, said, float(lines.count[line]), names[e]))
    return tuple(telling)


def _verdict(
    lines: ConfusionLines,
    shares: list[Share],
    leading: Share | None,
    firm: bool,
    unclear: tuple[str, ...],
    pair: Together | None,
) -> str:
    noun = "error" if lines.errors == 1 else "errors"
    head = f"{count(lines.errors)} {noun} on unseen combinations"
    if not firm:
        where = len(np.unique(lines.combination[lines.wrong]))
        return f"The {head} lie on {count(where)} combinations: too few to tell why they happen."
    if pair is not None:
        return (
            f"Of {head}, {percent(pair.share)} (95 % interval {_reach(pair)}) are put down to {listing(pair.names)} "
            "together; how much to each cannot be told."
        )
    if leading is None:
        rivals = [f"{one.name} {percent(one.share)} ({_reach(one)})" for one in shares[:3] if one.share >= _MATTERS]
        why = f" Not to be told apart: {unclear[0]}." if unclear else ""
        return f"No single cause of the {head} stands out: {listing(rivals)}.{why}"
    cause = {
        "memory": "are put down to memory: the answer of the nearest seen combination.",
        "shortcut": f"are put down to a shortcut: the answer that {listing(leading.factors)} alone predicts.",
        "commonest": "are put down to the commonest class in training, whatever the combination.",
        "unclear": f"are put down to {leading.name}, which give the same answers here.",
        "neither": "have no simple cause: neither the nearest seen combination nor one factor alone gives them.",
    }[leading.habit]
    return f"Of {head}, {percent(leading.share)} (95 % interval {_reach(leading)}) {cause}"


def _reach(one: Share | Together) -> str:
    return f"{100 * (one.low or 0.0):.0f} to {100 * (one.high or 0.0):.0f} %"
