"""Costs: the most specific line counts, and a wrong one is explained."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import ColumnError, SettingError, SourceError, SpaceError
from recombine.data.space import Space
from recombine.verbs.plan.collectable import Collectable, Costs
from tests.plan.twins import brute_price, priced, tables
from tests.twins import every

SPACE = Space.of({"material": ["wool", "silk"], "garment": ["coat", "hat"]})
LINES = [
    {"material": "wool", "garment": "", "cost": "3"},
    {"material": "", "garment": "hat", "cost": "5"},
    {"material": "silk", "garment": "hat", "cost": "inf"},
]


@given(st.data())
def test_prices_equal_a_search_line_by_line(data) -> None:
    support = data.draw(tables(most_factors=4))
    lines = data.draw(priced(support))
    found = Collectable(support, Costs.of(lines, support.space))
    codes = every(support.space.sizes)
    np.testing.assert_array_equal(found.price(codes), brute_price(codes, support, lines))


@given(st.data())
def test_what_cannot_be_completed_is_found_by_counting(data) -> None:
    support = data.draw(tables(most_factors=4, most_values=4))
    found = Collectable(support, Costs.of(data.draw(priced(support)), support.space))
    codes = every(support.space.sizes)
    usable = codes[np.isfinite(found.price(codes))]
    for factors in [(0,), (0, 1), (len(support.space.sizes) - 1,)]:
        shape = [support.space.sizes[k] for k in factors]
        alive = np.zeros(shape, dtype=bool)
        alive[tuple(usable[:, k] for k in factors)] = True
        np.testing.assert_array_equal(found.forbidden.infeasible(factors), ~alive.ravel())


def test_later_lines_win_among_equals() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert Costs.of(LINES, SPACE).to_collect(codes).tolist() == [3.0, 5.0, 1.0, np.inf]


@pytest.mark.parametrize("kind", ["csv", "pandas", "polars", "arrow", "columns"])
def test_any_kind_of_table(kind, tmp_path) -> None:
    frame = pd.DataFrame(LINES)
    frame.to_csv(tmp_path / "costs.csv", index=False)
    given_as = {
        "csv": tmp_path / "costs.csv",
        "pandas": pd.read_csv(tmp_path / "costs.csv"),
        "polars": pl.DataFrame(LINES),
        "arrow": pa.Table.from_pylist(LINES),
        "columns": frame.to_dict("list"),
    }[kind]
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert Costs.of(given_as, SPACE).to_collect(codes).tolist() == [3.0, 5.0, 1.0, np.inf]


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ({"material": "wool", "cost": -1}, SettingError, "a cost of -1"),
        ({"material": "wool", "cost": "cheap"}, SettingError, "a cost of 'cheap'"),
        ({"material": "wol", "cost": 1}, SpaceError, "did you mean 'wool'?"),
        ({"materiel": "wool", "cost": 1}, ColumnError, "did you mean 'material'?"),
        ({"material": "wool", "price": 1}, ColumnError, "neither a factor nor 'cost'"),
        ({"material": "wool"}, ColumnError, "no column 'cost'"),
    ],
)
def test_a_wrong_line_is_explained(line, error, words) -> None:
    with pytest.raises(error) as caught:
        Costs.of([line], SPACE)
    assert words in str(caught.value)


def test_costs_that_are_no_lines() -> None:
    with pytest.raises(SettingError, match="not lines of factors and a cost"):
        Costs.of([3, 4], SPACE)


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(SourceError, match="no file of costs"):
        Costs.of(tmp_path / "none.csv", SPACE)
    (tmp_path / "bare.csv").write_text("material\nwool\n")
    with pytest.raises(ColumnError, match="no column 'cost', only 'material'"):
        Costs.of(tmp_path / "bare.csv", SPACE)


def test_only_some_can_be_had() -> None:
    table = {"material": ["wool", "silk", "denim"], "garment": ["coat", "hat", "scarf"]}
    support = recombine.read(table, factors=["material", "garment"])
    only = [
        {"material": None, "garment": None, "cost": None},
        {"material": "wool", "garment": "hat", "cost": 2},
        {"material": "denim", "garment": "hat", "cost": 7},
        {"material": "denim", "garment": "coat", "cost": 8},
    ]
    plan = recombine.plan(support, costs=only)
    assert [(line.combination["material"], line.cost) for line in plan.lines] == [("wool", 2.0), ("denim", 7.0)]
    assert (plan.needed.cost, plan.needed.exact, plan.reached) == (9.0, True, True)
    part = recombine.plan(support, costs=only, budget=8.5)
    assert (part.curve[-1].spent, part.grade) == (2.0, "weak")
    assert part.verdict.endswith("The goal takes 2 combinations (cost 9).")
