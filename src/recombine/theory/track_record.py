"""How far forecasts were from trained networks: an interval holds that no theory is the network itself."""


def miss(basis: str, kind: str) -> float:
    """The standard deviation of forecast less measured, in units of the score.

    `basis` is what the forecast rests on (combinations, examples, rehearsal), `kind` the score (accuracy, R²). A round
    number that stands in for the bench of forecasts, which replaces it by what it measured.

    >>> miss("combinations", "accuracy")
    0.1
    """
    del basis, kind
    return 0.1
