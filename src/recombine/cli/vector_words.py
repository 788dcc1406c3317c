"""Scores of predicted vectors on a terminal."""

from typing import TYPE_CHECKING

from recombine.base.words import interval_words, measure, percent

if TYPE_CHECKING:
    from recombine.numerics.vector_summary import VectorScore


def vector_score_words(score: "VectorScore") -> str:
    """A score and its interval.

    >>> from recombine.numerics.vector_summary import VectorScore
    >>> vector_score_words(VectorScore("R²", 0.5, 0.4, 0.6, 0.0, 0.8, 0.625))
    'R² 0.5 (0.4 to 0.6)'
    """
    return f"{score.name} {interval_words(score.value or 0.0, score.low, score.high, share=False)}"


def vector_range_words(score: "VectorScore") -> str:
    """What the mean gets, what can be reached, and how much of the way was gone.

    >>> from recombine.numerics.vector_summary import VectorScore
    >>> vector_range_words(VectorScore("R²", 0.5, 0.4, 0.6, 0.0, 0.8, 0.625))
    'mean 0, at best 0.8: 62 % of the way'
    """
    low = "" if score.negative is None else f"mean {measure(score.negative)}"
    if score.positive is None or score.reached is None:
        return low
    return f"{low}, at best {measure(score.positive)}: {percent(score.reached)} of the way"
