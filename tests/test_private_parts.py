"""What leans on parts of other packages that they do not promise: a list, and a word when one of them is gone.

Each stands in one place. Whoever adds one adds it here, with what to do on the day it breaks.
"""

import importlib
import re
from pathlib import Path

import ibis
import pyarrow.dataset
import torch

from tests.commands import run_command

ROOT = Path(__file__).parents[1]
LEANS = {
    "src/recombine/data/sources.py": ["table._find_backends"],
    "src/recombine/data/lake_tables.py": ["pyarrow._dataset"],
    "lab/src/recombine_lab/training/learners.py": ["torch._foreach_copy_"],
    "lab/src/recombine_lab/probes/subnetwork_probe/subnetworks.py": ["torch._dynamo"],
}
_PRIVATE = re.compile(
    r"(?<![\w.])(?!self\b|cls\b|one\b|other\b|mine\b|alone\b|owner\b|store\b|sys\b|os\b)(\w+\._(?!replace|asdict|fields)[a-z]\w*)"
)


def test_the_list_is_whole() -> None:
    found = {}
    for folder in ("src", "lab/src", "studies/src"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            code = re.sub(r"^\s*#.*$|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            if names := _PRIVATE.findall(code):
                found[str(path.relative_to(ROOT))] = sorted(set(names))
    assert found == LEANS


def test_ibis_tells_where_a_table_lives() -> None:
    """Else: ask `ibis.expr.types.Table.get_backend`, and take its error for "nowhere"."""
    connection = ibis.duckdb.connect()
    backends, _ = connection.create_table("t", schema={"a": "int64"})._find_backends()
    assert backends == [connection]
    assert ibis.memtable({"a": [1]}).filter(ibis._.a > 0)._find_backends()[0] == []


def test_ibis_keeps_its_compilers_where_the_start_puts_them_off(tmp_path) -> None:
    """Else: leave `recombine.cli.startup` out; a command then starts a third slower."""
    assert importlib.import_module("ibis.backends.sql.compilers.duckdb").DuckDBCompiler
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    assert run_command(tmp_path, "audit", "t.csv", "--factors", "a,b").returncode == 0


def test_arrow_calls_its_datasets_by_the_name_that_is_looked_for() -> None:
    """Else: import `pyarrow.dataset` in `lake_tables`, which takes 30 ms."""
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in pyarrow.dataset.InMemoryDataset.__mro__}
    assert "pyarrow._dataset.Dataset" in kinds


def test_torch_compiles_with_dynamo() -> None:
    """Else: forget to free what it compiled; memory grows with each search for masks."""
    assert importlib.util.find_spec("torch._dynamo") is not None


def test_torch_copies_many_tensors_at_once() -> None:
    """Else: copy them one by one, in a loop."""
    here, there = [torch.zeros(2)], [torch.ones(2)]
    torch._foreach_copy_(here, there)
    assert here[0].tolist() == [1, 1]
