"""What adding up gives for combinations some of whose factors are sets: one effect for each element, by least squares.

What an audit says of a combination that is asked for: the additive rule alone, which is the rule that it tests. Each
seen combination counts once, by the mean of its rows. `predict` asks learners that also remember whole combinations.
"""

import numpy as np

from recombine.data.support import NumberTarget, Support
from recombine.numerics.effects import IncidenceDesign
from recombine.numerics.groups import Codes, Numbers
from recombine.numerics.incidence_fit import fitted_effects
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
    effects, _ = fitted_effects(IncidenceDesign(support.codes, support.space.effects), answers.values)
    level = float(target.mean[answers.rows].mean())
    said = level + support.space.effects.rows(codes).sums(effects)[:, 0]
    return np.where(solved.determined(codes), said, np.nan)
