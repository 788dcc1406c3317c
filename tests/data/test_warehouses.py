"""What warehouses would be asked: the statements as they were read over once, and the joins against union-find.

`python -m tests.data.test_warehouses` writes the statements anew; read the difference over before it is kept.
"""

import json
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from recombine.data.component_joins import large_star, parts_in_engine, small_star, value_links
from recombine.data.dry_run import dry_run
from recombine.data.table_query import TableQuery
from recombine.numerics.value_graph import UnionFind, components
from tests.commands import run_command
from tests.properties import examples

DIALECTS = ("bigquery", "snowflake", "trino", "databricks", "clickhouse")
HELD = Path(__file__).with_name("warehouse_sql.json")


def statements() -> dict[str, dict[str, str]]:
    table = ibis.table({"user": "int64", "item": "string", "price": "float64"}, name="sales")
    links = ibis.table({"u": "string", "v": "string"}, name="links")
    counted = table.group_by(f0=table.user, f1=table.item).aggregate(rows=table.count(), target_total=table.price.sum())
    asked = {
        "group by": counted,
        "links": value_links(counted, ("f0", "f1")),
        "large star": large_star(links),
        "small star": small_star(links),
    }
    return {
        dialect: {name: str(ibis.to_sql(one, dialect=dialect)) for name, one in asked.items()} for dialect in DIALECTS
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_warehouses_are_asked(dialect) -> None:
    held = json.loads(HELD.read_text(encoding="utf-8"))[dialect]
    made = statements()[dialect]
    assert made.keys() == held.keys()
    for name, sql in made.items():
        # later versions may lay a statement out otherwise: what it says is compared
        one, other = (sqlglot.parse_one(said, read=dialect).sql(dialect) for said in (sql, held[name]))
        assert one == other, name


PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=30)


@given(PAIRS, st.integers(1, 5))
@examples(60)
def test_union_find_by_pieces(pairs, piece) -> None:
    rows = np.array(pairs) + np.array([0, 13])
    parts = UnionFind(26)
    for start in range(0, len(rows), piece):
        parts.link(rows[start : start + piece])
    assert parts.labels().tolist() == components(rows, 26).tolist()


@given(PAIRS)
@examples(10)
def test_joins_find_the_same_parts(pairs) -> None:
    engine = ibis.duckdb.connect()
    engine.con.register("arriving", pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}))
    engine.con.execute("CREATE TABLE lines AS FROM arriving")
    links = value_links(engine.table("lines"), ("a", "b"))
    found = engine.to_pyarrow(parts_in_engine(links, engine)).to_pylist()
    least = {link["u"]: link["v"] for link in found}
    nodes = sorted({f"0:{a}" for a, _ in pairs} | {f"1:{b}" for _, b in pairs})
    labels = components(np.array([[nodes.index(f"0:{a}"), nodes.index(f"1:{b}")] for a, b in pairs]), len(nodes))
    smallest = {label: min(node for node, its in zip(nodes, labels, strict=True) if its == label) for label in labels}
    assert [least.get(node, node) for node in nodes] == [smallest[label] for label in labels]


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
