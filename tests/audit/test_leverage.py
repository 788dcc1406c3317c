"""Leverage: the known answers, and equality with the dense formula on random tables."""

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import recombine
from recombine.numerics import sparse_solver
from recombine.output.pages import draw
from recombine.verbs.audit import leverage as module
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.leverage import Leverage
from tests.audit.test_determinacy import DIGIT_PAIRS
from tests.properties import examples
from tests.twins import brute_leverage, digits, doubling, every, one_hot, support_of, supports


def leverages(support) -> dict[str, float]:
    cells = every(support.space.sizes)
    found = Leverage(support, determinacy(support)).of(cells)
    return {"".join(map(str, cell)): value for cell, value in zip(cells.tolist(), found, strict=True)}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("000 011 111", {"100": 3}),
        ("000 100 010 001", {"110": 3, "101": 3, "011": 3, "111": 7}),
        ("000 011 101 110", {"001": 1, "010": 1, "100": 1, "111": 1}),
        ("00 01 10", {"11": 3}),
        ("00 01 10 11", {"00": 0.75, "01": 0.75, "10": 0.75, "11": 0.75}),
        ("00 01 11 12 22 23", {"02": 3, "10": 3, "13": 3, "21": 3, "03": 5, "20": 5}),
    ],
)
def test_known_answers(seen: str, expected: dict[str, float]) -> None:
    found = leverages(digits(seen))
    for cell, value in expected.items():
        assert found[cell] == pytest.approx(value, abs=1e-9)


def test_digit_pairs_follow_the_cycle_formula() -> None:
    found = leverages(support_of(DIGIT_PAIRS))
    for y in range(10):
        for d in range(2, 10):
            assert found[f"{y}{(y + d) % 10}"] == pytest.approx((2 * d - 1) * (21 - 2 * d) / 20, abs=1e-9)


@examples(200)
@given(supports())
def test_equals_the_dense_formula(support) -> None:
    found = Leverage(support, determinacy(support)).of(every(support.space.sizes))
    np.testing.assert_allclose(found, brute_leverage(support), atol=1e-7, rtol=1e-7)


@contextmanager
def only(*, inverse: bool = False, core: int | None = None, first: int | None = None, small: int | None = None):
    """Thresholds lowered, so that small tables take the way of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if not inverse:
            patch.setattr(module, "_LARGEST_INVERSE", 0)
            patch.setattr(module, "_LARGEST_EIGENPROBLEM", 0)
        for name, value in (("_LARGEST_CORE", core), ("_FIRST_ITERATIONS", first), ("_SMALL", small)):
            if value is not None:
                patch.setattr(sparse_solver, name, value)
        yield


WAYS = {
    "conjugate gradients": {},
    "all eliminated": {"core": 0, "first": 0},
    "half eliminated, the core factorised": {"core": 5, "first": 0},
    "nothing eliminated, the core factorised": {"first": 0},
    "nothing affordable, the core iterated": {"core": 0, "first": 0, "small": 0},
}


@pytest.mark.parametrize("way", WAYS)
@examples(60)
@given(support=supports())
def test_each_sparse_way_equals_the_dense_formula(way: str, support) -> None:
    with only(**WAYS[way]):
        found = Leverage(support, determinacy(support)).of(every(support.space.sizes))
    np.testing.assert_allclose(found, brute_leverage(support), atol=1e-6, rtol=1e-6)


def chain(length: int) -> list[tuple[int, int]]:
    """Values that hang together in one line: a0 b0 a1 b1 …"""
    return [(i, i) for i in range(length)] + [(i, i + 1) for i in range(length - 1)]


@pytest.mark.parametrize("length", [3_000, 20_000])
def test_a_chain_is_resistors_in_series(length: int) -> None:
    support = support_of(chain(length))
    asked = np.array([(length - 1, 0), (0, length - 1), (10, 0)], dtype=np.int32)
    found = Leverage(support, determinacy(support)).of(asked)
    assert found[0] == pytest.approx(2 * length - 1, rel=1e-6)
    np.testing.assert_allclose(found, series(asked), rtol=1e-6)


def series(asked: np.ndarray) -> np.ndarray:
    """The links between two values of the chain: a_i stands at 2i, b_j at 2j - 1."""
    return np.abs(2 * asked[:, 0] - (2 * asked[:, 1] - 1)).astype(float)


def dense(support, asked: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of A'A, written out."""
    offsets = np.concatenate([[0], np.cumsum(support.space.sizes)])
    gram = np.zeros((offsets[-1], offsets[-1]))
    rows = support.codes + offsets[:-1]
    for one in rows.T:
        for other in rows.T:
            np.add.at(gram, (one, other), 1.0)
    inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
    places = asked + offsets[:-1]
    return np.array([inverse[np.ix_(row, row)].sum() for row in places])


def weeks(products: int) -> list[tuple[int, int]]:
    """Each product sold in four consecutive weeks."""
    return [(product, product + week) for product in range(products) for week in range(4)]


def grid(side: int) -> list[tuple[int, int]]:
    """The squares of a chess board: white ones are the values of one factor, black ones of the other."""
    places = np.arange(side * side).reshape(side, side)
    colour = (np.indices((side, side)).sum(axis=0) % 2).ravel()
    number = np.where(colour == 0, np.cumsum(colour == 0), np.cumsum(colour == 1)).reshape(side, side) - 1
    across, down = (places[:, :-1], places[:, 1:]), (places[:-1], places[1:])
    pairs = [pair for ends in (across, down) for pair in zip(ends[0].ravel(), ends[1].ravel(), strict=True)]
    flat = number.ravel()
    return [(flat[a], flat[b]) if colour[a] == 0 else (flat[b], flat[a]) for a, b in pairs]


def tree(size: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A random tree, its even levels in one factor and its odd ones in the other."""
    level, number, used, rows = [0], [0], [1, 0], []
    for node in range(1, size):
        parent = int(rng.integers(max(0, node - 40), node))
        side = 1 - level[parent]
        level.append(side)
        number.append(used[side])
        used[side] += 1
        ends = (number[node], number[parent])
        rows.append(ends if side == 0 else ends[::-1])
    return rows


def expander(values: int, degree: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    return [(value, other) for value in range(values) for other in rng.choice(values, degree, replace=False)]


def apart(*tables: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Several tables that share no value."""
    found, shift = [], np.zeros(2, dtype=int)
    for table in tables:
        found += [tuple(row) for row in np.array(table) + shift]
        shift = np.array(found).max(axis=0) + 1
    return found


def with_tail(values: int, tail: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Well connected values with a long chain hanging on one of them: neither way alone would do."""
    return expander(values, 6, rng) + [(a + values - 1, b + values - 1) for a, b in chain(tail)]


RNG = np.random.default_rng(7)
SHAPES = {
    "weeks": weeks(500),
    "grid": grid(30),
    "tree": tree(1_000, RNG),
    "expander": expander(400, 5, RNG),
    "pieces": apart(chain(150), weeks(150), grid(15), expander(80, 4, RNG)),
    "tail": with_tail(250, 250, RNG),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", ["conjugate gradients", "half eliminated, the core factorised"])
def test_large_shapes_equal_the_dense_pseudo_inverse(shape: str, way: str) -> None:
    support = support_of(SHAPES[shape])
    found = determinacy(support)
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(0, size, 400) for size in support.space.sizes], axis=1).astype(np.int32)
    asked = drawn[found.determined(drawn)][:40]
    with only(**WAYS[way]):
        np.testing.assert_allclose(Leverage(support, found).of(asked), dense(support, asked), rtol=1e-7)


def test_weeks_of_2500_products_equal_the_sum_over_links() -> None:
    """Far above what is inverted. By symmetry one long way through the band costs a fifth of a link for each week."""
    support = support_of(weeks(2_500))
    asked = np.array([(0, 1_000), (1_000, 2_000), (700, 1_700)], dtype=np.int32)
    found = Leverage(support, determinacy(support)).of(asked)
    nearer = Leverage(support, determinacy(support)).of(asked - np.array([0, 100], dtype=np.int32))
    np.testing.assert_allclose(found[1:], found[1], rtol=1e-6)  # wherever in the band it starts
    np.testing.assert_allclose(found - nearer, 100 / 5, rtol=1e-6)


def test_two_halves_on_one_link_are_as_far_apart_as_the_dense_formula_says() -> None:
    """What hides longest from conjugate gradients: each half converges at once, and the link is all that matters."""
    rng = np.random.default_rng(3)
    half = [np.unique(rng.integers(0, 300, (1_500, 2)), axis=0) + 300 * side for side in (0, 1)]
    support = support_of([*map(tuple, np.concatenate([*half, [(0, 300)]]).tolist())])
    asked = np.array([(row, 300 + row) for row in range(20, 40)] + [(row, row + 1) for row in range(20, 40)])
    solved = determinacy(support)
    asked = asked[solved.determined(asked)]  # a few values were never drawn
    assert len(asked) > 30
    with only():
        found = Leverage(support, solved).of(asked.astype(np.int32))
    np.testing.assert_allclose(found, dense(support, asked), rtol=1e-4)  # less than is shown


def exact(support, asked: tuple[int, ...]) -> float:
    """a (A'A)+ a' in fractions: any solution of A'A y = a will do."""
    sizes = support.space.sizes
    design = one_hot(support.codes, sizes).astype(int)
    row = one_hot(np.array([asked]), sizes)[0].astype(int)
    lines = [[Fraction(int(v)) for v in (*line, end)] for line, end in zip(design.T @ design, row, strict=True)]
    solved: dict[int, list[Fraction]] = {}
    for column in range(len(row)):
        pivot = next((line for line in lines if line[column]), None)
        if pivot is None:
            continue
        lines.remove(pivot)
        solved[column] = pivot = [v / pivot[column] for v in pivot]
        lines = [_less(line, pivot, column) for line in lines]
        solved = {c: line if c == column else _less(line, pivot, column) for c, line in solved.items()}
    return float(sum(line[-1] for column, line in solved.items() if row[column]))


def _less(line: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    return [u - line[column] * v for u, v in zip(line, pivot, strict=True)] if line[column] else line


@pytest.mark.parametrize("steps", [4, 8, 12, 16, 24])
def test_a_leverage_is_right_or_not_known(steps: int) -> None:
    """Small tables of three factors can be as badly conditioned as any number is large."""
    support = support_of(doubling(steps))
    found = determinacy(support)
    asked = (steps, steps - 1, 0)
    assert found.determined(np.array([asked])).all()
    leverage = float(Leverage(support, found).of(np.array([asked], dtype=np.int32))[0])
    known = not np.isnan(leverage)
    assert known if steps <= 8 else not known if steps >= 24 else True
    assert not known or leverage == pytest.approx(exact(support, asked), rel=1e-5)


def test_what_is_not_known_is_counted_and_never_graded_firm() -> None:
    """One line too many, so that the rule could be shown wrong: were it not for the unknown ones, it would be sound."""
    support = support_of([*doubling(30), (1, 1, 0)])
    with only():
        audit = recombine.audit(support)
    measured = audit.leverage
    assert measured is not None
    assert measured.unknown > 0
    assert measured.known + measured.unknown == 16
    assert not any(listed.leverage is None or np.isnan(listed.leverage) for listed in measured.weakest)
    assert f"For {measured.unknown} the leverage is not known" in " ".join(audit.reasons)
    assert f"For {measured.unknown} of those tried the leverage is not known" in draw(audit.record())


def test_nothing_known_is_not_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard itself: a test of residuals that nothing passes leaves every leverage unknown."""
    monkeypatch.setattr(sparse_solver, "_OF_LEVERAGE", -1.0)
    with only():
        audit = recombine.audit(digits("00 01 02 10 11 12 20 21"))
        assert audit.explain([(2, 2)])["leverage"].to_pylist() == [None]
    assert audit.leverage is not None
    assert (audit.leverage.known, audit.leverage.unknown, audit.leverage.worst) == (0, 1, None)
    assert audit.grade == "untested"
    assert audit.verdict.endswith("the other one follows from them, but how firmly is not known.")
    assert "leverage is not known" in draw(audit.record())
