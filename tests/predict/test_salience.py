"""Saliences: known answers, identities, and brute force over pairs of combinations."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recombine.base.errors import SettingError, TableError
from recombine.verbs.predict.kernel.network_kernels import DEEPEST, FAMILIES, kappa, order_weights
from recombine.verbs.predict.kernel.salience import Salience, members, moebius, zeta

DEPTHS = (1, 2, 3, 5, 10, 20)
PAIRS = {  # S(1;2) by depth, as published
    "relu": (0.426, 0.376, 0.337, 0.282, 0.203, 0.132),
    "leaky": (0.446, 0.405, 0.371, 0.320, 0.241, 0.163),
    "step": (0.333, 0.197, 0.109, 0.031, 0.001, 0.0),
    "quadratic": (0.365, 0.267, 0.194, 0.101, 0.019, 0.001),
    "gaussian": (0.178, 0.129, 0.106, 0.085, 0.068, 0.063),
    "ntk": (0.371, 0.288, 0.230, 0.159, 0.084, 0.040),
}
TRIPLES = {  # S(1..3;3) at depths 1, 3, 10, as published
    "relu": ((0.271, 0.056, 0.020), (0.204, 0.094, 0.107), (0.115, 0.100, 0.355)),
    "leaky": ((0.287, 0.041, 0.015), (0.229, 0.079, 0.075), (0.140, 0.100, 0.282)),
    "step": ((0.216, 0.032, 0.255), (0.068, 0.026, 0.719), (0.001, 0.000, 0.997)),
    "quadratic": ((0.217, 0.108, 0.023), (0.101, 0.139, 0.280), (0.009, 0.024, 0.903)),
    "gaussian": ((0.075, 0.190, 0.204), (0.043, 0.136, 0.463), (0.027, 0.096, 0.631)),
    "ntk": ((0.230, 0.072, 0.094), (0.133, 0.094, 0.319), (0.045, 0.056, 0.698)),
}
# S(1..12;12) computed with 120 digits from the values of the kernels themselves.
TWELVE = {
    ("relu", 3): [
        *(4.4206131791e-02, 4.1556899334e-03, 4.1372917028e-04, 8.7060735689e-05, 2.6549002442e-05, 1.3851770150e-05),
        *(1.0267743555e-05, 1.1342223277e-05, 1.8511958187e-05, 4.7421821565e-05, 2.1921070511e-04, 3.7301028198e-03),
    ],
    ("quadratic", 1): [
        *(4.5268234913e-02, 5.8508018477e-03, 2.9733679104e-04, 4.3188134935e-06, 2.5304985710e-06, 5.3041646070e-07),
        *(3.5885047025e-07, 2.7123613767e-07, 3.4273861245e-07, 6.5609319203e-07, 2.1790406570e-06, 1.8768111509e-05),
    ],
    ("gaussian", 400): [
        *(1.3966480447e-03, 2.8885220924e-03, 3.0238432547e-04, 2.6298186721e-04, 1.1536690667e-04, 1.0766438789e-04),
        *(1.1177762884e-04, 1.6760794123e-04, 3.4032327561e-04, 9.9682671345e-04, 4.5373310360e-03, 3.8441235892e-02),
    ],
    ("ntk", 100): [
        *(6.9610764181e-04, 1.2801157554e-04, 3.5511142009e-05, 1.5579092390e-05, 9.8241394946e-06, 8.7818200342e-06),
        *(1.1026540859e-05, 1.9768039858e-05, 5.2776822345e-05, 2.3036091110e-04, 2.0892892850e-03, 8.8137432959e-01),
    ],
    ("step", 100): [*[0.0] * 11, 1.0],  # below 1e-29 in truth
}


# Networks


@pytest.mark.parametrize(
    ("family", "depth", "expected"),
    [(family, depth, value) for family, row in PAIRS.items() for depth, value in zip(DEPTHS, row, strict=True)],
)
def test_salience_of_networks_on_two_factors(family: str, depth: int, expected: float) -> None:
    found = Salience.network(family, depth=depth, factors=2).saliences
    assert found[0] == pytest.approx(expected, abs=0.000501)
    assert found[1] == pytest.approx(1 - 2 * found[0], abs=1e-12)


@pytest.mark.parametrize(
    ("family", "depth", "expected"),
    [
        (family, depth, values)
        for family, rows in TRIPLES.items()
        for depth, values in zip((1, 3, 10), rows, strict=True)
    ],
)
def test_salience_of_networks_on_three_factors(family: str, depth: int, expected: tuple[float, ...]) -> None:
    assert Salience.network(family, depth=depth, factors=3).saliences == pytest.approx(expected, abs=0.000501)


def test_salience_of_one_relu_layer_to_six_digits() -> None:
    salience = Salience.network("relu", depth=1, factors=2)
    assert salience.saliences[0] == pytest.approx(0.426422, abs=1e-6)
    assert salience.weights[0] / math.fsum(salience.weights[1:]) == pytest.approx(0.466942, abs=1e-6)


@pytest.mark.parametrize("depth", [100, DEEPEST])
def test_deep_gaussian_networks_reach_their_limit(depth: int) -> None:
    """Their values differ by 0.8**1000 = 1e-97 of themselves, so the values alone could not tell."""
    assert Salience.network("gaussian", depth=depth, factors=2).saliences[0] == pytest.approx(1 / 16, abs=1e-9)
    three = Salience.network("gaussian", depth=depth, factors=3).saliences
    # k(r) falls short by (1 - x)/(5/4 - x), x = (r/3)**2, in the limit: a layer is a Möbius map of the square.
    assert three == pytest.approx((1 / 41, 106 / 1189, 784 / 1189), abs=1e-9)
    # Published as .0244 .0892 .6593; the last is cut off, not rounded (.65938).
    assert three == pytest.approx((0.0244, 0.0892, 0.6593), abs=0.0001)


@pytest.mark.parametrize("case", TWELVE, ids=str)
def test_weights_of_twelve_factors_survive_the_cancellation(case: tuple[str, int]) -> None:
    family, depth = case
    assert Salience.network(family, depth=depth, factors=12).saliences == pytest.approx(TWELVE[case], rel=0, abs=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("factors", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("depth", [1, 4, 30, 300])
def test_weights_of_networks_are_never_negative_and_add_up(family: str, factors: int, depth: int) -> None:
    weights = order_weights(family, depth, factors)
    values = kappa(family, depth, factors)
    assert weights.min() >= 0
    for matching in range(factors + 1):
        together = math.fsum(math.comb(matching, r) * weights[r] for r in range(matching + 1))
        assert together == pytest.approx(values[matching], rel=1e-9)
    shares = Salience.network(family, depth=depth, factors=factors).saliences
    assert math.fsum(math.comb(factors, r) * share for r, share in enumerate(shares, start=1)) == pytest.approx(1)
    assert all(share <= 1 / math.comb(factors, r) + 1e-9 for r, share in enumerate(shares, start=1))


def test_values_of_shallow_networks_by_hand() -> None:
    """One layer on one factor: nothing matches (a right angle), or everything."""
    expected = {
        "relu": (1 / (2 * math.pi), 1 / 2),
        "leaky": (0.81 / (2 * math.pi), 0.505),
        "step": (math.pi / 2, math.pi),
        "quadratic": (math.pi / 2, 3 * math.pi),
        "gaussian": (1 / 3, 1 / math.sqrt(5)),
        "ntk": (1 / math.pi, 2.0),
    }
    for family, values in expected.items():
        assert kappa(family, 1, 1) == pytest.approx(values)


def test_deep_relu_becomes_a_lookup_table() -> None:
    shares = [Salience.network("relu", depth=depth, factors=3).saliences[-1] for depth in (1, 10, 100, 1000)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.97


@pytest.mark.parametrize("depth", [0, -1, DEEPEST + 1, 1.5, True, "3", None])
def test_a_depth_that_is_no_depth_is_refused(depth: Any) -> None:
    with pytest.raises(SettingError, match=r"whole number from 1 to 1,000"):
        Salience.network("relu", depth=depth, factors=2)


def test_an_unknown_network_is_refused() -> None:
    with pytest.raises(SettingError, match="did you mean 'gaussian'"):
        Salience.network("gausian", depth=1, factors=2)
    with pytest.raises(SettingError, match="at least one factor"):
        kappa("relu", 1, 0)


# Sets


def test_unequal_factors_follow_the_formula_for_two() -> None:
    none, first, second, both = 0.2, 0.5, 0.9, 1.7
    w0, w1, w2, w12 = moebius([none, first, second, both])
    assert w0 == none
    assert w1 == pytest.approx(first - none)
    assert w2 == pytest.approx(second - none)
    assert w12 == pytest.approx(both + none - first - second)


def weight_arrays(most: int = 6) -> st.SearchStrategy[list[float]]:
    entry = st.integers(-64, 64).map(lambda n: n / 8)  # sums of these are exact
    return st.integers(0, most).flatmap(lambda k: st.lists(entry, min_size=2**k, max_size=2**k))


@given(weight_arrays())
def test_moebius_undoes_zeta(weights: list[float]) -> None:
    assert moebius(zeta(weights)).tolist() == weights
    assert zeta(moebius(weights)).tolist() == weights


@given(weight_arrays(4))
def test_zeta_adds_up_the_subsets(weights: list[float]) -> None:
    expected = [sum(w for u, w in enumerate(weights) if u & mask == u) for mask in range(len(weights))]
    assert zeta(weights).tolist() == expected


@pytest.mark.parametrize("shape", [(3,), (0,), (2, 2)])
def test_arrays_that_are_not_over_sets_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match=r"2\*\*K sets"):
        zeta(np.ones(shape))


def test_members_of_a_mask() -> None:
    assert [members(mask) for mask in range(5)] == [(), (0,), (1,), (0, 1), (2,)]


# Spectrum


def dense(weights: tuple[float, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """The kernel of every pair of combinations, one pair at a time."""
    grid = list(product(*map(range, sizes)))
    kernel = np.zeros((len(grid), len(grid)))
    for (i, one), (j, other) in product(enumerate(grid), repeat=2):
        for mask, weight in enumerate(weights):
            if all(one[k] == other[k] for k in members(mask)):
                kernel[i, j] += weight
    return kernel


@st.composite
def kernels(draw: Any) -> tuple[Salience, tuple[int, ...]]:
    """Mixed weights on small grids, factors with one value included."""
    factors = draw(st.integers(1, 3))
    sizes = tuple(draw(st.lists(st.integers(1, 4 if factors < 3 else 3), min_size=factors, max_size=factors)))
    # Mostly >= 0, for a good share of true kernels.
    entry = st.one_of(st.integers(0, 8), st.integers(0, 8), st.integers(-4, 8)).map(lambda n: n / 8)
    weights = draw(st.lists(entry, min_size=2**factors, max_size=2**factors))
    assume(max(weights[1:]) > 0)
    return Salience(factors, tuple(weights)), sizes


@given(kernels())
@example((Salience(2, (0.0, 1.0, 1.0, -0.25)), (4, 4)))  # negative at the full conjunction
@example((Salience(2, (0.0, 1.0, 0.0, -0.25)), (4, 1)))  # … which a factor with one value hides
@example((Salience(2, (-0.25, 1.0, 1.0, 0.0)), (2, 4)))  # a negative constant that does no harm
@example((Salience(1, (-0.25, 1.0)), (4,)))  # cancels to exactly 0
def test_spectrum_is_that_of_the_dense_kernel(drawn: tuple[Salience, tuple[int, ...]]) -> None:
    salience, sizes = drawn
    expected = np.linalg.eigvalsh(dense(salience.weights, sizes))
    found: list[float] = []
    for mask, value in enumerate(salience.spectrum(sizes)):
        found += [float(value)] * math.prod(sizes[k] - 1 for k in members(mask))
    assert sorted(found) == pytest.approx(expected.tolist(), abs=1e-10)
    if expected[0] < -1e-9:
        with pytest.raises(SettingError, match="positive semidefinite"):
            salience.check(sizes)
    else:
        salience.check(sizes)
    salience.clipped().check(sizes)


def test_a_salience_that_is_no_kernel_is_refused_with_the_set() -> None:
    salience = Salience.by_set(
        {("colour",): 1, ("colour", "shape"): -0.4, ("size",): 1}, names=["colour", "size", "shape"]
    )
    with pytest.raises(SettingError) as caught:
        salience.check((3, 4, 5), names=["colour", "size", "shape"])
    # The only conjunction with shape is colour's: -0.4 x 4 values of size.
    assert caught.value.what == "the salience has the eigenvalue -1.6 for shape"
    assert "positive semidefinite" in caught.value.why
    assert "0 or more (that of colour and shape is -0.4)" in caught.value.instead
    assert "clipped()" in caught.value.instead
    with pytest.raises(SettingError, match=r"for factor 3\n[\s\S]*that of factor 1 and factor 3"):
        salience.check((3, 4, 5))
    with pytest.raises(SettingError, match=r"-0\.5 for the constant"):
        Salience.by_order([-1, 0.5]).check([1])


def test_the_spectrum_with_a_free_intercept_is_infinite_for_the_constant_alone() -> None:
    salience = Salience.by_order([math.inf, 0.3, 0.4])
    assert salience.spectrum((2, 3)).tolist() == [math.inf, *Salience.by_order([0, 0.3, 0.4]).spectrum((2, 3))[1:]]
    salience.check((2, 3))
    with pytest.raises(SettingError, match="for factor 1 and factor 2"):
        salience.replace_full(-0.4).check((2, 3))


def test_the_spectrum_of_many_large_factors_is_quick_and_finite() -> None:
    salience = Salience.network("relu", depth=2, factors=12)
    assert np.isfinite(salience.spectrum([100_000] * 12)).all()
    salience.check([100_000] * 12)


@pytest.mark.parametrize("sizes", [(2,), (2, 0), (2, 2, 2), ()])
def test_sizes_that_fit_no_grid_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="one for each factor"):
        Salience.by_order([0, 0.3, 0.4]).spectrum(sizes)


# Construction


def test_weights_by_order_fill_every_set() -> None:
    salience = Salience.by_order([0.1, 0.2, 0.3, 0.4], noise=0.5)
    assert salience.weights == (0.1, 0.2, 0.2, 0.3, 0.2, 0.3, 0.3, 0.4)
    assert (salience.noise, salience.name, salience.full, salience.exchangeable) == (0.5, "order", 0.4, True)
    assert salience.order_weights == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert salience.saliences == pytest.approx((0.2 / 1.9, 0.3 / 1.9, 0.4 / 1.9))
    capped = Salience.by_order([0.1, 0.2], factors=3)
    assert capped.weights == (0.1, 0.2, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0)


def test_weights_by_set() -> None:
    names = ["colour", "shape"]
    salience = Salience.by_set({(): math.inf, "colour": 2, ("shape", "colour"): 0.5}, names=names)
    assert salience.weights == (math.inf, 2.0, 0.0, 0.5)
    assert not salience.exchangeable
    assert (salience.mask_weight(), salience.mask_weight(0), salience.mask_weight(1, 0)) == (math.inf, 2.0, 0.5)
    assert salience.order_weights == (math.inf, 1.0, 0.5)
    assert salience.saliences == pytest.approx((0.4, 0.2))
    with pytest.raises(SettingError, match="did you mean 'colour'"):
        Salience.by_set({("color",): 1}, names=names)
    with pytest.raises(SettingError, match="two weights for colour and shape"):
        Salience.by_set({("colour", "shape"): 1, ("shape", "colour"): 1}, names=names)
    with pytest.raises(SettingError, match="positions from 0 to 1"):
        salience.mask_weight(2)


def test_changed_copies_leave_the_original_alone() -> None:
    salience = Salience(2, (-0.1, 0.3, -0.2, 0.4), noise=0.5, name="features", note="n")
    assert salience.clipped() == Salience(2, (0.0, 0.3, 0.0, 0.4), noise=0.5, name="features", note="n")
    assert salience.replace_full(0).weights == (-0.1, 0.3, -0.2, 0.0)
    assert salience.weights == (-0.1, 0.3, -0.2, 0.4)


def test_shares_of_a_sum_that_is_not_positive_are_not_a_number() -> None:
    assert all(map(math.isnan, Salience(2, (0.0, 1.0, -3.0, 0.5)).saliences))


def test_a_salience_is_written_short() -> None:
    assert len(repr(Salience.network("ntk", depth=2, factors=12))) < 250
    assert str(Salience.by_set({"a": 1}, names=["a", "b"])) == "given, mean weights by order 0, 0.5, 0"
    assert hash(Salience(1, [0, 1])) == hash(Salience(1, (0.0, 1.0)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("factors", "weights", "noise", "words"),
    [
        (2, (0, 1, 1), 0, r"3 weights for 2 factors"),
        (13, (1,) * 2**13, 0, r"2\*\*13 = 8,192 sets[^!]*12 factors or fewer"),
        (0, (1,), 0, "at least one factor"),
        (1, (0, math.inf), 0, "only the constant's may be infinite"),
        (1, (0, math.nan), 0, "not a number"),
        (1, (math.nan, 1), 0, "not a number"),
        (1, (-math.inf, 1), 0, "infinite"),
        (1, (0, "much"), 0, "not a number"),
        (1, (0, None), 0, "not a number"),
        (2, (5, 0, -1, 0), 0, "no set of factors weighs anything"),
        (1, (0, 1), -1, "noise of -1"),
        (1, (0, 1), math.nan, "noise of nan"),
        (1, (0, 1), math.inf, "noise of inf"),
    ],
)
def test_weights_that_make_no_salience_are_refused(factors: int, weights: Any, noise: float, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Salience(factors, weights, noise)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Salience.by_order([0, 1], factors=60),
        lambda: Salience.by_order([1] * 61),
        lambda: Salience.network("relu", depth=1, factors=60),
        lambda: Salience.by_set({}, names=[str(k) for k in range(60)]),
        lambda: Salience.measured(np.ones((3, 2)), np.zeros((3, 60), dtype=int)),
        lambda: Salience.parse("relu:1", names=[str(k) for k in range(60)]),
    ],
)
def test_sixty_factors_are_refused_before_their_sets_are_listed(build: Any) -> None:
    with pytest.raises(SettingError, match=r"60 factors have 2\*\*60"):
        build()


def test_weights_by_order_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingError, match="at most 3 weights"):
        Salience.by_order([0, 1, 1, 1], factors=2)
    with pytest.raises(SettingError, match="the constant and at least one more weight"):
        Salience.by_order([1])


# Text


def test_parsing() -> None:
    names = ["colour", "shape"]
    assert Salience.parse("relu:3", names=names) == Salience.network("relu", depth=3, factors=2)
    assert Salience.parse(" NTK : 2 ", names=names).name == "ntk:2"
    assert Salience.parse("gaussian:1", names=[*names, "size"]).factors == 3
    assert Salience.parse("order: 0, 0.3, 4e-1", names=names) == Salience.by_order([0, 0.3, 0.4])
    assert Salience.parse("order:inf,0.3,0", names=names).weights == (math.inf, 0.3, 0.3, 0.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rellu:3", r"did you mean 'relu'\? \(as in 'relu:3' or 'order:0,1,1'\)"),
        ("orders:0,1,1", "did you mean 'order'"),
        ("wide", "write one of 'relu', 'leaky', 'step', 'quadratic', 'gaussian', 'ntk', 'order'"),
        ("", "neither a kind of network nor 'order'"),
        ("relu", r"'relu' has no depth[\s\S]*write 'relu:3'"),
        ("relu:", "no depth"),
        ("relu:-1", r"depth '-1'[\s\S]*positive whole number"),
        ("relu:2.5", "positive whole number"),
        ("relu:²", "positive whole number"),
        ("relu:0", "whole number from 1"),
        ("relu:99999999", "whole number from 1"),
        ("order:0.3,0.4", r"has 2 weights[\s\S]*3 orders[\s\S]*'order:0,1,1'; 0 for an order"),
        ("order:0,1,1,1", "has 4 weights"),
        ("order:", "numbers with commas"),
        ("order:0,much,1", r"numbers with commas[\s\S]*'order:0,1,1'"),
        ("order:0,nan,1", "not a number"),
        ("order:1,0,0", "no set of factors weighs anything"),
    ],
)
def test_text_that_means_no_salience_is_refused(text: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Salience.parse(text, names=["colour", "shape"])


# Measured


def conjunction_features(weights: np.ndarray, codes: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """A block for each set: the one-hot code of the conjunction, times the root of its weight."""
    blocks = []
    for mask, weight in enumerate(weights):
        chosen = members(mask)
        place = np.zeros(len(codes), dtype=int)
        for k in chosen:
            place = place * sizes[k] + codes[:, k]
        blocks.append(math.sqrt(weight) * np.eye(math.prod(sizes[k] for k in chosen))[place])
    return np.hstack(blocks)


@pytest.mark.parametrize("sizes", [(2,), (3, 4), (2, 3, 4), (2, 2, 2, 2, 2)])
@pytest.mark.parametrize("replicates", [2, 3])
def test_measured_weights_are_those_that_were_built_in(sizes: tuple[int, ...], replicates: int) -> None:
    generator = np.random.default_rng(7)
    weights = generator.uniform(0.1, 1, 2 ** len(sizes))
    weights[1:-1:3] = 0
    codes = np.repeat(np.array(list(product(*map(range, sizes)))), replicates, axis=0)
    generator.shuffle(codes)
    salience = Salience.measured(conjunction_features(weights, codes, sizes), codes * 7 - 3)
    assert salience.weights == pytest.approx(weights, abs=2e-11)
    assert [w == 0 for w in salience.weights] == [w == 0 for w in weights]
    assert (salience.name, salience.note) == ("features", "")


def test_what_varies_within_a_combination_is_not_its_salience() -> None:
    """A row with itself would count the noise of an image as salience of the full conjunction."""
    generator = np.random.default_rng(7)
    codes = np.repeat(np.array(list(product(range(3), range(3)))), 2, axis=0)
    clean = conjunction_features(np.array([0, 0.3, 0.3, 0.4]), codes, (3, 3))
    private = np.eye(len(codes)) * generator.uniform(1, 2, len(codes))
    assert Salience.measured(np.hstack([clean, private]), codes).full == pytest.approx(0.4)


def test_without_repeats_rows_stand_for_themselves_and_the_note_says_so() -> None:
    codes = np.array(list(product(range(3), range(4))))
    weights = np.array([0.5, 0.3, 0.2, 0.4])
    salience = Salience.measured(conjunction_features(weights, codes, (3, 4)), codes)
    assert salience.weights == pytest.approx(weights)
    assert "no combination occurs twice" in salience.note


def brute_measured(features: np.ndarray, codes: np.ndarray) -> list[float] | None:
    """Over all pairs of different rows; None where a pattern other than the full one is absent."""
    rows, factors = codes.shape
    found: list[list[float]] = [[] for _ in range(2**factors)]
    for i, j in product(range(rows), repeat=2):
        if i != j:
            mask = sum(1 << k for k in range(factors) if codes[i, k] == codes[j, k])
            found[mask].append(float(features[i] @ features[j]))
    found[-1] = found[-1] or [float(row @ row) for row in features]
    if not all(found):
        return None
    mean = [math.fsum(values) / len(values) for values in found]
    return [
        math.fsum((-1) ** (v ^ u).bit_count() * mean[u] for u in range(2**factors) if u & v == u)
        for v in range(2**factors)
    ]


@st.composite
def representations(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    factors = draw(st.integers(1, 3))
    rows = draw(st.integers(2, 30))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = generator.integers(0, draw(st.integers(2, 3)), (rows, factors))
    features = generator.normal(size=(rows, draw(st.integers(1, 4)))) + draw(st.sampled_from([0.0, 3.0]))
    return features, codes


@given(representations())
def test_measured_weights_against_all_pairs(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    features, codes = drawn
    expected = brute_measured(features, codes)
    if expected is None:
        with pytest.raises(TableError, match="no two rows"):
            Salience.measured(features, codes)
    elif max(expected[1:]) <= 0:
        with pytest.raises(SettingError, match="no set of factors weighs anything"):
            Salience.measured(features, codes)
    else:
        assert Salience.measured(features, codes).weights == pytest.approx(expected, abs=1e-9)


def test_the_brute_force_meets_all_cases() -> None:
    """Else the test above could pass without comparing anything."""
    generator = np.random.default_rng(0)
    kinds = {
        brute_measured(generator.normal(size=(n, 2)), generator.integers(0, 2, (n, 2))) is None for n in range(2, 20)
    }
    assert kinds == {True, False}


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[0, 0], [0, 1], [0, 2], [0, 0]], "no two rows differ in every factor"),
        ([[0, 0], [1, 1], [2, 2], [0, 0]], "agree on colour and on nothing else"),
        ([[0, 0], [0, 1], [1, 2], [0, 0]], "agree on shape and on nothing else"),
    ],
)
def test_a_pattern_that_never_occurs_is_named(codes: Any, words: str) -> None:
    with pytest.raises(TableError, match=words):
        Salience.measured(np.eye(4), codes, names=["colour", "shape"])


def test_features_in_which_nothing_differs_are_refused() -> None:
    """Their weights are 0 on paper; rounding must not make a salience of them."""
    codes = np.array(list(product(range(5), range(7), range(3))) * 3)
    with pytest.raises(SettingError, match="no set of factors weighs anything"):
        Salience.measured(np.full((len(codes), 9), 0.1), codes)


@pytest.mark.parametrize(
    ("features", "codes", "words"),
    [
        (np.ones(4), np.ones((4, 1)), "a row for each example"),
        (np.ones((4, 2)), np.ones((3, 1)), "a row for each example"),
        (np.ones((1, 2)), np.ones((1, 1)), "at least two"),
        (np.ones((4, 0)), np.ones((4, 1)), "and columns"),
        (np.ones((4, 2)), np.ones((4, 0)), "at least one factor"),
        ([["a"], ["b"]], [[0], [1]], "dot product of real numbers"),
        (np.ones((4, 2), dtype=complex), np.ones((4, 1)), "dot product of real numbers"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(features: Any, codes: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Salience.measured(features, codes)


def test_features_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(TableError, match="1 rows of features hold an infinite number or NaN"):
        Salience.measured([[1.0, math.nan], [1.0, 2.0]], [[0], [1]])


def test_small_floats_are_added_up_in_large_ones() -> None:
    """In half precision the sum of 40,000 ones would stop at 2,048."""
    codes = np.repeat([[0], [1]], 20_000, axis=0)
    features = np.eye(2, dtype=np.float16)[codes[:, 0]]
    assert Salience.measured(features, codes).weights == (0.0, 1.0)
