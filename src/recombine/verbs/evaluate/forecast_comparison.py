"""A forecast beside what was measured: by how much it missed, and whether its interval held.

The miss is forecast less measured. Its interval adds up both of theirs: on each side the distances from value to end
are those of independent errors, so their squares add.
"""

from dataclasses import dataclass

from recombine.base.grades import Expected
from recombine.base.words import measure, percent, percent_range, points
from recombine.numerics.intervals import newcombe


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
    ends = newcombe((forecast.low, forecast.value, forecast.high), (low, measured.value, high))
    held = forecast.low <= measured.value <= forecast.high
    verdict = _sentence(forecast, measured, value, held=held)
    return ForecastBeside(verdict, forecast, measured, (ends[0], value, ends[1]), held)


def _sentence(forecast: Expected, measured: Expected, miss: float, *, held: bool) -> str:
    share = forecast.score == "accuracy"
    size = points(abs(miss)) if share else measure(abs(miss))
    none = not miss or size == "0" or size.startswith("0 ")  # nothing, or nothing that would be written
    way = "what it came to" if none else f"{size} too {'high' if miss > 0 else 'low'}"
    kept = "and within its interval" if held else "and outside of its interval"
    if share:
        said = f"Forecast were {_written(forecast, ' right')} and measured {_written(measured)}"
    else:
        said = f"Forecast was an R² of {_written(forecast)} and measured {_written(measured)}"
    return f"{said}: {way}, {kept}."


def _written(score: Expected, word: str = "") -> str:
    """A score with its interval, if it has one; numbers below nothing with a minus sign."""
    share = score.score == "accuracy"
    value = percent(score.value or 0.0) + word if share else measure(score.value or 0.0)
    if score.low is not None and score.high is not None:
        ends = percent_range(score.low, score.high) if share else f"{measure(score.low)} to {measure(score.high)}"
        value = f"{value} ({ends})"
    return value if share else value.replace("-", "−")
