"""Contracts: kept or refused exactly as brute force says, and a refusal names what stands in the way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine import Contract
from recombine.base.errors import SettingError
from recombine.verbs.split.integer_program import _run
from tests.properties import examples
from tests.split import twins

AB = ["a", "b"]


@st.composite
def contracts(draw: Any) -> tuple[list[tuple[int, ...]], list[int], dict[str, Any]]:
    width = draw(st.integers(2, 3))
    row = st.tuples(*[st.integers(0, 2)] * width)
    rows = draw(
        st.lists(row, min_size=5, max_size=18).filter(
            lambda rows: all(len(set(c)) > 1 for c in zip(*rows, strict=True))
        )
    )
    labels = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    order = draw(st.integers(2, width))
    named = draw(st.booleans())
    chosen = tuple(enumerate(draw(st.sampled_from(rows))))[:order] if named else None
    asked = {
        "order": order,
        "absent": [chosen] if chosen else [],
        "number": draw(st.integers(1, 2)) if not named or draw(st.booleans()) else None,
        "least": draw(st.integers(1, 2)),
        "share": draw(st.sampled_from([(0.05, 0.6), (0.2, 0.5), (0.4, 0.45)])),
        "tolerance": draw(st.sampled_from([0.1, 0.3, None])),
    }
    return rows, labels if 0 < sum(labels) < len(labels) else [i % 2 for i in range(len(rows))], asked


@pytest.mark.slow
@given(contracts())
@examples(300)
def test_a_contract_is_kept_iff_brute_force_finds_a_way(case: Any) -> None:
    rows, labels, asked = case
    support = twins.with_labels(rows, labels)
    factors = list(support.space.names)
    splitter = Contract(
        factors,
        order=asked["order"],
        absent=[{factors[k]: value for k, value in one} for one in asked["absent"]],
        number=asked["number"],
        least=asked["least"],
        test_size=asked["share"],
        stratify=None if asked["tolerance"] is None else "label",
        class_tolerance=asked["tolerance"] or 0.05,
    )
    possible = twins.contracts(
        rows,
        order=asked["order"],
        named=asked["absent"],
        number=asked["number"],
        least=asked["least"],
        share=asked["share"],
        labels=() if asked["tolerance"] is None else labels,
        tolerance=asked["tolerance"] or 1.0,
    )
    if not possible:
        with pytest.raises(SettingError, match="the contract cannot be kept") as caught:
            splitter.held_out(support)
        assert caught.value.instead
        return
    held = splitter.held_out(support)
    share = support.counts[held].sum() / support.counts.sum()
    assert asked["share"][0] - 1e-9 <= share <= asked["share"][1] + 1e-9


def table_of(counts: dict[tuple[str, str], int]) -> dict[str, list[str]]:
    rows = [pair for pair, number in counts.items() for _ in range(number)]
    return {"a": [a for a, _ in rows], "b": [b for _, b in rows]}


GRID = {(a, b): 10 for a in ("red", "green", "blue") for b in ("disc", "bar", "star")}


def test_what_is_named_is_wholly_absent_and_nothing_else() -> None:
    table = table_of(GRID)
    _, test = next(Contract(AB, absent=[{"a": "red", "b": "star"}], test_size=(0.1, 0.2)).split(table))
    assert {(table["a"][i], table["b"][i]) for i in test} == {("red", "star")}
    assert len(test) == 10  # not a part of the cell: all of it


def test_named_ones_are_among_those_chosen() -> None:
    splitter = Contract(AB, absent=[{"a": "red", "b": "star"}], number=2, test_size=(0.2, 0.25))
    support = splitter.rows(table_of(GRID)).support
    sides = splitter.assignment(support)
    assert {"a": "red", "b": "star"} in sides.absent
    assert len(sides.absent) == 2


def test_three_factors_of_which_two_are_spoken_of() -> None:
    rows = [(a, b, c) for a in "xyz" for b in "pqr" for c in "mn" for _ in range(5)]
    table = {name: [row[k] for row in rows] for k, name in enumerate("abc")}
    splitter = Contract(["a", "b", "c"], absent=[{"a": "x", "b": "p"}], least=10, test_size=(0.1, 0.2))
    train, test = next(splitter.split(table))
    assert {rows[i][:2] for i in test} == {("x", "p")}
    assert ("x", "p") not in {rows[i][:2] for i in train}


def refused(splitter: Contract, table: Any) -> SettingError:
    with pytest.raises(SettingError, match="cannot be kept") as caught:
        next(splitter.split(table))
    return caught.value


def test_a_colour_that_would_never_be_trained_on_is_named() -> None:
    """causal_comp's mistake: the only cells of a colour are held out."""
    table = table_of(GRID | {("purple", "disc"): 10})
    error = refused(Contract(AB, absent=[{"a": "purple", "b": "disc"}]), table)
    assert "(a=purple) would keep 0 rows in training, and least=5" in error.why
    assert "hold out other conjunctions, or collect rows that hold it" in error.instead


def test_too_few_rows_of_a_part_name_the_number_that_works() -> None:
    table = table_of(GRID | {("purple", "disc"): 10, ("purple", "bar"): 3})
    error = refused(Contract(AB, absent=[{"a": "purple", "b": "disc"}], test_size=(0.05, 0.3)), table)
    assert "(a=purple) would keep 3 rows in training, and least=5" in error.why
    assert "write least=3" in error.instead
    held = Contract(AB, absent=[{"a": "purple", "b": "disc"}], test_size=(0.05, 0.3), least=3)
    assert len(next(held.split(table))[1]) == 10


def test_a_share_that_cannot_be_reached_names_the_nearest() -> None:
    table = table_of(GRID)
    error = refused(Contract(AB, absent=[{"a": "red", "b": "star"}], test_size=(0.3, 0.4)), table)
    assert "0.111 of the rows can be held out, less than asked" in error.why
    assert "write test_size=(0.111, 0.4)" in error.instead
    error = refused(Contract(AB, number=3, test_size=(0.05, 0.15)), table)
    assert "0.333 of the rows must be held out, more than asked" in error.why
    assert "write test_size=(0.05, 0.334)" in error.instead
    assert "1 conjunction could be absent, and number=3" in error.why
    assert "write number=1" in error.instead


def test_classes_that_cannot_be_kept_are_named_with_a_tolerance_that_works() -> None:
    table = table_of(GRID)
    table["label"] = ["cat" if b == "star" else "dog" for b in table["b"]]
    settings_: dict[str, Any] = {"absent": [{"a": "red", "b": "star"}], "stratify": "label"}
    error = refused(Contract(AB, **settings_), table)
    assert "would be off by 0.667, and class_tolerance=0.05" in error.why
    assert "write class_tolerance=0.667" in error.instead
    assert len(next(Contract(AB, **settings_, class_tolerance=0.667).split(table))[1]) == 10


def test_demands_that_contradict_each_other_are_told() -> None:
    table = table_of({("red", "disc"): 5, ("red", "bar"): 5, ("blue", "disc"): 5, ("blue", "bar"): 5})
    error = refused(Contract(AB, number=4, least=50, test_size=(0.1, 0.2)), table)
    assert "at least two of them contradict each other" in error.why


def test_time_that_is_too_short_is_told() -> None:
    from recombine.verbs.split.contract import undecided  # noqa: PLC0415

    splitter = Contract(AB, number=1, seconds=7)
    demands = splitter._demands(splitter.rows(table_of(GRID)).support, [])
    assert undecided(demands).what == "no split was found within 7 seconds"


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "neither `absent` nor `number`"),
        ({"number": 0}, "number=0"),
        ({"number": 1, "test_size": 0.2}, "test_size=0.2"),
        ({"number": 1, "test_size": (0.0, 0.2)}, "test_size="),
        ({"number": 1, "least": 0}, "least=0"),
        ({"number": 1, "order": 3}, "order=3"),
        ({"number": 1, "class_tolerance": -1.0}, "class_tolerance=-1.0"),
        ({"absent": [{"a": "red"}]}, "absent="),
        ({"absent": [{"a": "red", "b": "disc"}, {"a": "red", "b": "bar"}], "number": 1}, "number=1"),
    ],
)
def test_settings_that_mean_nothing(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Contract(AB, **given_)


def test_what_the_table_does_not_have_is_told() -> None:
    table = table_of(dict.fromkeys(list(GRID)[:-1], 10))
    with pytest.raises(SettingError, match="no row holds \\(a=blue, b=star\\)"):
        next(Contract(AB, absent=[{"a": "blue", "b": "star"}]).split(table))
    with pytest.raises(SettingError, match="only 8 conjunctions of 2 factors were seen"):
        next(Contract(AB, number=20).split(table))
    with pytest.raises(SettingError, match="did you mean 'blue'"):
        next(Contract(AB, absent=[{"a": "blu", "b": "disc"}]).split(table))


def test_ctrl_c_is_heard_while_the_solver_works() -> None:
    class Slow:
        HandleUserInterrupt = False
        cancelled = False

        def startSolve(self) -> None:  # noqa: N802 - the solver's own name
            assert self.HandleUserInterrupt

        def wait(self, seconds: float) -> Any:
            raise KeyboardInterrupt

        def cancelSolve(self) -> None:  # noqa: N802
            self.cancelled = True

    solver = Slow()
    with pytest.raises(KeyboardInterrupt):
        _run(solver)
    assert solver.cancelled
