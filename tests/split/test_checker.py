"""The one checker: it agrees with a plain twin, and every line of it can fail."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import SettingError
from recombine.data.support import Support
from recombine.verbs.split.checker import Promise, check_split, digest
from recombine.verbs.split.splitter import Assignment, Splitter
from tests.properties import examples
from tests.split import twins

GRID = {
    "a": ["x", "x", "x", "y", "y", "y", "z", "z", "z"] * 2,
    "b": ["p", "q", "r"] * 6,
    "label": ["no", "yes"] * 9,
}
FACTORS = ("a", "b")
ALL = np.arange(18)
HELD = np.array([4, 13])  # both rows of (y, q)
KEPT = np.setdiff1d(ALL, HELD)
EVERYTHING = Promise(
    values=True, determined=True, absent=({"a": "y", "b": "q"},), least=2, order=2, class_tolerance=0.1
)
NAMES = ("sides", "disjoint", "covering", "combinations", "values", "determined", "absent", "parts", "strata")


def checked(train: Any, test: Any, promise: Promise = EVERYTHING) -> Any:
    return check_split(GRID, train, test, factors=FACTORS, stratify="label", promise=promise)


def test_a_sound_split_keeps_every_promise() -> None:
    found = checked(KEPT, HELD)
    assert [line.name for line in found.invariants] == list(NAMES)
    assert all(line.holds for line in found.invariants)
    assert found.holds
    assert found.raise_for_breach() is found
    assert found.verdict.startswith("The split keeps what it promises")


BROKEN = {
    "sides": ((ALL, []), "the held-out side holds nothing"),
    "disjoint": ((ALL, HELD), "2 rows are on both sides, at 4 and 13"),
    "covering": ((KEPT[1:], HELD), "1 row is on neither side, of (a=x, b=p)"),
    "combinations": ((np.setdiff1d(ALL, [4]), [4]), "1 held-out combination is in training: (a=y, b=q)"),
    "values": (([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]), "1 value is not in training: a=z"),
    "determined": (
        ([0, 9, 4, 13, 8, 17], [1, 2, 3, 5, 6, 7, 10, 11, 12, 14, 15, 16]),
        "6 held-out combinations are not",
    ),
    "absent": ((np.setdiff1d(ALL, [0, 9]), [0, 9]), "(a=y, b=q) is in training, in (a=y, b=q)"),
    "parts": ((np.setdiff1d(ALL, [3, 5, 12]), [3, 5, 12, 4, 13, 14]), "(a=y) has 0 rows in training, 2 were promised"),
    "strata": (([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13], [4, 14, 16]), "class shares: "),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_line_can_fail(name: str) -> None:
    (train, test), said = BROKEN[name]
    line = checked(np.setdiff1d(train, test) if name == "parts" else train, test)[name]
    assert line.holds is False
    assert said in line.sentence


@pytest.mark.parametrize("name", NAMES)
def test_a_breach_is_an_error_that_says_what_to_do(name: str) -> None:
    (train, test), _ = BROKEN[name]
    with pytest.raises(SettingError, match="the split breaks its promise") as caught:
        checked(train, test).raise_for_breach()
    assert caught.value.instead


def test_a_row_twice_on_one_side_is_told() -> None:
    assert checked([*KEPT, 0], HELD)["disjoint"].sentence == "row 0 stands twice on one side"


def test_what_was_not_promised_is_none_and_still_told() -> None:
    found = checked([0, 1, 2, 3, 4, 5], np.arange(6, 18), Promise(combinations=False))
    assert found["values"].holds is None
    assert found["values"].sentence == "1 value is not in training: a=z"
    assert found["combinations"].holds is None
    assert found["determined"].sentence == "not promised, not looked at"
    assert found.holds


# -- a broken splitter for each promise: nothing that it makes may get out ------------------------------------------


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Careless(Splitter):
    """Holds out what it is told to, and promises what it is told to."""

    choose: Callable[[Support], Assignment]
    promised: Promise
    stratify: str | None = None

    def check_settings(self) -> None:
        pass

    @property
    def promise(self) -> Promise:
        return self.promised

    def assign(self, support: Support, fold: int) -> Assignment:
        return self.choose(support)


def places(*chosen: int) -> Callable[[Support], Assignment]:
    return lambda support: Assignment.of(np.isin(np.arange(len(support)), chosen))


def both_sides(support: Support) -> Assignment:
    """An assignment whose training side forgets to leave the held-out combinations."""

    class Leaky(Assignment):
        @property
        def train(self) -> Any:
            return np.ones(len(self.test), dtype=bool)

    return Leaky.of(np.isin(np.arange(len(support)), [4]))


def forgetful(support: Support) -> Assignment:
    """An assignment whose training side loses a combination without saying so."""

    class Forgetful(Assignment):
        @property
        def train(self) -> Any:
            return ~self.test & (np.arange(len(self.test)) != 0)

    return Forgetful.of(np.isin(np.arange(len(support)), [4]))


def not_absent(support: Support) -> Assignment:
    return Assignment.of(np.isin(np.arange(len(support)), [0]), absent=[{"a": "y", "b": "q"}])


CARELESS = {
    "sides": (places(), Promise()),
    "disjoint": (both_sides, Promise()),
    "covering": (forgetful, Promise()),
    "combinations": (both_sides, Promise()),
    "values": (places(6, 7, 8), Promise(values=True)),
    "determined": (places(1, 2, 3, 5, 6, 7), Promise(determined=True)),
    "absent": (not_absent, Promise()),
    "parts": (places(3, 4), Promise(least=3, order=2)),
    "strata": (places(0), Promise(class_tolerance=0.01)),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_splitter_is_caught(name: str) -> None:
    choose, promised = CARELESS[name]
    table = GRID | {"label": ["no"] * 9 + ["yes"] * 9} if name != "strata" else GRID | {"label": ["no", *["yes"] * 17]}
    splitter = Careless(FACTORS, choose=choose, promised=promised, stratify="label")
    support = splitter.rows(table).support
    sides = splitter.assign(support, 0)
    lines = check_split(support, sides.train, sides.test, promise=_with(promised, sides))
    assert name in {line.name for line in lines.breaches}
    with pytest.raises(SettingError, match="breaks its promise"):
        next(splitter.split(table))


def _with(promise: Promise, sides: Assignment) -> Promise:
    return Promise(
        values=promise.values,
        determined=promise.determined,
        absent=sides.absent,
        least=promise.least,
        order=promise.order,
        class_tolerance=promise.class_tolerance,
    )


# -- against the twin -----------------------------------------------------------------------------------------------


def varied(rows: list[Any]) -> bool:
    return all(len(set(column)) > 1 for column in zip(*rows, strict=True))


@st.composite
def splits(draw: Any) -> tuple[list[Any], list[int], list[int], list[int]]:
    width = draw(st.integers(2, 3))
    row = st.tuples(*[st.integers(0, 2)] * width)
    rows = draw(st.lists(row, min_size=4, max_size=16).filter(varied))
    side = draw(st.lists(st.sampled_from(["train", "test", "none", "both"]), min_size=len(rows), max_size=len(rows)))
    labels = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    train = [i for i, s in enumerate(side) if s in ("train", "both")]
    test = [i for i, s in enumerate(side) if s in ("test", "both")]
    return rows, train, test, labels


@given(splits(), st.integers(1, 3), st.sampled_from([0.05, 0.2, 0.5]))
@examples(200)
def test_the_checker_agrees_with_a_plain_twin(split: Any, least: int, tolerance: float) -> None:
    rows, train, test, labels = split
    factors = [f"f{k}" for k in range(len(rows[0]))]
    absent = {factors[0]: rows[0][0], factors[1]: rows[0][1]}
    promise = Promise(values=True, determined=True, absent=(absent,), least=least, order=2, class_tolerance=tolerance)
    found = check_split(twins.read(rows, labels), train, test, promise=promise)
    expected = twins.breaches(
        rows,
        train,
        test,
        promised=set(NAMES),
        absent=[[(0, rows[0][0]), (1, rows[0][1])]],
        least=least,
        labels=labels,
        tolerance=tolerance,
    )
    if not train or not test:  # shares of nothing and parts of nothing are nobody's promise
        expected -= {"strata"}
        assert {line.name for line in found.breaches} - {"strata"} == expected
    else:
        assert {line.name for line in found.breaches} == expected


# -- what can be given ----------------------------------------------------------------------------------------------


def test_a_support_is_checked_by_combinations() -> None:
    support = recombine.read(GRID, factors=list(FACTORS))
    held = np.zeros(len(support), dtype=bool)
    held[4] = True
    assert check_split(support, ~held, held, promise="determined").holds
    assert check_split(support, ~held, held)["sides"].sentence == "8 combinations in training, 1 held out"


def test_lines_go_into_a_manifest() -> None:
    assert checked(KEPT, HELD).data()[0] == {
        "name": "sides",
        "holds": True,
        "sentence": "16 rows in training, 2 held out",
    }


@pytest.mark.parametrize(
    ("train", "test", "said"),
    [
        ([0, 99], [1], "train holds the position 99"),
        ([0], [-1], "test holds the position -1"),
        ([0.5], [1], "train holds float64 entries"),
        ([True, False], [1], "train has 2 booleans"),
    ],
)
def test_sides_that_are_none(train: Any, test: Any, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        checked(train, test)


def test_factors_are_needed_for_a_table() -> None:
    with pytest.raises(SettingError, match="no factors were given"):
        check_split(GRID, [0], [1])


def test_an_unknown_promise_is_told() -> None:
    with pytest.raises(SettingError) as caught:
        check_split(GRID, [0], [1], factors=FACTORS, promise="determind")
    assert caught.value.instead == "did you mean 'determined'?"


LINE = st.tuples(st.text('a",\\é €\x01~', max_size=3), st.text('a",!', max_size=2), st.integers(0, 2))


@examples(60)
@given(st.lists(LINE, min_size=2, max_size=20))
def test_a_digest_is_that_of_the_sorted_lines(lines: list[tuple[str, str, int]]) -> None:
    """Whatever values hold that could stand between them."""
    assume(all(len({line[k] for line in lines}) > 1 for k in (0, 1)))
    words = ("train", "test", "validation")
    support = recombine.read({"a": [line[0] for line in lines], "b": [line[1] for line in lines]}, factors=["a", "b"])
    sides = sorted({(int(support.space.encode([line[:2]])[0] @ [100, 1]), line[2]) for line in lines})
    place = {int(code @ [100, 1]): number for number, code in enumerate(support.codes)}
    places, side = np.array([place[code] for code, _ in sides]), np.array([side for _, side in sides])
    told = sorted(
        ",".join([*(json.dumps(line[k], ensure_ascii=False) for k in (0, 1)), words[line[2]]]).encode()
        for line in set(lines)
    )
    expected = hashlib.sha256(b"\n".join([b'["a", "b"]', *told])).hexdigest()
    assert digest(support, side, words, places) == expected
