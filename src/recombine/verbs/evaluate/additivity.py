"""How additive a model's answers are: are they sums over the conjunctions that it was trained on?

A kernel-like learner can only add up what it has attached to conjunctions seen in training (Lippl and Stachenfeld,
ICLR 2025). So its mean answers on unseen combinations are fitted by one number for each such conjunction, and R² says
how much of them such a sum explains. The measure is empty where there are as many free numbers as answers: any answers
at all are then a sum. So the rank is always told beside it, and two R² that cannot be bought with more numbers: the
adjusted one, and the one in which each combination is foretold from the others.

Of classes only the chosen ones are known. A learner whose scores add up exactly still chooses classes whose shares do
not, so it is said that chosen classes cannot tell; for an answer, evaluate a class's score as a number.

Where the combinations or the conjunctions are at most some thousands, the projection is written out through a Gram
matrix: how many seen conjunctions two combinations share, or how many combinations two conjunctions. Beyond both, two
factors are solved as an additive rule, and a graph tells the rank. With more, the fit is found by conjugate gradients
over group sums, and the rank by the trace of the projection, estimated with random signs and told with its standard
error. Where these do not settle, the answer is that it was not computed. SciPy's sparse solvers would need the 2^K
entries of each combination written out.
"""

from dataclasses import dataclass, replace

import numpy as np

from recombine.base.words import count, measure, percent
from recombine.numerics.additive_design import AdditiveDesign
from recombine.numerics.groups import Ints, Numbers, distinct, totals
from recombine.numerics.sparse_solver import SparseLeverage
from recombine.numerics.value_graph import components
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.predict.diagnosis import SeenParts

MOST_WRITTEN_OUT = 2_000  # rows of a Gram matrix: its eigenvectors take a second or two
MOST_COMBINATIONS = 300_000  # that conjugate gradients are tried on
MOST_WORK = 10**8  # group sums: 2^K sets of factors for each combination, some gigabytes
_PROBES = 8  # random signs for the trace; its standard error is told, so that more would only narrow it
_LEVEL = 1e-9  # of the largest eigenvalue: a Gram matrix of counts has none that is truly smaller, only rounding
_ROUNDING = 1e-13  # of the answers: differences below are what adding them up in another order leaves
_CLOSE = 1e-6  # of the residual: R² is told to three digits
_ITERATIONS = 200  # a fit that takes more has directions that are all but free, and would not settle at all


@dataclass(frozen=True)
class Additivity:
    """How much of the mean answers on unseen combinations is a sum over seen conjunctions.

    `rank` numbers are free in such a sum (with a standard error where it is estimated), against `combinations` answers.
    `r2`, `adjusted` and `left_out` are None where they mean nothing, and `verdict` says why. `left_out` is over the
    `testable` combinations, those whose answer the others say something about.
    """

    verdict: str
    combinations: int
    rank: float | None
    rank_error: float
    vacuous: bool
    r2: float | None
    adjusted: float | None
    left_out: float | None
    testable: int | None


def additivity(outcomes: Outcomes, *, seed: int = 0) -> Additivity | None:
    """Fit the mean answers on unseen combinations by the conjunctions of each that were seen in training.

    Numbers answer with the mean prediction, classes with the share of each class. Every combination counts alike. None
    where it cannot be asked: no training table, or only scores and no answers.

    >>> from recombine.verbs.evaluate.outcomes import Score
    >>> from recombine.data.space import Space
    >>> from recombine.data.support import Support
    >>> space = Space.of({"a": range(4), "b": range(4)})
    >>> cells = np.array([(a, b) for a in range(4) for b in range(4)], dtype=np.int32)
    >>> seen = (cells == 0).any(axis=1)
    >>> asked, said = np.asfortranarray(cells[~seen]), cells[~seen].sum(axis=1).astype(float)
    >>> outcomes = Outcomes(
    ...     tested=Support(space, asked, np.ones(9)), training=Support(space, cells[seen], np.ones(7)),
    ...     kind="number", classes=(), combination=np.zeros(0, int), truth=np.zeros(0, int), said=np.zeros(0, int),
    ...     count=np.zeros(0), total=np.zeros(9), squares=np.zeros(9), prediction_total=said,
    ...     score=Score("mse", "lower"))
    >>> additivity(outcomes).verdict
    'The answers on 9 unseen combinations are 100 % additive (R² 1, left-out R² 1; 5 of 9 numbers are free).'
    """
    answers = _answers(outcomes)
    training = outcomes.training
    if answers is None or training is None:
        return None
    places, width = np.flatnonzero(outcomes.unseen), len(training.space.factors)
    if not len(places):
        return _abstain(0, "No unseen combination was tested, so there is nothing to add up.")
    if 2**width * (len(places) + len(training)) > MOST_WORK or len(places) > MOST_COMBINATIONS:
        what = f"{count(len(places))} unseen and {count(len(training))} seen combinations of {width} factors"
        return _abstain(len(places), f"How additive the answers are was not computed: {what} are too many for it.")
    parts = SeenParts.of(training, (1.0,) * 2**width, outcomes.tested.codes[places])
    centred = answers[places] - answers[places].mean(axis=0)
    if np.abs(centred).max() <= _ROUNDING * np.abs(answers[places]).max():
        same = f"The answers on all {count(len(places))} unseen combinations are the same: there is nothing to explain."
        return _abstain(len(places), same)
    centred = centred / np.abs(centred).max()  # R² has no unit, and squares of very small numbers would vanish
    fit = _fit(parts, centred, seed)
    if fit is None:
        return _abstain(len(places), "How additive the answers are was not computed: the fit did not settle.")
    found = _describe(centred, fit)
    if outcomes.kind == "label" and not found.vacuous:
        # classes with the largest score were chosen, and which one is largest does not add up
        chosen = found.verdict.replace("The answers on", "The chosen classes on", 1)
        unknown = "Whether the scores behind them add up cannot be told from chosen classes."
        found = replace(found, verdict=f"{chosen} {unknown}")
    return found


def _answers(outcomes: Outcomes) -> Numbers | None:
    """The mean answer of each tested combination: (combinations, 1), or (combinations, classes)."""
    if outcomes.kind == "number" and outcomes.prediction_total is not None:
        return (outcomes.prediction_total / outcomes.rows)[:, None]
    if outcomes.kind != "label" or not len(outcomes.count):
        return None
    width, size = len(outcomes.classes), len(outcomes)
    said = totals(outcomes.combination * width + outcomes.said, outcomes.count, size * width).reshape(size, width)
    return np.asarray(said / np.maximum(said.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True, eq=False)
class _AnswerFit:
    """What is left of the answers, the rank with its error, and each combination's leverage where it is known."""

    residual: Numbers
    rank: float
    rank_error: float
    leverage: Numbers | None


def _fit(parts: SeenParts, answers: Numbers, seed: int) -> _AnswerFit | None:
    if parts.rows <= MOST_WRITTEN_OUT:
        return _by_combinations(parts, answers)
    columns = _columns(parts)
    if int(columns.max()) + 1 <= MOST_WRITTEN_OUT:
        return _by_conjunctions(columns, answers)
    return _by_values(parts, answers) if len(parts.places) == 3 else _by_sums(parts, answers, seed)


def _by_values(parts: SeenParts, answers: Numbers) -> _AnswerFit | None:
    """Two factors, whose conjunctions are their values: all answers are solved for at once, and the rank is exact.

    It is that of the graph in which each combination links its two values: all of them less one for each connected
    part. The constant is the sum of one factor's values, and adds nothing.
    """
    codes = np.asfortranarray(np.stack(parts.places[1:], axis=1).astype(np.int32))
    design = AdditiveDesign(codes, parts.sizes[1:])
    values = distinct(design.columns.ravel(), design.width)
    rank = len(values) - len(np.unique(components(design.columns, design.width)[values]))
    numbers, passed = SparseLeverage(design).effects(design.rows(codes).back(answers))
    if not passed.all():
        return None
    return _AnswerFit(answers - numbers[design.columns].sum(axis=1), float(rank), 0.0, None)


def _by_combinations(parts: SeenParts, answers: Numbers) -> _AnswerFit:
    """The projection onto the columns, through how many columns two combinations share."""
    gram = np.zeros((parts.rows, parts.rows))
    for place, size in zip(parts.places, parts.sizes, strict=True):
        gram += (place[:, None] == place) & (place < size)
    values, vectors = np.linalg.eigh(gram)
    basis = vectors[:, values > _LEVEL * values[-1]]
    residual = answers - basis @ (basis.T @ answers)
    return _AnswerFit(residual, float(basis.shape[1]), 0.0, (basis**2).sum(axis=1))


def _columns(parts: SeenParts) -> Ints:
    """The columns of each combination, numbered through: (sets, combinations), -1 where the part was never seen."""
    found, before = np.full((len(parts.places), parts.rows), -1, dtype=np.int64), 0
    for row, place, size in zip(found, parts.places, parts.sizes, strict=True):
        seen = place < size
        keys, ids = np.unique(place[seen], return_inverse=True)
        row[seen] = ids + before
        before += len(keys)
    return found


def _by_conjunctions(columns: Ints, answers: Numbers) -> _AnswerFit:
    """The same, through how many combinations two columns share."""
    size = int(columns.max()) + 1
    pairs = [(one, other) for one in columns for other in columns]
    gram = np.zeros(size * size)
    for one, other in pairs:
        both = (one >= 0) & (other >= 0)
        gram += totals(one[both] * size + other[both], None, size * size)
    values, vectors = np.linalg.eigh(gram.reshape(size, size))
    kept = values > _LEVEL * values[-1]
    inverse = np.zeros((size + 1, size + 1))  # a last row of nothing for what was never seen
    inverse[:-1, :-1] = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    leverage = np.zeros(columns.shape[1])
    for one, other in pairs:
        leverage += inverse[one, other]
    sums = sum(np.stack([totals(one + 1, y, size + 1)[1:] for y in answers.T], axis=1) for one in columns)
    numbers = np.vstack([inverse[:-1, :-1] @ sums, np.zeros((1, answers.shape[1]))])
    return _AnswerFit(answers - numbers[columns].sum(axis=0), float(kept.sum()), 0.0, leverage)


def _by_sums(parts: SeenParts, answers: Numbers, seed: int) -> _AnswerFit | None:
    """The same by group sums: one solve for each column of answers, and for each of some random signs."""
    signs = np.random.default_rng([seed, 3]).choice([-1.0, 1.0], size=(_PROBES, parts.rows))
    sizes = np.concatenate(parts.sums(np.ones(parts.rows)))
    scale, everywhere = 1 / np.sqrt(np.maximum(sizes, 1.0)), np.ones(parts.rows)
    solved = []
    for given in [*signs, *answers.T]:
        found = parts.projected(given, everywhere, tolerance=_CLOSE, iterations=_ITERATIONS, scale=scale)
        if not found.settled:  # with nearly as many columns as combinations there are all but free directions
            return None
        solved.append(found.fit)
    traces = np.array([float(sign @ image) for sign, image in zip(signs, solved, strict=False)])
    error = float(traces.std(ddof=1) / np.sqrt(_PROBES))
    return _AnswerFit(answers - np.stack(solved[_PROBES:], axis=1), float(traces.mean()), error, None)


def _describe(answers: Numbers, fit: _AnswerFit) -> Additivity:
    size = len(answers)
    spare = size - fit.rank
    if spare <= max(3 * fit.rank_error, 0.5):
        verdict = (
            f"Any answers on these {count(size)} unseen combinations would be additive: "
            f"a sum over seen conjunctions has {count(round(fit.rank))} free numbers. Nothing can be concluded."
        )
        return Additivity(verdict, size, fit.rank, fit.rank_error, True, None, None, None, None)
    total = float((answers**2).sum())
    r2 = round(1 - float((fit.residual**2).sum()) / total, 12)
    adjusted = 1 - (1 - r2) * (size - 1) / spare
    left_out, testable = _left_out(answers, fit)
    foretold, name = (adjusted, "adjusted") if left_out is None else (left_out, "left-out")
    about = "about " if fit.rank_error else ""
    free = f"{about}{count(round(fit.rank))} of {count(size)} numbers are free"
    numbers = f"(R² {measure(r2)}, {name} R² {measure(foretold)}; {free})"
    how = f"{percent(min(foretold, 1.0))} additive" if foretold > 0 else "not additive beyond the numbers spent"
    verdict = f"The answers on {count(size)} unseen combinations are {how} {numbers}."
    return Additivity(verdict, size, fit.rank, fit.rank_error, False, r2, adjusted, left_out, testable)


def _left_out(answers: Numbers, fit: _AnswerFit) -> tuple[float | None, int | None]:
    """R² when each combination is foretold from the others, against their mean; None where none can be."""
    if fit.leverage is None:
        return None, None
    keep: Ints = np.flatnonzero(fit.leverage < 1 - 1e-7)  # at 1 nothing but the combination itself tells its answer
    missed = fit.residual[keep] / (1 - fit.leverage[keep])[:, None]
    size = len(answers)
    from_mean = answers[keep] * size / (size - 1)  # the mean of the others: the answers are centred
    total = float((from_mean**2).sum())
    return (round(1 - float((missed**2).sum()) / total, 12) if total > 0 else None), len(keep)


def _abstain(size: int, verdict: str) -> Additivity:
    return Additivity(verdict, size, None, 0.0, False, None, None, None, None)
