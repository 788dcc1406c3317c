"""Two forecasts of a score, each with its interval: the difference is as unsure as both together.

The combinations that a forecast rests on are not kept one by one, so the two are not paired: the distances to the ends
are added up as those of independent numbers are (Newcombe 1998). They mostly rest on the same combinations, which makes
the difference surer than is said here.
"""

import math

from recombine.comparing.findings import ScoreChange, outcome
from recombine.expected import Expected


def forecast_change(old: Expected | None, new: Expected | None) -> tuple[tuple[ScoreChange, ...], str | None]:
    """The change of a score to expect; or none, and why.

    >>> first = Expected("accuracy", 0.9, 0.85, 0.94, tested=200, of=40, basis="combinations")
    >>> second = Expected("accuracy", 0.7, 0.6, 0.78, tested=150, of=40, basis="combinations")
    >>> (found,), _ = forecast_change(first, second)
    >>> round(found.low, 2), round(found.high, 2), found.outcome
    (-0.31, -0.11, 'worse')
    """
    if old is None and new is None:
        return (), None
    for one, name in ((old, "old"), (new, "new")):
        if one is None or one.value is None or one.low is None or one.high is None:
            return (), f"the {name} one promises no score" + (f": {one.reason}" if one and one.reason else "")
    assert old is not None  # noqa: S101 - seen above, one by one
    assert new is not None  # noqa: S101
    if (old.score, old.basis) != (new.score, new.basis):
        return (), f"{old.score} from {old.basis} is not {new.score} from {new.basis}"
    return (_change(old, new),), None


def _change(old: Expected, new: Expected) -> ScoreChange:
    before, after = (_ends(one) for one in (old, new))
    value = after[1] - before[1]
    low = value - math.hypot(after[1] - after[0], before[2] - before[1])
    high = value + math.hypot(after[2] - after[1], before[1] - before[0])
    same = before == after
    return ScoreChange(
        name="unseen",
        score=new.score,
        share=new.score == "accuracy",
        better="higher",
        combinations=min(old.tested, new.tested),
        old=before[1],
        new=after[1],
        difference=value,
        low=0.0 if same else low,
        high=0.0 if same else high,
        outcome=outcome(low, high, "higher", same=same),
        paired=False,
    )


def _ends(one: Expected) -> tuple[float, float, float]:
    assert one.low is not None  # noqa: S101 - whoever abstains is told apart before
    assert one.value is not None  # noqa: S101
    assert one.high is not None  # noqa: S101
    return one.low, one.value, one.high
