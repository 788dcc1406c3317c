"""Seen combinations held out for each class of unseen ones as that class is missing: alone, or block by block.

Which classes there are, and what a block is: `audit.block_holdout`. The learner is taught anew without each block.
"""

from dataclasses import dataclass

import numpy as np

from recombine.base import limits
from recombine.base.errors import RecombineError
from recombine.base.grades import FEWEST_TESTED
from recombine.base.progress import Progress
from recombine.data.missing_conjunctions import missing_conjunctions
from recombine.numerics.groups import Codes, Ints
from recombine.verbs.audit.block_holdout import MissingClass, blocks_of, missing_classes
from recombine.verbs.predict.holdout_record import HeldOutAnswers, block_out, fold, joined
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.learner import FittedLearner

_LOOKED_AT = 20_000
"""Unseen combinations by which it is told what they miss."""
_MOST_BLOCKS = 40
"""Over all classes, each by its share, and no class less than twice the fewest that say anything."""
_MOST_WORK = 2 * 10**9
"""Blocks times the cube of the combinations that are left: some ten seconds."""


@dataclass(frozen=True, eq=False)
class HeldOutClass:
    """What was held out for one class of unseen combinations, and the block of each."""

    missing: MissingClass
    tried: HeldOutAnswers
    pieces: Ints

    @property
    def spared(self) -> int:
        """How many pieces of evidence there are about combinations that the others fix."""
        return len(np.unique(self.pieces[self.tried.determined]))


@dataclass(frozen=True, eq=False)
class HeldOutClasses:
    """What was held out, class by class, and which combinations are of each class; some are of several.

    `untested` are the sets of factors for which nothing like the unseen ones could be held out, and `unlike` the
    combinations that miss one of these, or none that was looked at.
    """

    tested: tuple[HeldOutClass, ...]
    members: tuple[Ints, ...]
    unlike: Ints
    untested: tuple[tuple[str, ...], ...] = ()


def held_out_classes(
    learner: FittedLearner,
    salience: Salience | str,
    alone: HeldOutAnswers,
    codes: Codes,
    asked: Ints,
    *,
    progress: Progress | None = None,
) -> HeldOutClasses:
    """Hold out as those of the `codes` are missing that are `asked` about; `alone` are those held out one at a time, or
    in folds at random.
    """
    known, every = learner.support, tuple(range(codes.shape[1]))
    one_by_one = HeldOutClass(MissingClass(every, 1.0, float(max(len(asked), 1)), 1.0), alone, np.arange(len(alone)))
    # a pair that was never seen is the whole combination; but a set that was never seen is missing in all of them
    if len(every) <= (1 if known.space.set_factors else 2) or not len(asked):
        return HeldOutClasses((one_by_one,), (asked,), np.setdiff1d(np.arange(len(codes)), asked))
    some = asked[:: max(len(asked) // _LOOKED_AT, 1)]
    found: list[HeldOutClass] = []
    classes = missing_classes(known, codes[some], np.ones(len(some)))
    for missing in limits.within_time(classes, "kinds of unseen combinations tested in blocks"):
        if progress:
            progress("back-testing in blocks", len(found) / len(classes))
        one = (
            HeldOutClass(missing, alone, one_by_one.pieces)
            if missing.factors == every
            else _in_blocks(learner, salience, missing)
        )
        if one is not None and (one.spared >= FEWEST_TESTED or missing.factors == every):
            found.append(one)
    done = [one.missing.factors for one in found]
    names = [tuple(known.space.names[k] for k in one.factors) for one in classes if one.factors not in done]
    misses = missing_conjunctions(known, codes[asked]).misses
    members = {one.factors: asked[misses(one.factors)] for one in classes}
    like = np.zeros(len(codes), dtype=bool)
    for factors, mine in sorted(members.items(), key=lambda item: item[0] not in done):  # untested have the last word
        like[mine] = factors in done
    return HeldOutClasses(tuple(found), tuple(members[one] for one in done), np.flatnonzero(~like), tuple(names))


def _in_blocks(learner: FittedLearner, salience: Salience | str, missing: MissingClass) -> HeldOutClass | None:
    """The learner taught without one block after another, as many as there is time for; over sets in closed form."""
    known = learner.support
    blocks = blocks_of(known, missing.factors, share=missing.share, seed=learner.seed)
    at_once = bool(known.space.set_factors) and salience != "fit"  # then the kernel is inverted once for all blocks
    most = max(2 * FEWEST_TESTED, round(_MOST_BLOCKS * missing.share))
    most = most if at_once else min(most, _MOST_WORK // len(known) ** 3)
    if most < FEWEST_TESTED:
        return None
    if len(blocks) > most:
        chosen = np.random.default_rng(learner.seed).choice(len(blocks), size=most, replace=False)
        blocks = [blocks[number] for number in np.sort(chosen)]
    found: list[HeldOutAnswers] = []
    for block in limits.within_time(blocks, "blocks held out"):
        try:
            rest = np.setdiff1d(np.arange(len(known)), block)
            told = block_out(learner, block) if at_once else None
            found.append(fold(learner, salience, rest, block, rules=False) if told is None else told)
        except RecombineError:  # what is left is too little for this learner: such a block cannot be spared
            continue
    if not found:
        return None
    return HeldOutClass(missing, joined(found), np.repeat(np.arange(len(found)), [len(one) for one in found]))
