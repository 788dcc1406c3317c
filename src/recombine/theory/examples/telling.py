"""What a forecast from examples says: the sentence that leads, and the reasons below it."""

from recombine.expected import Expected
from recombine.theory.examples.example_forecast import ExampleForecast
from recombine.words import interval_words, percent, points

_MUCH = 0.05
"""A difference of scores that is worth a sentence."""
_READABLE = 0.9


def verdict(found: ExampleForecast) -> str:
    """The forecast in one sentence, and what makes it low."""
    expected = found.expected
    if expected.value is None:
        return f"Nothing can be forecast from the examples: {expected.reason}."
    return " ".join(part for part in (_first(found, expected), _noise(found)) if part)


def _first(found: ExampleForecast, expected: Expected) -> str:
    assert expected.value is not None  # noqa: S101 - who abstains has said so
    share = found.score == "accuracy"
    said = interval_words(expected.value, expected.low, expected.high) if share else _r2_words(expected)
    base = expected.baseline or 0.0
    if share:
        beside = f'always answering "{found.constant}" gets {percent(base)}'
    else:
        beside = f"always answering the mean has {_two(base)}"
    unseen = _unseen(expected.of)
    if found.way == "held out":
        got = (
            f"get {said} of the rows of held-out combinations right"
            if share
            else f"have an R² of {said} on rows of held-out combinations"
        )
        return f"Networks like these {got}; {beside}. They stand for {unseen}."
    got = f"get {said} of the rows of {unseen} right" if share else f"have an R² of {said} on rows of {unseen}"
    how = ", judging by rows put together from seen ones" if found.way == "composed" else ""
    return f"Networks like these would {got}{how}; {beside}."


def _unseen(of: int) -> str:
    return "the unseen combination" if of == 1 else f"the {of:,} unseen combinations"


def _noise(found: ExampleForecast) -> str:
    """Whether rows that are hard to read cost the score, or combinations that were not seen."""
    seen, drop = found.seen, found.drop
    if seen is None or drop is None:
        return ""
    if found.score == "accuracy":
        start = f"On new rows of combinations that were seen they get {percent(seen)}"
    else:
        start = f"On new rows of combinations that were seen their R² is {_two(seen)}"
    if drop < _MUCH:
        return f"{start}: the combinations cost next to nothing, " + (
            "and the rows can be read." if seen >= _READABLE else "what fails is reading the rows."
        )
    if seen >= _READABLE:
        return f"{start}: reading them is not what fails."
    if found.score == "accuracy":
        return (
            f"{start}: {points(1 - seen)} are lost in reading rows, {points(drop)} more for want of the combinations."
        )
    return f"{start}: reading rows costs {_two(1 - seen)}, the want of the combinations {_two(drop)} more."


def _r2_words(expected: Expected) -> str:
    value, low, high = expected.value or 0.0, expected.low, expected.high
    return _two(value) if low is None or high is None else f"{_two(value)} ({_two(low)} to {_two(high)})"


def _two(r2: float) -> str:
    """An R² in two digits: nobody compares the third.

    >>> _two(-0.00832), _two(0.617)
    ('-0.01', '0.62')
    """
    return f"{round(r2, 2) + 0.0:.3g}"


def reasons(found: ExampleForecast) -> tuple[str, ...]:
    """Which machines were asked, how far they agree, and what was not looked at."""
    said = [_members(found), _rows(found), _probe(found), _composed(found), *found.notes]
    return tuple(sentence for sentence in said if sentence)


def _members(found: ExampleForecast) -> str:
    if not len(found.base):
        return ""
    scores = [value for value in found.by_member if value == value]  # noqa: PLR0124 - NaN is not itself
    if not scores:
        return ""
    low, high = (percent(one) if found.score == "accuracy" else _two(one) for one in (min(scores), max(scores)))
    between = f"{low} to {high}" if low != high else f"all of them {low}"
    rows = f"{found.rows:,} rows" if found.rows == found.of_rows else f"{found.rows:,} of {found.of_rows:,} rows"
    return (
        f"Asked were {len(found.members)} kernel machines that networks tend to, fitted to the inputs of {rows}: "
        f"{between}. Networks that learn features of their own can do better."
    )


def _rows(found: ExampleForecast) -> str:
    """How much hangs on the number of rows that were looked at."""
    if found.fewer is None or found.rows == found.of_rows:
        return ""
    few = percent(found.fewer) if found.score == "accuracy" else _two(found.fewer)
    return f"Four fifths of these rows would have given {few}: so little or much hangs on their number (--rows)."


def _probe(found: ExampleForecast) -> str:
    if found.probe is None:
        return ""
    said = percent(found.probe) if found.score == "accuracy" else f"an R² of {_two(found.probe)}"
    return f"A linear rule on the inputs gets {said}."


def _composed(found: ExampleForecast) -> str:
    if found.way != "composed":
        return ""
    better = "Rows of unseen combinations would make it surer, also without labels: unlabelled= (--unlabelled)."
    if found.correction is None:
        return (
            f"No seen combination could be spared to try it out: it rests on inputs that come apart by factor. {better}"
        )
    moved = found.correction[0]
    if not moved:
        return f"On seen combinations that were held out composed rows fared as true ones did, within chance. {better}"
    size = points(abs(moved)) if found.score == "accuracy" else _two(abs(moved))
    what = "low" if moved > 0 else "high"
    tried = f"On seen combinations that were held out composed rows came out {size} too {what}"
    return f"{tried}, which is corrected for. {better}"
