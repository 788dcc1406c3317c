"""Every verb says of the seven real tables what it said before, number by number."""

import json
from typing import Any

import pytest

from tests.golden_verbs import FILE, TABLES, VERBS, measured

pytestmark = pytest.mark.data

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))
# Nine factors and 13,204 combinations: minutes, where the other tables take a second.
SLOW = {"cgqa", "scan_jump"}  # tables of thousands of combinations
# Solvers stop at a residual, and sums of floats depend on the number of threads.
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def differing(found: dict[str, Any], golden: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What is not the same: the number now, and as it was."""
    names = sorted(found.keys() | golden.keys())
    pairs = {name: (found.get(name), golden.get(name)) for name in names}
    return {name: (now, before) for name, (now, before) in pairs.items() if not _same(now, before)}


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(_same, now, before))
    both_numbers = isinstance(now, int | float) and isinstance(before, int | float)
    return now == pytest.approx(before, **CLOSE) if both_numbers else now == before


CELLS = [
    pytest.param(table, verb, id=f"{table.name}-{verb}", marks=[pytest.mark.slow] if table.name in SLOW else [])
    for table in TABLES
    for verb in VERBS
]


@pytest.mark.parametrize(("table", "verb"), CELLS)
def test_the_numbers_are_those_of_before(table, verb, data) -> None:
    assert differing(measured(table, verb, data), GOLDEN[f"{table.name} {verb}"]) == {}


def test_a_changed_number_is_found() -> None:
    golden = GOLDEN["ut_zappos audit"]
    name = next(name for name, value in golden.items() if isinstance(value, float) and value > 1)
    assert list(differing(golden | {name: golden[name] * 1.001}, golden)) == [name]
    assert list(differing({key: value for key, value in golden.items() if key != name}, golden)) == [name]
