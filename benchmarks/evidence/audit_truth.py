"""What is true of the unseen combinations of a planted world, by a plain least-squares fit of our own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evidence.drawing import AuditWorld, Codes, Ints, Mask, Numbers, Rng, sizes_of, value_columns

_LIKE = 1.1
"""As an audit says it: an unseen combination is like the tested ones if its error is at most a tenth above theirs."""


@dataclass(frozen=True)
class AdditiveTruth:
    """Scores of the additive rule, or of another that was chosen, taught all that is seen, on unseen combinations.

    `of_spoken` is of those that the audit speaks of, whose leverage is within reach of tested ones of their kind; if
    these are not as many as it says (`as_many`), of all that are determined. `of_determined` is of these, and
    `of_constant` what one answer for all reaches there; `determined` is their share of the unseen.
    """

    of_spoken: float | None
    as_many: bool
    of_determined: float | None
    of_constant: float | None
    determined: float


def additive_truth(
    world: AuditWorld,
    combination: Ints,
    values: npt.NDArray[Any],
    rng: Rng,
    *,
    of: int,
    spoken_of: Mask | None = None,
    said: Numbers | None = None,
) -> AdditiveTruth:
    """Fresh rows of every unseen combination, as many as a seen one has, beside what the rule says of it.

    `of` is how many of them the audit speaks of, `spoken_of` (n,) which, where it says so; `said` (n, m) what another
    rule says of each.
    """
    seen, unseen = np.flatnonzero(world.seen), np.flatnonzero(~world.seen)
    design = one_hot(world.codes)
    answers = world.answers(combination, values, seen)
    middle = answers.mean(axis=0)
    fit = said
    if fit is None:
        fit = design @ np.linalg.lstsq(design[seen], answers - middle, rcond=None)[0] + middle
    determined, like = _reach(design, seen, unseen)
    target = world.answers(*world.sample(unseen, rng), unseen)
    constant = np.tile(middle, (len(world.codes), 1))
    told = like if spoken_of is None else determined & spoken_of[unseen]
    spoken = told if told.sum() == of else determined
    return AdditiveTruth(
        _score(world, target, fit[unseen], middle, spoken),
        bool(spoken.sum() == of),
        _score(world, target, fit[unseen], middle, determined),
        _score(world, target, constant[unseen], middle, determined),
        float(determined.mean()),
    )


def one_hot(codes: Codes) -> Numbers:
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes_of(codes))], axis=1)


def _reach(design: Numbers, seen: Ints, unseen: Ints) -> tuple[Mask, Mask]:
    """Which unseen ones follow from the seen, and which of these hang on no less than one that could be held out."""
    gram = design[seen].T @ design[seen]
    inverse = np.linalg.pinv(gram, hermitian=True)
    determined = np.abs(design[unseen] @ (gram @ inverse).T - design[unseen]).max(axis=1) < 1e-8
    own, theirs = (np.einsum("ij,jk,ik->i", design[p], inverse, design[p]) for p in (seen, unseen))
    testable = own < 1 - 1e-8
    reach = (own[testable] / (1 - own[testable])).max(initial=-1.0)
    return determined, determined & (1 + theirs <= _LIKE**2 * (1 + reach) + 1e-9)


def _score(world: AuditWorld, target: Numbers, said: Numbers, middle: Numbers, chosen: Mask) -> float | None:
    target, said = target[chosen], said[chosen]
    if not len(target):
        return None
    if world.classes:
        best = target == target.max(axis=1, keepdims=True)
        return float((best[np.arange(len(said)), said.argmax(axis=1)] / best.sum(axis=1)).mean())
    usual = np.square(target - middle).sum()
    return float(1 - np.square(target - said).sum() / usual) if usual > 0 else None


def predicted_truth(
    world: AuditWorld, said: Mapping[tuple[str, ...], Any], combination: Ints, values: npt.NDArray[Any], rng: Rng
) -> float | None:
    """The score of what was said of some combinations, by their values, on fresh rows of these."""
    columns = value_columns(world.codes)
    names = list(zip(*(columns[name] for name in world.factors), strict=True))
    asked = np.array([place for place, name in enumerate(names) if name in said])
    if not len(asked):
        return None
    told = [said[names[place]] for place in asked]
    wide = np.eye(world.classes)[[int(one[1:]) for one in told]] if world.classes else np.array(told)[:, None]
    middle = world.answers(combination, values, np.flatnonzero(world.seen)).mean(axis=0)
    target = world.answers(*world.sample(asked, rng), asked)
    return _score(world, target, wide, middle, np.ones(len(asked), dtype=bool))


def learner_truth(
    world: AuditWorld, learner: Any, combination: Ints, values: npt.NDArray[Any], rng: Rng
) -> float | None:
    """The score of an estimator on fresh rows of the unseen combinations, each of which counts alike."""
    design = one_hot(world.codes)
    said = learner.fit(design[combination], values).predict(design)
    unseen = np.flatnonzero(~world.seen)
    there, truth = world.sample(unseen, rng)
    each = lambda scores: (np.bincount(there, scores) / np.maximum(np.bincount(there), 1))[unseen]  # noqa: E731
    if world.classes:
        return float(each((truth == said[there]).astype(float)).mean())
    middle = world.answers(combination, values, np.flatnonzero(world.seen)).mean()
    usual = each(np.square(truth - middle)).sum()
    return float(1 - each(np.square(truth - said[there])).sum() / usual)
