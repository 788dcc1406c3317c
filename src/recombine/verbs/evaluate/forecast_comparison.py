"""A forecast beside what was measured: by how much it missed, and whether its interval held.

The miss is forecast less measured. Its interval adds up both of theirs: on each side the distances from value to end
are those of independent errors, so their squares add.
"""

import math
from dataclasses import dataclass

from recombine.base.grades import Expected
from recombine.base.words import measure, percent, percent_range, points


@dataclass(frozen=True)
class ForecastBeside:
    """What was forecast, what was measured, and `miss`: the one less the other, with an interval (low, found, high).

    `held` says whether the measured score lay in the forecast's interval.

    >>> said = Expected("accuracy", 0.7, 0.5, 0.9, tested=20, of=20)
    >>> found = compare_forecast(said, Expected("accuracy", 0.66, 0.6, 0.72, tested=20, of=20))
    >>> [round(number, 2) for number in found.miss], found.held
    ([-0.17, 0.04, 0.25], True)
    >>> found.verdict
    'Forecast were 70 % right (50 to 90 %) and measured 66 % (60 to 72 %): 4 points too high, and within its interval.'
    """

    verdict: str
    forecast: Expected
    measured: Expected
    miss: tuple[float, float, float] | None
    held: bool | None


def compare_forecast(forecast: Expected | None, measured: Expected | None) -> ForecastBeside | None:
    """Both scores of unseen combinations; None where nothing of the kind was measured or forecast."""
    if forecast is None or measured is None or measured.value is None or forecast.score != measured.score:
        return None
    if forecast.abstains or forecast.value is None or forecast.low is None or forecast.high is None:
        return ForecastBeside(f"Nothing was forecast: {forecast.reason}.", forecast, measured, None, None)
    value = forecast.value - measured.value
    low, high = (measured.value if end is None else end for end in (measured.low, measured.high))
    below = math.hypot(forecast.value - forecast.low, high - measured.value)
    above = math.hypot(forecast.high - forecast.value, measured.value - low)
    held = forecast.low <= measured.value <= forecast.high
    said = _sentence(forecast, measured, value, held=held)
    return ForecastBeside(said, forecast, measured, (value - below, value, value + above), held)


def _sentence(forecast: Expected, measured: Expected, miss: float, *, held: bool) -> str:
    kept = "and within its interval" if held else "and outside of its interval"
    if forecast.score == "accuracy":
        way = _way(miss, points(abs(miss)))
        return f"Forecast were {_share(forecast, 'right')} and measured {_share(measured)}: {way}, {kept}."
    way = _way(miss, measure(abs(miss)))
    return f"Forecast was an R² of {_number(forecast)} and measured {_number(measured)}: {way}, {kept}."


def _way(miss: float, size: str) -> str:
    if size.startswith("0 ") or size == "0" or not miss:
        return "what it came to"
    return f"{size} too {'high' if miss > 0 else 'low'}"


def _share(score: Expected, word: str = "") -> str:
    told = percent(score.value or 0.0) + (f" {word}" if word else "")
    return told if score.low is None or score.high is None else f"{told} ({percent_range(score.low, score.high)})"


def _number(score: Expected) -> str:
    told = measure(score.value or 0.0)
    found = (
        told if score.low is None or score.high is None else f"{told} ({measure(score.low)} to {measure(score.high)})"
    )
    return found.replace("-", "−")
