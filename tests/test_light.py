"""The core starts quickly and loads nothing heavy, and the guard that says so can fail."""

import resource
import subprocess
import sys

import pytest

import recombine

HEAVY = ("torch", "pandas", "scipy", "plotly", "matplotlib", "sklearn")
HELP = """
import sys
sys.argv = ["recombine", "--help"]
from recombine.cli import main
try:
    main()
except SystemExit:
    pass
"""
AUDIT = """
import recombine
table = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
from recombine.output.pages import draw
draw(recombine.audit(table, factors=["a", "b"]).record())
"""


def loaded_by(code: str) -> set[str]:
    """The heavy packages that a fresh interpreter holds after running some code."""
    ask = f"\nimport sys; print('loaded', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("code", ["import recombine", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert loaded_by(code) == set()


@pytest.mark.process
def test_an_audit_loads_nothing_heavy() -> None:
    """But for pandas: DuckDB and Arrow look for it by themselves, and load it where it happens to be installed."""
    assert loaded_by(AUDIT) <= {"pandas"}


COMMAND = """
import sys
sys.argv = ["recombine", "audit", {table!r}, "--factors", "a,b"]
from recombine.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
import recombine.cli.startup
print("compilers", *sorted(n.rpartition(".")[2] for n in sys.modules if n.startswith("ibis.backends.sql.compilers.")))
"""


@pytest.mark.process
def test_the_command_loads_no_pandas_and_one_compiler(tmp_path) -> None:
    """Ibis would load those of twenty engines, and pandas: together a third of the time that a small audit takes."""
    (tmp_path / "four.csv").write_text("a,b\nx,p\nx,q\ny,p\ny,p\n")
    code = COMMAND.format(table=str(tmp_path / "four.csv"))
    assert loaded_by(code) == set()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()[-1].split()[1:]) <= {"_compat", "base", "duckdb"}


@pytest.mark.process
def test_who_imports_pandas_gets_it_after_a_command_put_it_off(tmp_path) -> None:
    (tmp_path / "four.csv").write_text("a,b\nx,p\nx,q\ny,p\ny,p\n")
    code = (
        COMMAND.format(table=str(tmp_path / "four.csv")) + "\nimport pandas; print(pandas.DataFrame({'a': [1]}).a[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"


@pytest.mark.process
def test_the_guard_can_fail() -> None:
    assert loaded_by("import pandas") == {"pandas"}


def test_help_loads_neither_engine_nor_arrays() -> None:
    ask = "\nimport sys; print('loaded', *[n for n in ('ibis', 'duckdb', 'pyarrow', 'numpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", HELP + ask], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


@pytest.mark.process
def test_a_saved_result_loads_where_nothing_else_was_done(tmp_path) -> None:
    """What a reader needs is imported by the reader, not by chance by whoever made the result."""
    recombine.audit(recombine.read({"a": ["x", "x", "y"], "b": ["p", "q", "p"]}, factors=["a", "b"])).save(
        tmp_path / "it"
    )
    code = f"import recombine; print(recombine.Audit.load({str(tmp_path / 'it')!r}).verdict)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def seconds(code: str) -> float:
    """Processor time, which other work on the machine does not lengthen much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.process
def test_help_starts_within_half_a_second_of_bare_python() -> None:
    seconds(HELP)  # compiled files and the disk's cache
    # The quickest of several: what other work on the machine adds is not ours.
    bare, help_ = (min(seconds(code) for _ in range(9)) for code in ("pass", HELP))
    assert help_ - bare < max(0.5, 35 * bare)  # a slow or busy machine is slow for both
