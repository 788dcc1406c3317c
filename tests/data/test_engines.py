"""One table through every door gives one support, and the engine itself testifies that it only counted."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from recombine import HoldOutCombinations, SplitColumn, Support, audit_stored, lint, read, store_counts
from recombine import split as split_table
from recombine.base.errors import SourceError
from recombine.data import group_counts
from tests import servers
from tests.audit.test_stored_audit import assert_same_numbers

ROWS = 5_000
FACTORS = ["who", "warm", "grade"]

TEXTS = [
    "O'Brien", 'say "hi"', "a,b", "naïve", "nai\u0308ve", "日本", "🧶 wool", "two\nlines", " space ", "NULL",
    "null", "<b>bold</b>", "back\\slash", "Wool", "wool", "100%", "$1", "{x}", "--", "ÿ",
]  # fmt: skip


def _maybe(random: np.random.Generator, values: list[Any], share: float) -> list[Any]:
    return [None if gone else value for value, gone in zip(values, random.random(len(values)) < share, strict=True)]


def _column(random: np.random.Generator, choices: list[Any], missing: float = 0.0) -> list[Any]:
    return _maybe(random, [choices[k] for k in random.integers(len(choices), size=ROWS)], missing)


@pytest.fixture(scope="session")
def columns() -> dict[str, list[Any]]:
    """The table itself, as plain Python."""
    random = np.random.default_rng(7)
    start = datetime(2023, 1, 1)
    return {
        "who": _column(random, TEXTS, 0.03),
        "warm": _column(random, [True, False], 0.02),
        "grade": _column(random, list(range(-5, 40)), 0.04),
        "label": _column(random, ["hot", "cold", "it's", "Ünder"], 0.1),
        "digit": _column(random, list(range(10)), 0.1),
        "price": _maybe(random, random.normal(100, 30, ROWS).round(3).tolist(), 0.1),
        "weight": _column(random, [0.1, 0.25, 1.0, 3.0]),
        "size": _maybe(random, random.normal(0, 10, ROWS).round(2).tolist(), 0.03),
        "when": [start + timedelta(minutes=int(m)) for m in random.integers(0, 700 * 24 * 60, ROWS)],
    }


@pytest.fixture(scope="session")
def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table(columns).set_column(8, "when", pa.array(columns["when"], pa.timestamp("us")))


QUESTIONS: dict[str, dict[str, Any]] = {
    "no target": {},
    "label": {"target": "label"},
    "digit": {"target": "digit"},
    "truth": {"factors": ["who", "grade"], "target": "warm"},
    "number": {"target": "price"},
    "number, weight": {"target": "price", "weight": "weight"},
    "label, weight": {"target": "label", "weight": "weight"},
    "missing": {"missing": "value", "target": "label"},
    "where": {"where": "grade > 3 AND who <> 'say \"hi\"' AND price IS NOT NULL", "target": "digit"},
    "domain": {"domain": {"grade": range(-9, 50)}},
    "edges": {"factors": ["who", "size"], "bins": {"size": [-10, 0, 10]}},
    "wide": {"factors": ["who", "size"], "bins": {"size": 5}},
    "full": {"factors": ["who", "size", "grade"], "bins": {"size": "quantiles:4", "grade": 3}},
    "weekday": {"factors": ["warm", "when"], "bins": {"when": "weekday"}},
    "month": {"factors": ["warm", "when"], "bins": {"when": "month"}},
    "day": {"factors": ["warm", "when"], "bins": {"when": "day"}},
    "hour": {"factors": ["warm", "when"], "bins": {"when": "hour"}},
    "year": {"factors": ["warm", "when"], "bins": {"when": "year"}, "target": "price"},
}


CORE = ["no target", "label", "number, weight", "where", "edges", "wide", "month"]


def ask(source: Any, question: str, **where: Any) -> Support:
    return read(source, **({"factors": FACTORS} | QUESTIONS[question] | where))


@pytest.fixture(scope="session")
def expected(arrow: pa.Table) -> dict[str, Support]:
    return {question: ask(arrow, question) for question in QUESTIONS}


def check(expected: dict[str, Support], source: Any, questions: Iterable[str] = CORE, **where: Any) -> None:
    """The questions have the same answers here as anywhere."""
    for question in questions:
        answer = expected[question]
        found = ask(source, question, **where)
        assert found == answer, question
        assert (found.rows, dict(found.left_out)) == (answer.rows, dict(answer.left_out)), question


def test_the_expected_answers_are_right(columns: dict[str, list[Any]], expected: dict[str, Support]) -> None:
    """What the engines are compared with is itself counted by hand."""
    support = expected["number, weight"]
    rows = [row for row in zip(*columns.values(), strict=True) if None not in row[:3]]
    counts: dict[Any, float] = {}
    totals: dict[Any, float] = {}
    for who, warm, grade, _, _, price, weight, *_ in rows:
        counts[who, warm, grade] = counts.get((who, warm, grade), 0.0) + weight
        totals[who, warm, grade] = totals.get((who, warm, grade), 0.0) + weight * (price or 0.0)
    assert len(support) == len(counts)
    assert support.rows == ROWS
    assert support.left_out["(any)"] == ROWS - len(rows)
    assert support.target is not None
    for index in range(len(support)):
        cell = tuple(support.combination(index).values())
        assert support.counts[index] == pytest.approx(counts[cell])
        assert support.target.total[index] == pytest.approx(totals[cell], abs=1e-9)


# ------------------------------------------------------------------------------------------- tables in memory


def _pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def _pandas_arrow(table: pa.Table) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _polars(table: pa.Table) -> Any:
    return pl.from_arrow(table)


def _polars_lazy(table: pa.Table) -> Any:
    return _polars(table).lazy()


def _hugging_face(table: pa.Table) -> Any:
    return Dataset(table)


def _hugging_face_chosen(table: pa.Table) -> Any:
    """Rows are chosen out of twice as many, then shuffled: only the chosen ones may count."""
    doubled = _hugging_face(pa.concat_tables([table, table]))
    return doubled.select(range(ROWS)).shuffle(seed=1)


def _chunks(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 11), table.slice(11, 0), table.slice(11)])


def _large_and_dictionary(table: pa.Table) -> pa.Table:
    encoded = table.set_column(0, "who", table["who"].dictionary_encode())
    return encoded.set_column(3, "label", encoded["label"].cast(pa.large_string()))


MEMORY: dict[str, Callable[[pa.Table], Any]] = {
    "dict": lambda table: table.to_pydict(),
    "pandas": _pandas,
    "pandas, Arrow types": _pandas_arrow,
    "Polars": _polars,
    "lazy Polars": _polars_lazy,
    "PyArrow": lambda table: table,
    "PyArrow, chunks": _chunks,
    "PyArrow, dictionary": _large_and_dictionary,
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "Hugging Face": _hugging_face,
    "Hugging Face, chosen and shuffled": _hugging_face_chosen,
    "Ibis memtable": ibis.memtable,
}


SHUFFLED = pytest.param("Hugging Face, chosen and shuffled", marks=pytest.mark.slow)


@pytest.mark.parametrize("library", [*(name for name in MEMORY if name not in SHUFFLED.values), SHUFFLED])
def test_memory(library: str, arrow: pa.Table, expected: dict[str, Support]) -> None:
    check(expected, MEMORY[library](arrow), QUESTIONS if library == "pandas" else CORE)


def test_the_order_of_rows_does_not_matter(arrow: pa.Table, expected: dict[str, Support]) -> None:
    check(expected, arrow.take(np.random.default_rng(3).permutation(ROWS)))


# ------------------------------------------------------------------------------------------------------ files


def _json_lines(table: pa.Table) -> str:
    return "".join(
        json.dumps({name: str(item) if name == "when" else item for name, item in row.items()}) + "\n"
        for row in table.to_pylist()
    )


def _write_many(table: pa.Table, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for place in range(0, ROWS, 2_000):
        pq.write_table(table.slice(place, 2_000), folder / f"part {place}.parquet")
    return folder


def _parquet(table: pa.Table, folder: Path) -> str:
    pq.write_table(table, folder / "one.parquet")
    return str(folder / "one.parquet")


def _csv(table: pa.Table, folder: Path) -> Path:
    pa.csv.write_csv(table, folder / "one.csv")
    return folder / "one.csv"


def _csv_gz(table: pa.Table, folder: Path) -> str:
    packed = folder / "one.csv.gz"
    packed.write_bytes(gzip.compress(_csv(table, folder).read_bytes()))
    return str(packed)


def _tsv(table: pa.Table, folder: Path) -> str:
    pa.csv.write_csv(table, folder / "one.tsv", pa.csv.WriteOptions(delimiter="\t"))
    return str(folder / "one.tsv")


def _jsonl(table: pa.Table, folder: Path) -> str:
    (folder / "one.jsonl").write_text(_json_lines(table), encoding="utf-8")
    return str(folder / "one.jsonl")


def _arrow(table: pa.Table, folder: Path) -> str:
    with pa.ipc.new_file(folder / "one.arrow", table.schema) as writer:
        writer.write_table(table)
    return str(folder / "one.arrow")


def _jsonl_gz(table: pa.Table, folder: Path) -> str:
    (folder / "one.jsonl.gz").write_bytes(gzip.compress(_json_lines(table).encode()))
    return str(folder / "one.jsonl.gz")


def _file_uri(table: pa.Table, folder: Path) -> str:
    return Path(_parquet(table, folder)).as_uri()


FILES: dict[str, Callable[[pa.Table, Path], str | Path]] = {
    "Parquet": _parquet,
    "CSV": _csv,
    "CSV.gz": _csv_gz,
    "TSV": _tsv,
    "Arrow": _arrow,
    "JSON lines": _jsonl,
    "JSONL.gz": _jsonl_gz,
    "glob": lambda table, folder: str(_write_many(table, folder / "many") / "*.parquet"),
    "folder": lambda table, folder: _write_many(table, folder / "many"),
    "folder of folders": lambda table, folder: _write_many(table, folder / "a" / "b").parent,
    "file URI": _file_uri,
}


TEXT = {"CSV", "CSV.gz", "TSV", "JSON lines", "JSONL.gz"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in TEXT else []) for kind in FILES]
)
def test_files(kind: str, arrow: pa.Table, expected: dict[str, Support], tmp_path: Path) -> None:
    check(expected, FILES[kind](arrow, tmp_path), QUESTIONS if kind == "Parquet" else CORE)


def test_duckdb_file(arrow: pa.Table, expected: dict[str, Support], tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.register("open_table", arrow)
        made.execute("CREATE TABLE products AS FROM open_table")
    check(expected, path, table="products")
    check(expected, f"duckdb://{path}", ["label"], table="main.products")


def test_duckdb_table_of_the_users_own_connection(arrow: pa.Table, expected: dict[str, Support]) -> None:
    """A connection that the user opened is still open afterwards."""
    connection = ibis.duckdb.connect()
    connection.con.register("products", arrow)
    table = connection.table("products")
    check(expected, table)
    check(expected, table.mutate(extra=1).filter(ibis._.extra == 1))
    assert table.count().to_pyarrow().as_py() == ROWS


# ------------------------------------------------------------------------------------------------- PostgreSQL


@pytest.fixture(scope="session")
def postgres_table(postgres: servers.Postgres, arrow: pa.Table) -> servers.Postgres:
    """The server with the table in it."""
    types = {"who": "text", "warm": "boolean", "grade": "integer", "label": "text", "digit": "smallint",
             "price": "double precision", "weight": "double precision", "size": "double precision",
             "when": "timestamp"}  # fmt: skip
    declared = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        connection.execute(f"CREATE TABLE products ({declared})")
        with connection.cursor().copy("COPY products FROM STDIN") as copy:
            for row in zip(*arrow.to_pydict().values(), strict=True):
                copy.write_row(row)
        connection.execute("CREATE SCHEMA shop")
        connection.execute("CREATE VIEW shop.goods AS SELECT * FROM products")
    return postgres


@pytest.mark.canary
def test_postgres(postgres_table: servers.Postgres, expected: dict[str, Support]) -> None:
    check(expected, postgres_table.uri, QUESTIONS, table="products")


def test_postgres_view_in_another_schema(postgres_table: servers.Postgres, expected: dict[str, Support]) -> None:
    assert ask(postgres_table.uri, "label", table="shop.goods") == expected["label"]


def test_postgres_through_ibis(postgres_table: servers.Postgres, expected: dict[str, Support]) -> None:
    connection = ibis.connect(postgres_table.uri)
    try:
        check(expected, connection.table("products"))
        assert connection.table("products").count().to_pyarrow().as_py() == ROWS  # still open
    finally:
        connection.disconnect()


# ------------------------------------------------------------------------------------------------------ Spark


@pytest.fixture(scope="session")
def spark_table(spark: servers.Spark, arrow: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("spark") / "products.parquet"
    pq.write_table(arrow.cast(arrow.schema.set(8, pa.field("when", pa.timestamp("us", tz="UTC")))), path)
    spark.session.read.parquet(str(path)).createOrReplaceTempView("products")
    return ibis.pyspark.connect(spark.session).table("products")


@pytest.mark.canary
def test_spark(spark_table: Any, expected: dict[str, Support]) -> None:
    check(expected, spark_table, [*CORE[:4], "truth", "full", "month", "weekday", "hour"])


def test_counts_on_disk_from_spark(
    spark_table: Any, arrow: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark's workers count and what DuckDB counts is the same on disk, number by number."""
    audits = []
    for source in (spark_table, arrow):
        with store_counts(source, factors=FACTORS) as counts:
            audits.append(audit_stored(counts, asked=[("Wool", True, 3), ("Wool", True, 99)]))
    assert_same_numbers(*audits)
    assert audits[0].asked == audits[1].asked
    monkeypatch.setattr(group_counts, "MOST_COMBINATIONS", 1)
    split = SplitColumn("label", train=["hot"], test=["cold"])
    mine, theirs = (lint(source, factors=FACTORS, split=split) for source in (spark_table, arrow))
    assert (mine.sides, mine.checks) == (theirs.sides, theirs.checks)
    held = HoldOutCombinations(test_size=0.3)
    sides = [
        split_table(source, factors=FACTORS, by=held, out=tmp_path / f"{k}.parquet").sides
        for k, source in enumerate((spark_table, arrow))
    ]
    assert sides[0] == sides[1]


# ---------------------------------------------------------------------------- what the engines themselves say


EVIDENCE: dict[str, dict[str, Any]] = {
    "label": {"target": "label"},
    "number, weight": {"target": "price", "weight": "weight"},
    "where": {"target": "label", "where": "grade > 3"},
}


@pytest.fixture(params=EVIDENCE)
def asked(request: pytest.FixtureRequest, columns: dict[str, list[Any]]) -> tuple[dict[str, Any], int]:
    """A question, and the number of groups that any engine must answer it with."""
    question = EVIDENCE[request.param]
    keys = FACTORS + (["label"] if question["target"] == "label" else [])
    rows = zip(*(columns[name] for name in keys), strict=True)
    kept = (row for row in rows if "where" not in question or (row[2] is not None and row[2] > 3))
    return question, len(set(kept))


def _told_apart(queries: list[str], question: dict[str, Any]) -> tuple[str, list[str]]:
    """The one aggregate, and for a number the one question about where its first thousand rows lie."""
    pilots = [query for query in queries if "LIMIT 1000)" in query]
    (counting,) = [query for query in queries if query not in pilots]
    assert len(pilots) == (question["target"] == "price"), pilots
    return counting, pilots


def test_postgres_testifies(postgres_table: servers.Postgres, asked: tuple[dict[str, Any], int]) -> None:
    """Its log and statistics: one aggregate over the table, and as many rows fetched as there are groups."""
    question, groups = asked
    with psycopg.connect(postgres_table.uri) as connection:
        connection.execute("SELECT pg_stat_statements_reset()")
    before = len(postgres_table.log)
    read(postgres_table.uri, factors=FACTORS, table="products", **question)

    log = postgres_table.log[before:]
    statements = [line for line in log.splitlines() if " CURSOR FOR SELECT" in line and "Query Text" not in line]
    assert all('"products"' in statement for statement in statements)
    counting = [statement for statement in statements if not statement.endswith("LIMIT 0")]
    aggregate, pilots = _told_apart(counting, question)
    assert "GROUP BY" in aggregate
    plan = log[log.rindex("Query Text: DECLARE") :]
    assert "Aggregate" in plan
    assert plan.count("Seq Scan on products") == 1
    assert "COPY" not in log

    with psycopg.connect(postgres_table.uri) as connection:
        found = connection.execute(
            "SELECT query, rows FROM pg_stat_statements WHERE query NOT ILIKE '%%pg_stat_statements%%'"
        ).fetchall()
    fetched = {query: rows for query, rows in found if query.startswith("FETCH")}
    assert sum(fetched.values()) == groups + len(pilots)  # a pilot's answer is one row
    others = [rows for query, rows in found if not query.startswith("FETCH")]
    assert max(others) < 100  # names of tables and columns


def test_spark_testifies(spark: servers.Spark, spark_table: Any, asked: tuple[dict[str, Any], int]) -> None:
    """Its event log: one plan scans the table, once, and its last stage puts out a row for each group."""
    question, groups = asked
    before = len(_spark_events(spark))
    read(spark_table, factors=FACTORS, **question)
    events = _spark_events(spark)[before:]

    plans = [event["physicalPlanDescription"] for event in events if event["Event"].endswith("SQLExecutionStart")]
    scanning = [plan for plan in plans if "Scan parquet" in plan]
    pilots = [plan for plan in scanning if "GlobalLimit" in plan and "GlobalLimit 50000001" not in plan]
    assert len(scanning) - len(pilots) == 1
    assert len(pilots) == (question["target"] == "price")
    assert all("HashAggregate" in plan or "ObjectHashAggregate" in plan for plan in scanning)
    stages = [
        event["Stage Info"]["Accumulables"] for event in events if event["Event"] == "SparkListenerStageCompleted"
    ]
    scanned = [int(item["Value"]) for stage in stages for item in stage if item["Name"].endswith("input.recordsRead")]
    assert ROWS <= sum(scanned) <= ROWS + len(pilots) * ROWS
    assert [int(item["Value"]) for item in stages[-1] if item["Name"] == "number of output rows"] == [groups]


def _spark_events(spark: servers.Spark) -> list[dict[str, Any]]:
    spark.session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    (log,) = spark.events.iterdir()
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_duckdb_testifies(arrow: pa.Table, asked: tuple[dict[str, Any], int], tmp_path: Path) -> None:
    """Its query log and profile: one aggregate over the table, and a row comes out for each group."""
    question, groups = asked
    connection = ibis.duckdb.connect()
    execute = connection.con.execute
    connection.con.register("open_table", arrow)
    execute("CREATE TABLE products AS FROM open_table")
    table = connection.table("products")
    execute("CALL enable_logging('QueryLog')")
    execute("SET enable_profiling = 'json'")
    execute(f"SET profiling_output = '{tmp_path / 'profile.json'}'")
    read(table, factors=FACTORS, **question)
    execute("SET enable_profiling = 'no_output'")

    queries = [query for (query,) in execute("SELECT message FROM duckdb_logs").fetchall()]
    over = [query for query in queries if "products" in query and "LIMIT 0" not in query and "DESCRIBE" not in query]
    counting, pilots = _told_apart(over, question)
    assert "GROUP BY" in counting
    assert all(query.upper().startswith("SELECT QUANTILE_CONT") for query in pilots)
    steps = list(_steps(json.loads((tmp_path / "profile.json").read_text())))
    assert sum("GROUP_BY" in kind for kind, _ in steps) == 1
    assert sum("SCAN" in kind for kind, _ in steps) == 1
    assert next(rows for kind, rows in steps if rows and "SCAN" not in kind) == groups


def _steps(profile: Any) -> Iterator[tuple[str, int]]:
    """Each operator and the rows that it gave, from the result down; DuckDB 1 and 2 name them differently."""
    if isinstance(profile, list):
        for item in profile:
            yield from _steps(item)
    elif isinstance(profile, dict):
        kind = profile.get("type") or profile.get("operator_type")
        if isinstance(kind, str):
            yield kind, int(profile.get("intermediate_rows", profile.get("operator_cardinality", 0)))
        for name in ("operator", "children"):
            yield from _steps(profile.get(name, []))


# -------------------------------------------------------------------------------------------- object stores


def test_s3_without_the_extension_or_the_bucket_teaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # no extension installed earlier
    with pytest.raises(SourceError) as caught:
        read("s3://bucket/x.parquet", factors=["a", "b"])
    assert "s3://bucket/x.parquet" in caught.value.what
    if "extension" in caught.value.why:  # this machine cannot fetch DuckDB's part for S3
        assert "extensions.duckdb.org" in caught.value.instead
        assert "copy the file here" in caught.value.instead
    else:  # it could, and then there is no such bucket
        assert "allowed to read it" in caught.value.instead
