"""Two arms that are not paired, and shares of trials: against SciPy, and where nothing can be said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recombine_studies.claims import apart, share_of

numbers = st.lists(st.floats(-10, 10), min_size=3, max_size=8)


@given(numbers, numbers)
def test_apart_is_welch_s_interval(one: list[float], other: list[float]) -> None:
    found = apart("difference", one, other, ">", 0.0)
    spread = [max(side) - min(side) for side in (one, other)]
    if min(spread) < 1e-3:
        return
    wanted = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-6, abs=1e-9)


def test_apart_decides_nothing_on_two_seeds_and_breaks_on_none() -> None:
    assert apart("difference", [1.0, 2.0], [5.0, 6.0, 7.0], "<", 0.0).state == "open"
    assert apart("difference", [], [1.0], "<", 0.0).value is None
    assert apart("difference", [1.0] * 3, [2.0] * 3, "<", 0.0).state == "passes"


@given(st.integers(0, 30), st.integers(1, 30))
def test_share_is_clopper_and_pearson_s(hits: int, more: int) -> None:
    found = share_of("share", hits, hits + more + 2, ">=", 0.2)
    wanted = stats.binomtest(hits, hits + more + 2).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_share_of_nothing_is_not_known() -> None:
    assert share_of("share", 0, 0, ">=", 0.2).value is None
    assert share_of("share", 2, 2, ">=", 0.2).state == "open"
    assert share_of("share", 5, 5, ">=", 0.2).high == 1.0
