"""What adding up gives for combinations some of whose factors are sets: one effect for each element, by least squares.

A forecast by the additive rule alone, for as long as `predict` knows no sets. Each seen combination counts once, by the
mean of its rows. How far to trust it stands beside it: the leverage, and the audit's held-out score.
"""

import numpy as np

from recombine.data.support import NumberTarget, Support
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.incidence_fit import LARGEST, IncidenceFit
from recombine.numerics.sparse_solver import SparseLeverage
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.seen_answers import seen_answers, why_untestable


def set_answers(support: Support, solved: Determinacy, codes: Codes) -> Numbers | None:
    """(c,) What the effects of a number add up to; NaN where the seen combinations leave it open, None without one.

    >>> import recombine
    >>> table = {"given": ["ctrl", "A", "B+C", "B"], "y": [1.0, 3.0, 9.0, 4.0]}
    >>> seen = recombine.read(table, sets={"drugs": "given:+"}, target="y")
    >>> asked = seen.space.encode([("A + B",), ("C + A",), ("D",)])
    >>> set_answers(seen, determinacy(seen), asked).round(6).tolist()
    [6.0, 8.0, nan]
    """
    target = support.target
    if not isinstance(target, NumberTarget) or why_untestable(target, len(support)) is not None:
        return None
    answers = seen_answers(target, len(support))
    if len(answers.rows) < len(support):  # those without an answer tell nothing
        support = support.subset(answers.rows)
        solved = determinacy(support)
    design = IncidenceDesign(support.codes, support.space.effects)
    if design.width <= LARGEST:
        effects = IncidenceFit.of(design.seen, rank=solved.rank).effects(answers.values)
    else:
        effects, passed = SparseLeverage(design).effects(design.seen.back(answers.values))
        effects[:, ~passed] = np.nan
    level = float(target.mean[answers.rows].mean())
    said = level + design.rows(codes).sums(effects)[:, 0]
    return np.where(solved.determined(codes), said, np.nan)
