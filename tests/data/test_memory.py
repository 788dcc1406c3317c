"""Tables and spaces that are large in one way: answered, or refused in words, within memory that a laptop has."""

import subprocess
import sys

import pytest

GIBIBYTES = 3
_LIMIT = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({GIBIBYTES} * 2**30,) * 2)\n"
_MADE = """
import numpy as np, pyarrow as pa, recombine
from recombine.base.errors import RecombineError
from recombine.data.space import Space
draw = np.random.default_rng(0)
def table(sizes, rows):
    return pa.table({f"f{k}": pa.array(draw.integers(0, size, rows)).cast("string") for k, size in enumerate(sizes)})
"""


def told(code: str) -> str:
    """What a process prints that may not have more than so much memory."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMIT + _MADE + code], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_a_space_of_a_trillion_is_counted_and_not_listed() -> None:
    said = told("""
space = Space.of({f"f{k}": range(10) for k in range(12)}, impossible=[{"f0": 1, "f5": 2}, {"f1": 3}])
print(space.size, space.restricted((0, 5)).size)
try:
    space.every()
except RecombineError as error:
    print(error)
""")
    assert said.startswith(f"{10**12 - 10**11 - 10**10 + 10**9} 99\n")
    assert "to list it would take" in said


def test_impossible_conjunctions_that_speak_of_many_factors_are_counted() -> None:
    said = told("""
space = Space.of({f"f{k}": range(10) for k in range(12)}, impossible=[{f"f{k}": 1} for k in range(12)])
print(space.size)
""")
    assert int(said) == 9**12


@pytest.mark.process
@pytest.mark.parametrize(
    ("sizes", "rows"), [((10**6, 3), 10**6), ((10,) * 12, 10**5), ((10**4, 10**4, 10**4), 10**5)], ids=str
)
def test_a_wide_table_is_read(sizes: tuple[int, ...], rows: int) -> None:
    said = told(f"""
found = recombine.read(table({sizes}, {rows}), factors=[f"f{{k}}" for k in range({len(sizes)})])
print(found.rows, found.space.size >= len(found), len(found.groups((0, 1)).representatives) > 0)
""")
    assert said.split() == [str(rows), "True", "True"]
