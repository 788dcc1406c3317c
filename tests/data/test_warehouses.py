"""What warehouses would be asked: the statements as they were read over once.

`python -m tests.data.test_warehouses` writes the statements anew; read the difference over before it is kept.
"""

import json
from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from recombine.data.dry_run import dry_run
from recombine.data.table_query import TableQuery
from tests.commands import run_command

DIALECTS = ("bigquery", "snowflake", "trino", "databricks", "clickhouse")
HELD = Path(__file__).with_name("warehouse_sql.json")


def statements() -> dict[str, str]:
    table = ibis.table({"user": "int64", "item": "string", "price": "float64"}, name="sales")
    counted = table.group_by(f0=table.user, f1=table.item).aggregate(rows=table.count(), target_total=table.price.sum())
    return {dialect: str(ibis.to_sql(counted, dialect=dialect)) for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_warehouses_are_asked(dialect) -> None:
    # later versions may lay a statement out otherwise: what it says is compared
    asked = (statements()[dialect], json.loads(HELD.read_text(encoding="utf-8"))[dialect])
    made, held = (sqlglot.parse_one(said, read=dialect).sql(dialect) for said in asked)
    assert made == held


def test_a_dry_run_tells_sql_and_bytes(tmp_path) -> None:
    table = pa.table({"a": [k % 7 for k in range(500)], "b": [f"v{k % 11}" for k in range(500)], "y": [1.5] * 500})
    pq.write_table(table, tmp_path / "t.parquet")
    found = dry_run(tmp_path / "t.parquet", TableQuery(factors=("a", "b"), target="y"))
    stored = pq.read_metadata(tmp_path / "t.parquet").row_group(0)
    assert found.rows == 500
    assert found.scanned_bytes == sum(stored.column(k).total_compressed_size for k in range(3))
    assert "SUM(" in found.sql
    assert found.answer_bytes == found.lines * 6 * 8
    only = dry_run(tmp_path / "t.parquet", TableQuery(factors=("a", "b")))
    assert only.scanned_bytes == found.scanned_bytes - stored.column(2).total_compressed_size


def test_the_commands_option(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,b,split\nx,p,train\nx,q,test\ny,p,train\n", encoding="utf-8")
    for words in (("audit",), ("split",), ("lint",), ("plan",), ("predict", "--target", "split")):
        told = run_command(tmp_path, words[0], "t.csv", "--factors", "a,b", *words[1:], "--dry-run")
        assert told.returncode == 0, told.stderr
        assert "GROUP BY" in told.stdout
        assert "bytes not told" in told.stdout
        assert ('"split"' in told.stdout) == (words[0] in ("lint", "predict"))
    refused = run_command(tmp_path, "audit", "t.csv", "--dry-run")
    assert refused.returncode == 2
    assert "--dry-run without --factors" in refused.stderr
    assert not [one for one in tmp_path.iterdir() if one.name != "t.csv"]


if __name__ == "__main__":
    HELD.write_text(json.dumps(statements(), indent=1) + "\n", encoding="utf-8")
