"""What a user can get wrong: each mistake is explained, and untidy but honest tables just work."""

import gzip
import itertools
import json
import os
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from datetime import time as dtime
from pathlib import Path
from typing import Any

import datasets
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
from hypothesis import assume, given
from hypothesis import strategies as st
from packaging.version import Version

from recombine import IntervalSettings, audit, evaluate, plan, predict, read, split
from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError, SpaceError, TableError
from recombine.data.support import LabelTarget, NumberTarget
from tests import servers
from tests.properties import examples

GOOD: dict[str, list[Any]] = {
    "material": ["wool", "wool", "silk", "silk"],
    "garment": ["coat", "hat", "coat", "hat"],
    "label": ["warm", "warm", "light", "light"],
    "price": [1.5, 2.5, 3.5, 4.5],
}
FACTORS = ["material", "garment"]
BEFORE_2 = Version(duckdb.__version__) < Version("2")


def refused(kind: type[RecombineError], *words: str, source: Any = GOOD, **asked: Any) -> RecombineError:
    """The error that a read ends in: of that kind, whole, and with these words in it."""
    with pytest.raises(kind) as caught:
        read(source, **({"factors": FACTORS} | asked))
    error = caught.value
    assert type(error) is kind
    assert error.what
    assert error.why
    assert error.instead
    for word in words:
        assert word in str(error), f"{word!r} is not in:\n{error}"
    assert len(str(error)) < 2_000
    return error


def with_column(**columns: Any) -> dict[str, Any]:
    return GOOD | columns


# ------------------------------------------------------------------------------------------------------ files


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


CSV = "material,garment,label\nwool,coat,warm\nwool,hat,warm\nsilk,coat,light\nsilk,hat,light\n"


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    named = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    try:
        write(Path(named), CSV)
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")
    refused(SourceError, r"caf\udce9.csv", "no UTF-8", "another name", source=named)
    refused(SourceError, r"caf\udce9.csv", "no UTF-8", source=Path(named))


def test_no_such_file(tmp_path: Path) -> None:
    write(tmp_path / "shoes.csv", CSV)
    refused(SourceError, "no file", "shoe.csv", f"did you mean '{tmp_path}/shoes.csv'?", source=tmp_path / "shoe.csv")
    refused(SourceError, "no file", "lamp.csv", f"write '{tmp_path}/shoes.csv'", source=tmp_path / "lamp.csv")
    refused(SourceError, "does not exist either", source=tmp_path / "nowhere" / "shoe.csv")
    refused(SourceError, "nothing matches the pattern", "/shoes.csv'", source=str(tmp_path / "shoe*.parquet"))
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(SourceError, "no table lies in", source=empty / "shoes.csv")
    refused(SourceError, "no file", "there is no such file", source=tmp_path / "shop.duckdb", table="products")


def test_unknown_ending(tmp_path: Path) -> None:
    refused(SourceError, "'.sav'", ".parquet, .csv", source=write(tmp_path / "shoes.sav", CSV))
    refused(SourceError, "no ending", source=write(tmp_path / "shoes", CSV))


def test_a_folder_without_tables(tmp_path: Path) -> None:
    write(tmp_path / "readme.md", "hello")
    refused(SourceError, "no table in the folder", ".parquet, .csv, .jsonl or .arrow", source=tmp_path)


def test_empty_files(tmp_path: Path) -> None:
    refused(TableError, "is empty", "0 bytes", source=write(tmp_path / "none.csv", ""))
    refused(TableError, "is empty", "0 bytes", source=write(tmp_path / "none.parquet", ""))
    refused(
        TableError,
        "holds no rows",
        "give a table with rows",
        source=write(tmp_path / "header.csv", "material,garment\n"),
    )
    pq.write_table(pa.table(GOOD).slice(0, 0), tmp_path / "no rows.parquet")
    refused(TableError, "holds no rows", source=tmp_path / "no rows.parquet")
    refused(TableError, "holds no rows", source=pa.table(GOOD).slice(0, 0))
    refused(ColumnError, "no column 'material'", source=write(tmp_path / "blank.jsonl", "\n\n"))


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "half.parquet"
    pq.write_table(pa.table({"material": list("ab") * 5000, "garment": list("cd") * 5000}), path)
    write(path, path.read_bytes()[:-200])
    refused(SourceError, "cannot read", "half.parquet", "half-copied", source=path)


def test_a_parquet_file_with_a_hole(tmp_path: Path) -> None:
    """The foot is whole, the data are not."""
    path = tmp_path / "hole.parquet"
    random = np.random.default_rng(0)
    columns = {name: random.integers(0, 50, 50_000).astype(str) for name in FACTORS}
    pq.write_table(pa.table(columns), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[200:2000] = bytes(1800)
    refused(SourceError, "cannot read", source=write(path, bytes(content)))


def test_a_text_file_called_parquet(tmp_path: Path) -> None:
    refused(SourceError, "cannot read", "what its name says", source=write(tmp_path / "text.parquet", CSV))


def test_binary_called_csv_or_jsonl(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(5000)
    for name in ("noise.csv", "noise.jsonl", "noise.csv.gz"):
        with pytest.raises(RecombineError):
            read(write(tmp_path / name, noise), factors=FACTORS)


def test_a_csv_of_windows(tmp_path: Path) -> None:
    text = CSV.replace("silk", "soie légère").replace("wool", "Wolle für Mäntel")
    error = refused(SourceError, "cannot read", "UTF-8", source=write(tmp_path / "shoes.csv", text.encode("cp1252")))
    assert "iconv" in error.instead
    assert len(read(write(tmp_path / "utf8.csv", text), factors=FACTORS)) == 4
    assert len(read(write(tmp_path / "bom.csv", b"\xef\xbb\xbf" + text.encode()), factors=FACTORS)) == 4


def test_mixed_line_endings_are_no_matter_of_encoding(tmp_path: Path) -> None:
    lines = b"material,garment\nwool,coat\r\nsilk,hat\nwool,hat\r\n"
    error = refused(SourceError, "cannot read", "line endings", source=write(tmp_path / "shoes.csv", lines))
    assert "iconv" not in error.instead
    assert "tr -d '\\r' <" in error.instead


def test_types_that_change_late_just_work(tmp_path: Path) -> None:
    """30,000 lines of whole numbers, then a word: the file is looked at again, all of it."""
    lines = [f"{i % 10},{'ab'[i % 2]},{i % 5}" for i in range(30_000)] + ["ten,b,x", "ten,a,1.5"]
    path = write(tmp_path / "late.csv", "material,garment,label\n" + "\n".join(lines) + "\n")
    support = read(path, factors=FACTORS, target="label")
    assert support.rows == 30_002
    assert "ten" in support.space.factors[0].values
    assert "0" in support.space.factors[0].values


def test_lines_of_other_lengths_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "ragged.csv", CSV + "wool\n" + CSV.split("\n", 1)[1] * 3 + "a,b,c,d,e,f,g\n")
    with pytest.raises(RecombineError):
        read(path, factors=FACTORS)


LATE = 20_480
"""As many lines as DuckDB looks at where it is not told to look at all of them."""


def late_jsonl(path: Path, first: dict[str, Any], late: dict[str, Any]) -> Path:
    """Lines of which the last four, all of other combinations, come after DuckDB has settled on columns and types."""
    lines = [{"material": m, "garment": g} for m, g in itertools.product("ab", "cd")]
    text = [json.dumps(line | first) for line in lines] * (LATE // 4) + [json.dumps(line | late) for line in lines]
    return write(path, "\n".join(text))


def test_a_field_of_late_lines_is_a_column(tmp_path: Path) -> None:
    path = late_jsonl(tmp_path / "late.jsonl", {}, {"size": "large"})
    assert read(path, factors=["material", "size"], missing="value").rows == LATE + 4
    assert read(path, factors=FACTORS, where="size = 'large'").rows == 4
    (tmp_path / "many").mkdir()
    for number in range(40):  # of many files DuckDB looks at 32
        write(tmp_path / "many" / f"{number:02}.jsonl", json.dumps({"material": "ab"[number % 2], "garment": 1}))
    write(tmp_path / "many" / "z.jsonl", json.dumps({"material": "a", "size": "large"}))
    assert read(tmp_path / "many", factors=["material", "size"], missing="value").rows == 41


@pytest.mark.parametrize(("first", "late", "total"), [(1, 0.5, LATE + 2.0), (None, 2, 8.0)])
def test_the_type_of_late_lines_counts(tmp_path: Path, first: float | None, late: float, total: float) -> None:
    path = late_jsonl(tmp_path / "late.jsonl", {"price": first}, {"price": late})
    found = read(path, factors=FACTORS, target="price", target_kind="number").target
    assert isinstance(found, NumberTarget)
    assert float(np.sum(found.mean * found.count)) == pytest.approx(total)


def test_twins_of_late_lines_are_found(tmp_path: Path) -> None:
    path = late_jsonl(tmp_path / "twins.jsonl", {"size": "x", "Size": "y"}, {"other": "z"})
    refused(ColumnError, "'size' and 'Size'", "have one name", source=path, factors=["material", "size"])
    refused(ColumnError, "'size' and 'Size'", source=path, factors=["material", "Size_1"])
    assert len(read(path, factors=FACTORS)) == 4


@pytest.mark.parametrize(
    "where",
    [
        "material = 10000000000",
        "material = number",
        "CAST(material AS BIGINT) = 1",
        "garment = 'hat' AND material",
        "material IN (1, 2)",
        "material::date > '2020-01-01'",
        "strptime(material, '%Y') > '2020-01-01'",
    ],
)
@pytest.mark.parametrize("kind", ["memory", "csv"])
def test_a_condition_that_takes_text_for_a_number(tmp_path: Path, where: str, kind: str) -> None:
    table = with_column(number=[1, 2, 3, 4])
    source = table if kind == "memory" else write(tmp_path / "shop.csv", pd.DataFrame(table).to_csv(index=False))
    error = refused(SourceError, "in `where` compare text with text", "TRY_CAST", source=source, where=where)
    assert "64 bits" not in str(error)


@pytest.mark.parametrize("kind", ["jsonl", "arrow", "pandas", "dict", "csv"])
def test_a_column_of_nulls_is_missing_in_words(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(GOOD | {"size": pd.Series([None] * len(GOOD["material"]), dtype=object)})
    sources: dict[str, Any] = {
        "jsonl": write(tmp_path / "nulls.jsonl", frame.to_json(orient="records", lines=True)),
        "csv": write(tmp_path / "nulls.csv", frame.to_csv(index=False)),
        "arrow": pa.table(GOOD).append_column("size", pa.nulls(len(GOOD["material"]))),
        "pandas": frame,
        "dict": GOOD | {"size": [None] * len(GOOD["material"])},
    }
    factors = ["material", "size"]
    if kind == "jsonl" and BEFORE_2:
        refused(ColumnError, "'size' is of type json", source=sources[kind], factors=factors)
        return
    refused(TableError, "'size' is missing in", "missing='value'", source=sources[kind], factors=factors)
    refused(ColumnError, "the weight 'size' is of type string", source=sources[kind], weight="size")
    refused(SpaceError, "one value: '(missing)'", source=sources[kind], factors=factors, missing="value")


def test_jsonl_whose_fields_come_late_or_differ(tmp_path: Path) -> None:
    lines = [{"material": m, "garment": g} for m, g in itertools.product("ab", "cd")] + [
        {"material": "a", "garment": 7}
    ]
    path = write(tmp_path / "mixed.jsonl", "\n".join(map(json.dumps, lines)))
    refused(ColumnError, "'garment' is of type json", "turn it into text", source=path)
    refused(
        SourceError,
        "cannot read",
        source=write(tmp_path / "broken.jsonl", '{"material": "a", "garment": \n{"x'),
    )


@pytest.mark.parametrize(
    "name",
    ["with space.csv", "[a].csv", "a[1].csv", "star*.csv", "what?.csv", "größe 日本.csv", "o'brien.csv",
     'say "hi".csv', "per%20cent.csv", "hash#.csv", "{x}.csv", "-dash.csv", "semi;colon.csv", "UPPER.CSV", "a://b.csv"],
)  # fmt: skip
def test_any_path_is_just_a_path(tmp_path: Path, name: str) -> None:
    write(tmp_path / "decoy1.csv", CSV.replace("wool", "decoy"))
    write(tmp_path / "1.csv", CSV.replace("wool", "decoy"))
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    support = read(write(path, CSV), factors=FACTORS)
    assert len(support) == 4
    assert support.rows == 4
    assert support.space.factors[0].values == ("silk", "wool")


@pytest.mark.parametrize("name", ["o'brien [1]", "50 % größe"])
def test_any_folder_and_database_too(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    pq.write_table(pa.table(GOOD), folder / "a.parquet")
    pq.write_table(pa.table(GOOD), folder / "b.parquet")
    assert read(folder, factors=FACTORS).rows == 8
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        made.execute("CREATE TABLE products AS SELECT 'a' AS material, 'b' AS garment UNION ALL SELECT 'c', 'd'")
    assert read(folder / "shop.duckdb", factors=FACTORS, table="products").rows == 2


def test_a_path_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "shoes.csv", CSV)
    assert read("~/shoes.csv", factors=FACTORS).rows == 4
    assert read("~/*.csv", factors=FACTORS).rows == 4


# ---------------------------------------------------------------------------------------------------- columns


def test_no_such_column() -> None:
    refused(
        ColumnError,
        "no column 'materail'",
        "a factor",
        "did you mean 'material'?",
        factors=["materail", "garment"],
    )
    refused(ColumnError, "no column 'lable'", "the target", "did you mean 'label'?", target="lable")
    refused(ColumnError, "no column 'prize'", "the weight", "did you mean 'price'?", weight="prize")
    refused(ColumnError, "no column 'Material'", "did you mean 'material'?", factors=["Material", "garment"])
    refused(ColumnError, "no column 'zzz'", "write one of 'material', 'garment'", factors=["zzz", "garment"])


@pytest.mark.parametrize("frame", ["pandas", "polars", "lazy polars", "datasets", "arrow"])
def test_the_nearest_column_is_suggested_whatever_the_frame(frame: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame(GOOD),
        "polars": lambda: pl.DataFrame(GOOD),
        "lazy polars": lambda: pl.DataFrame(GOOD).lazy(),
        "datasets": lambda: datasets.Dataset.from_dict(GOOD),
        "arrow": lambda: pa.table(GOOD),
    }
    refused(ColumnError, "did you mean 'material'?", source=makers[frame](), factors=["materail", "garment"])


def test_factors_themselves() -> None:
    refused(SettingError, "at least two factors", "factors=['material', 'garment']", factors=["material"])
    refused(SettingError, "at least two factors", factors="material")
    refused(SettingError, "no factors were given", factors=[])
    refused(SettingError, "'material' is named twice", "remove one", factors=["material", "garment", "material"])
    refused(SettingError, "both a factor and the target", "take it off", target="garment")


def test_what_is_no_binning_or_names_no_output() -> None:
    refused(SettingError, "bins=dict(age=", bins="price=1,2,3")
    refused(SettingError, "no column is named as the target", target=[])


@pytest.mark.parametrize("values", [np.array(GOOD["label"]), pd.Series(GOOD["label"]), GOOD["label"]], ids=type)
@pytest.mark.parametrize("given", ["prediction", "split", "target"])
def test_answers_themselves_are_no_column(given: str, values: Any) -> None:
    asked = {"target": "label", "prediction": "label"} | {given: values}
    with pytest.raises(SettingError, match=f"{given} is given as (ndarray|Series|list)"):
        evaluate(GOOD, factors=FACTORS, **asked)


def test_a_seed_below_nothing(tmp_path: Path) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: plan(GOOD, factors=FACTORS, seed=-1),
        lambda: split(GOOD, factors=FACTORS, out=tmp_path / "out.csv", seed=-1),
        lambda: evaluate(
            GOOD, factors=FACTORS, target="label", prediction="price", intervals=IntervalSettings(seed=-1)
        ),
    ]
    for ask in asked:
        with pytest.raises(SettingError, match="seed=-1"):
            ask()


def test_a_factor_with_one_value() -> None:
    refused(
        SpaceError,
        "'garment' has one value: 'hat'",
        "leave it out",
        "domain",
        source=with_column(garment=["hat"] * 4),
    )
    assert len(read(with_column(garment=["hat"] * 4), factors=FACTORS, domain={"garment": ["hat", "coat"]})) == 2


def test_numbers_need_bins() -> None:
    prices = {"material": ["a", "b"] * 21, "price": [k + 0.5 for k in range(42)]}
    refused(
        ColumnError,
        "'price' holds float64",
        "bins=dict(price=[0, 10, 20])",
        "--bins price=",
        "quantiles:4",
        source=prices,
        factors=["material", "price"],
    )
    late = {"material": ["a", "b"] * 6_000, "price": [k / 2 for k in range(20)] * 599 + [k / 2 for k in range(20, 40)]}
    refused(ColumnError, "40 different numbers", "bins=dict(price=", source=late, factors=["material", "price"])
    many = {"material": ["a", "b"] * 101, "size": list(range(202))}
    refused(
        ColumnError,
        "202 different whole numbers",
        "bins=dict(size=",
        source=many,
        factors=["material", "size"],
    )
    assert len(read(many, factors=["material", "size"], bins={"size": "values"})) == 202
    assert len(read(many, factors=["material", "size"], bins={"size": [0, 100, 300]})) == 4
    few = {"material": ["a", "b"] * 50, "size": list(range(100))}
    assert len(read(few, factors=["material", "size"])) == 100


def test_not_a_number_is_missing() -> None:
    """Polars and Parquet tell NaN from NULL; a person does not."""
    nan = float("nan")
    size = pa.array([1.0, nan, None, 30.0])
    table = pa.table({"material": ["a", "b", "a", "b"], "size": size, "garment": ["x", "y", "y", "x"]})
    for bins in ([0, 10, 20], 2, "quantiles:2", "values"):
        support = read(table, factors=["material", "size"], bins={"size": bins})
        assert support.left_out == {"size": 2, "(any)": 2}, bins
    target = read(table, factors=["material", "garment"], target="size").target
    assert target is not None
    assert target.count.tolist() == [1, 0, 1, 0]  # type: ignore[union-attr]
    assert target.total.tolist() == [1, 0, 30, 0]  # type: ignore[union-attr]


def test_an_infinite_target() -> None:
    refused(
        ColumnError,
        "'price'",
        "infinite",
        "`where`",
        source=with_column(price=[1.0, float("inf"), 2.0, 3.0]),
        target="price",
    )


def test_dates_need_bins() -> None:
    start = datetime(2023, 11, 6, 22)
    moments = [start + timedelta(hours=15 * i) for i in range(40)]
    for column in (moments, [moment.date() for moment in moments]):
        table = {"material": ["a", "b"] * 20, "day": column}
        error = refused(
            ColumnError,
            "'day' holds",
            'bins=dict(day="month")',
            "weekday",
            source=table,
            factors=["material", "day"],
        )
        assert "timestamp" in error.what or "date" in error.what
        found = {
            part: read(table, factors=["material", "day"], bins={"day": part}).space.factors[1].values
            for part in ("month", "day", "weekday")
        }
        assert found["month"] == ("2023-11", "2023-12")
        assert found["day"][0] == "2023-11-06"
        assert found["weekday"] == (
            "Monday",
            "Tuesday",
            "Wednesday",
            "Thursday",
            "Friday",
            "Saturday",
            "Sunday",
        )
        refused(
            SettingError,
            "bins='minute'",
            "'weekday'",
            source=table,
            factors=["material", "day"],
            bins={"day": "minute"},
        )
        refused(SettingError, "it holds dates", source=table, factors=["material", "day"], bins={"day": [1, 2]})
    hours = read({"material": ["a", "b"] * 20, "day": moments}, factors=["material", "day"], bins={"day": "hour"})
    assert hours.space.factors[1].values == tuple(sorted({moment.hour for moment in moments}))
    years = {"material": ["a", "b"] * 2, "day": [date(2023, 1, 1), date(2024, 1, 1)] * 2}
    assert read(years, factors=["material", "day"], bins={"day": "year"}).space.factors[1].values == (
        2023,
        2024,
    )
    refused(SettingError, "bins='hour'", source=years, factors=["material", "day"], bins={"day": "hour"})


def test_two_million_values(tmp_path: Path) -> None:
    path = tmp_path / "identifiers.parquet"
    number = pa.array(np.arange(2_000_000))
    pq.write_table(
        pa.table({"material": number.cast(pa.string()), "garment": pa.array(np.arange(2_000_000) % 2 == 0)}),
        path,
    )
    refused(ColumnError, "'material' has 2,000,000 distinct values", "identifier", "fewer values", source=path)


def test_lists_structs_and_binary() -> None:
    for column in (
        [[1], [2], [3], [4]],
        [{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}],
        [b"a", b"b", b"c", b"d"],
    ):
        refused(ColumnError, "'garment' is of type", "turn it into text", source=with_column(garment=column))
        if not isinstance(column[0], list):  # lists of numbers are vectors
            refused(
                ColumnError,
                "'label' is of type",
                "turn it into text",
                source=with_column(label=column),
                target="label",
            )
        refused(
            ColumnError,
            "'garment' is of type",
            source=with_column(garment=column),
            bins={"garment": "values"},
        )
        assert len(read(with_column(label=column), factors=FACTORS)) == 4  # nobody asked for it
    refused(
        SettingError,
        "target_kind='label' with a vector",
        source=with_column(label=[[1], [2], [3], [4]]),
        target="label",
        target_kind="label",
    )


def test_times_of_day_need_bins() -> None:
    clock = pa.array([1, 2, 3, 4], pa.time32("s"))
    refused(ColumnError, "'garment' holds", source=with_column(garment=clock))


def test_times_of_day_are_values_where_that_is_asked(tmp_path: Path) -> None:
    hours = [dtime(9), dtime(17, 30), dtime(9), dtime(17, 30)]
    support = read(with_column(at=hours), factors=["material", "at"], bins={"at": "values"})
    assert support.space.factors[1].values == ("09:00:00", "17:30:00")
    audit(support).save(tmp_path / "audit")
    found = read(with_column(at=hours), factors=FACTORS, target="at", target_kind="label").target
    assert isinstance(found, LabelTarget)
    assert found.classes == ("09:00:00", "17:30:00")


def test_whole_numbers_beyond_63_bits(tmp_path: Path) -> None:
    large = pa.array([2**63, 2**64 - 1, 2**63, 2**64 - 1], pa.uint64())
    as_factor: dict[str, Any] = {"factors": ["material", "big"], "target": "price"}
    as_target: dict[str, Any] = {"factors": FACTORS, "target": "big"}
    for asked, column in ((as_factor, "big"), (as_target, "prediction")):
        found = predict(read(with_column(big=large), weight="big", **asked))
        found.save(tmp_path / column)
        assert 2**64 - 1 in found.table[column].to_pylist()
    path = write(tmp_path / "big.csv", f"material,big\nwool,{2**64}\nsilk,1\n")
    if BEFORE_2:  # they are taken for decimal numbers
        refused(ColumnError, "'big' holds float64", source=path, factors=["material", "big"])
    else:
        refused(SourceError, "64 bits", "turn that column into text", source=path, factors=["material", "big"])


def test_half_precision() -> None:
    small = np.array([1, 2, 1, 2], dtype=np.float16)
    assert read(with_column(small=small), factors=["material", "small"], bins={"small": "values"}).space.sizes == (2, 2)


def test_everything_is_missing() -> None:
    table = with_column(material=pa.array([None, None, "wool", "silk"]), garment=pa.array(["hat", "coat", None, None]))
    refused(TableError, "no row holds a whole combination", "missing='value'", "2 of 4", source=table)
    refused(TableError, "4 of 4", source=with_column(garment=pa.array([None] * 4, pa.string())))
    support = read(table, factors=FACTORS, missing="value")
    assert support.space.factors[0].values == ("(missing)", "silk", "wool")
    both = with_column(garment=["(missing)", "hat", None, "hat"])
    refused(ColumnError, "also holds the value '(missing)'", "rename", source=both, missing="value")
    assert read(both, factors=FACTORS).rows == 4
    refused(SettingError, "missing='drop'", "'leave out' or 'value'", missing="drop")


def test_a_document_as_a_value() -> None:
    long = "x" * 10_000_000
    refused(
        ColumnError,
        "10,000,000 characters",
        "document",
        source=with_column(garment=[long, "hat", "hat", "coat"]),
    )


def test_html_and_control_characters_are_values_like_others() -> None:
    strange = [
        "<script>alert(1)</script>",
        "a\x00b",
        "\u202eright to left",
        "\U0001f9f6",
        " ",
        "",
        "nan",
        "None",
        "-0",
    ]
    pairs = list(itertools.product(strange, ["x", "y"]))
    table = {"material": [a for a, _ in pairs], "garment": [b for _, b in pairs]}
    support = read(table, factors=FACTORS)
    assert set(support.space.factors[0].values) == set(strange)
    assert len(support) == len(pairs)


def test_mixed_types_in_pandas() -> None:
    frame = pd.DataFrame(GOOD | {"mixed": pd.Series([1, "a", 2.5, None], dtype=object)})
    refused(ColumnError, "DataFrame", "column mixed", "astype(str)", source=frame, factors=["material", "mixed"])
    assert len(read(frame, factors=FACTORS)) == 4  # nobody asked for it


def test_names_that_stand_twice_in_pandas() -> None:
    frame = pd.DataFrame([["a", "b", "c"], ["d", "e", "f"]], columns=["material", "garment", "garment"])
    refused(ColumnError, "'garment' stands twice", "columns.duplicated()", source=frame)
    frame.columns = ["material", "garment", "material "]
    assert len(read(frame, factors=FACTORS)) == 2
    frame = pd.DataFrame([["a", "b", 1, 2], ["d", "e", 3, 4]], columns=["material", "garment", "x", "x"])
    assert len(read(frame, factors=FACTORS)) == 2  # nobody asked for x


def test_names_that_stand_twice_in_arrow() -> None:
    table = pa.table([["a", "b"], ["c", "d"], ["e", "f"]], names=["material", "garment", "garment"])
    refused(ColumnError, "garment", source=table)


def test_names_that_differ_only_in_case() -> None:
    table = {"A": ["x", "y"], "a": ["u", "v"], "b": ["k", "l"]}
    refused(ColumnError, "'A' and 'a' have one name", "rename", source=table, factors=["A", "a"])
    refused(ColumnError, "'A' and 'a'", source=table, factors=["A", "b"], where="a = 'u'")
    assert read(table, factors=["a", "b"]).space.factors[0].values == ("u", "v")


TWINS = {
    "twice": ["material", "garment", "material", "other"],
    "case": ["material", "garment", "Material", "other"],
}


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", TWINS)
def test_names_that_stand_twice_in_a_file(kind: str, ending: str, tmp_path: Path) -> None:
    path, names = tmp_path / f"twins.{ending}", TWINS[kind]
    rows = [["wool", "coat", "x", "k"], ["silk", "hat", "y", "l"], ["wool", "hat", "z", "k"]]
    if ending == "parquet":
        pq.write_table(pa.table([list(column) for column in zip(*rows, strict=True)], names=names), path)
    elif ending == "jsonl":
        lines = ["{" + ", ".join(f'"{n}": "{v}"' for n, v in zip(names, row, strict=True)) + "}" for row in rows]
        write(path, "\n".join(lines))
    else:
        mark = "\t" if ending == "tsv" else ","
        text = "\n".join(mark.join(line) for line in [names, *rows]) + "\n"
        write(path, gzip.compress(text.encode()) if ending.endswith("gz") else text)
    if (kind, ending) == ("twice", "jsonl"):
        refused(SourceError, "duplicate key", source=path)  # in the engine's own words
        return
    words = ("'material' stands twice",) if kind == "twice" else ("'material' and 'Material'", "have one name")
    refused(ColumnError, *words, "rename one", source=path)
    refused(ColumnError, *words, source=path, factors=["garment", "other"], where="material = 'wool'")
    assert len(read(path, factors=["garment", "other"])) == 3  # nobody asked for the twins


def test_names_that_only_look_renamed(tmp_path: Path) -> None:
    table = {"material": ["wool", "silk"], "material_1": ["x", "y"], "garment": ["coat", "hat"]}
    path = write(tmp_path / "honest.csv", pd.DataFrame(table).to_csv(index=False))
    assert read(path, factors=["material", "material_1"]).space.factors[1].values == ("x", "y")
    inner = pa.array([{"material": 1}, {"material": 2}])
    pq.write_table(pa.table(table | {"nested": inner}), tmp_path / "honest.parquet")
    assert len(read(tmp_path / "honest.parquet", factors=["material", "material_1"], where="garment <> ''")) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_pipes_and_devices_are_said_to_be_such(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")  # nobody writes into it: opening it would wait for ever
    for source in (tmp_path / "pipe.csv", str(tmp_path / "*.csv"), tmp_path, f"file://{tmp_path}/pipe.csv"):
        refused(SourceError, "is a pipe, not a file", "read only once", "> table.csv", source=source)
    os.mkfifo(tmp_path / "pipe.duckdb")
    refused(SourceError, "is a pipe", source=tmp_path / "pipe.duckdb", table="t")
    refused(SourceError, "is a device", source="/dev/null")
    read_end, write_end = os.pipe()
    try:
        refused(SourceError, "is a pipe", source=f"/dev/fd/{read_end}")
    finally:
        os.close(read_end), os.close(write_end)


@pytest.mark.parametrize("name", ["x" * 5_000 + ".csv", "a\0b.csv", "x" * 5_000 + ".duckdb", "x" * 5_000 + "*.csv"])
def test_paths_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    refused(SourceError, source=str(tmp_path / name), **({"table": "t"} if "duckdb" in name else {}))


def test_decimals_are_numbers() -> None:
    whole = pa.array([1, 2, 3, 3]).cast(pa.decimal128(38, 0))
    parts = pa.array([0.5, 1.5, 2.5, 2.5]).cast(pa.decimal128(9, 4))
    table = pa.table({"material": list("abab"), "whole": whole, "parts": parts})
    assert read(table, factors=["material", "whole"], target="parts").space.factors[1].values == (1, 2, 3)
    support = read(table, factors=["material", "parts"], domain={"parts": [0.5, 1.5, 2.5]}, target="whole")
    assert support.space.factors[1].values == (0.5, 1.5, 2.5)
    assert support.target is not None
    assert support.target.classes == (1, 2, 3)  # type: ignore[union-attr]
    assert read(table, factors=["material", "parts"], bins={"parts": 2}, weight="whole").total == 9


def test_whole_numbers_with_gaps_in_pandas_stay_whole() -> None:
    """pandas turns 1, 2, missing into 1.0, 2.0, NaN; every other library would call it whole."""
    frame = pd.DataFrame({"material": ["a", "b", "a", "b"], "size": [1, 2, 2, None], "price": [0.5, None, 2.0, 3.0]})
    support = read(frame, factors=["material", "size"], target="price")
    assert support.space.factors[1].values == (1, 2)
    assert read(frame, factors=["material", "price"]).space.factors[1].values == (0.5, 2.0, 3.0)


def test_categories_in_pandas_and_polars() -> None:
    frame = pd.DataFrame(GOOD).astype({"material": "category"})
    assert read(frame, factors=FACTORS) == read(GOOD, factors=FACTORS)
    assert read(pl.DataFrame(GOOD).cast({"material": pl.Categorical}), factors=FACTORS) == read(GOOD, factors=FACTORS)


AWKWARD = [
    "with space", 'say "hi"', "o'brien", "dotted.name", "UPPER", "select", "group", "order", "rows", "weight",
    "target", "f0", "f1", "source", "t0", "count", "größe", "日本", "%s", "{x}", "a;b", "target_count",
    "recombine_source", "columns", "schema", "get_name", "answer0", "from", "$1", "-- x", "__index_level_0__",
]  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_columns_may_be_called_anything(name: str) -> None:
    table = pa.table({"p": list("aabb"), name: list("xyxy"), "number": [1.0, 2.0, 3.0, 4.0]})
    support = read(table, factors=["p", name], where="number < 4", target="number", weight="number")
    assert support.space.names == ("p", name)
    assert support.counts.tolist() == [1, 2, 3]
    numbers = pa.table({"p": list("aabb"), "q": list("xyxy"), name: [1, 2, 3, 4]})
    assert read(numbers, factors=["p", "q"], target=name, weight=name).counts.tolist() == [1, 2, 3, 4]
    assert len(read(numbers, factors=["p", name], bins={name: 2})) == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_columns_of_files_may_be_called_anything(ending: str, tmp_path: Path) -> None:
    names = [name for name in AWKWARD if name != "-- x"]
    table = pa.table({name: ["x", "y", "x"] if place % 2 else ["u", "u", "v"] for place, name in enumerate(names)})
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        pa.csv.write_csv(table, path)
    elif ending == "parquet":
        pq.write_table(table, path)
    else:
        write(path, "\n".join(map(json.dumps, table.to_pylist())))
    support = read(path, factors=names)
    assert support.space.names == tuple(names)
    assert len(support) == 3


def test_all_internal_names_at_once() -> None:
    columns = {
        "rows": list("aabb"),
        "weight": list("xyxy"),
        "target": list("uuvv"),
        "f0": [1, 2, 3, 4],
        "source": list("kkkk"),
    }
    support = read(columns, factors=["target", "weight", "rows"], target="source", weight="f0", where="source = 'k'")
    assert support.counts.tolist() == [1, 2, 3, 4]


# --------------------------------------------------------------------------------------------------- settings


def test_domains() -> None:
    refused(
        SpaceError,
        "'material' was seen as 'wool'",
        "add it to the domain",
        domain={"material": ["silk", "cotton"]},
    )
    refused(SpaceError, "seen as 'silk' and 1 more", domain={"material": ["cotton", "linen"]})
    refused(SpaceError, "lists 'wool' twice", "remove one", domain={"material": ["silk", "wool", "wool"]})
    refused(SettingError, "domain: there is an entry for 'colour'", domain={"colour": ["red"]})
    refused(SettingError, "both bins and a domain", domain={"material": ["a"]}, bins={"material": 3})
    assert read(GOOD, factors=FACTORS, domain={"material": ["silk", "linen", "wool"]}).space.sizes == (3, 2)


def test_where() -> None:
    refused(SettingError, "where=", "cannot understand it", "split = 'train'", where="colour = 'red'")
    refused(SettingError, "where=", "cannot understand it", where="price >")
    refused(SettingError, "where=", where="price > 1; DROP TABLE x")
    refused(SettingError, "where=", where="")
    refused(TableError, "that fulfil `where`", "loosen `where`", where="price > 100")
    refused(SettingError, "AttributeError", "lambda table", where=lambda table: table.colour == "red")
    refused(SettingError, "not a condition", where=lambda table: table.price)
    assert read(GOOD, factors=FACTORS, where=lambda table: table.price < 4).rows == 3
    assert read(GOOD, factors=FACTORS, where="price < 4 -- a remark").rows == 3


@pytest.mark.parametrize(
    "where",
    [
        "price > 1 LIMIT 1",
        "price > 1 UNION ALL SELECT * FROM recombine_source",
        "price > 1) OR (price > 2",
        "price > 1) UNION ALL SELECT * FROM recombine_source WHERE (price > 1",
        "price > 1 ORDER BY price",
        "price > 1 GROUP BY ALL",
        "price > 1, price < 4",
        "price > 1; SELECT 1",
        "price > 1 /*",
        "price > 1 AND label = 'warm",
        "-- nothing but a remark",
        "(price > 1",
        "price",
        "label",
        "SELECT price FROM recombine_source",
    ],
)
def test_a_condition_is_one_condition(where: str) -> None:
    refused(SettingError, "where=", "split = 'train'", where=where)


def test_brackets_commas_and_semicolons_within_a_text_are_no_words() -> None:
    assert read(GOOD, factors=FACTORS, where="label <> 'a); (b, c' AND (price < 4 OR price IN (9, 10))").rows == 3
    assert read(GOOD, factors=FACTORS, where="price < 4 OR price < 2").rows == 3


@pytest.mark.parametrize("where", ["random() < 0.7", "price > 0 AND RANDOM ( ) < 0.7", "gen_random_uuid() IS NOT NULL"])
def test_a_condition_that_answers_anew_each_time(where: str) -> None:
    refused(SettingError, "where=", "asked more than once", "hash(id)", where=where)
    refused(SettingError, "asked more than once", where=lambda table: ibis.random() < 0.7)
    assert read(GOOD | {"random": [1, 2, 3, 4]}, factors=FACTORS, where="random IN (1, 2, 3)").rows == 3
    assert read(GOOD, factors=FACTORS, where="label <> 'random()' AND price < 4").rows == 3


def test_weights() -> None:
    refused(ColumnError, "the weight 'label' is of type", "numbers", weight="label")
    refused(
        ColumnError,
        "'price' is negative",
        "repair",
        source=with_column(price=[1.0, -2.0, 3.0, 4.0]),
        weight="price",
    )
    refused(
        ColumnError,
        "'price' is missing in 1 rows",
        source=with_column(price=[1.0, None, 3.0, 4.0]),
        weight="price",
    )
    refused(
        ColumnError,
        "'price' is not finite",
        source=with_column(price=[1.0, float("inf"), 3.0, 4.0]),
        weight="price",
    )
    hidden = {
        "material": ["a", "a", "b", "b"],
        "garment": ["x", "x", "y", "x"],
        "price": [-1.0, 5.0, 1.0, 1.0],
    }
    refused(ColumnError, "'price' is negative", source=hidden, weight="price")  # although its sum is not
    assert read(with_column(price=[0, 1, 2, 3]), factors=FACTORS, weight="price").total == 6


def test_bins() -> None:
    sized = {"factors": ["material", "price"]}
    refused(SettingError, "bins were given for 'garment'", "only numbers and dates", bins={"garment": 3})
    refused(SettingError, "edges must rise", "[0, 10, 20]", bins={"price": [3, 2, 1]}, **sized)
    refused(SettingError, "edges must rise", bins={"price": [1, 1, 2]}, **sized)
    refused(SettingError, "at least two", bins={"price": [1]}, **sized)
    refused(SettingError, "at least two", bins={"price": []}, **sized)
    refused(SettingError, "bins=0", bins={"price": 0}, **sized)
    refused(SettingError, "bins=-3", bins={"price": -3}, **sized)
    refused(SettingError, "bins=True", bins={"price": True}, **sized)
    refused(SettingError, "bins=", bins={"price": ["a", "b"]}, **sized)
    refused(SettingError, "bins=", bins={"price": [0, float("nan"), 1]}, **sized)
    refused(SettingError, "bins=", bins={"price": 2.5}, **sized)
    refused(SettingError, "'decades'", "quantiles:4", bins={"price": "decades"}, **sized)
    refused(SettingError, "'quantiles:x'", bins={"price": "quantiles:x"}, **sized)
    refused(SettingError, "bins: there is an entry for 'colour'", "not among the factors", bins={"colour": 3})
    refused(SettingError, "bins=5", source=with_column(price=[2.0] * 4), bins={"price": 5}, **sized)


@examples(60)
@given(
    numbers=st.lists(st.floats(-1e9, 1e9) | st.integers(-50, 50).map(float), min_size=2, max_size=30),
    bins=st.integers(2, 60),
)
def test_equally_wide_bins_are_those_between_the_edges(numbers: list[float], bins: int) -> None:
    low, high = min(numbers), max(numbers)
    edges = [low + (high - low) * step / bins for step in range(bins)] + [high]
    assume(all(one < next_ for one, next_ in itertools.pairwise(edges)))
    numbers += edges  # where rounding would show
    table = {"x": numbers, "side": [str(place) for place in range(len(numbers))]}
    support = read(table, factors=["x", "side"], bins={"x": bins})
    found = {int(support.combination(row)["side"]): int(support.codes[row, 0]) for row in range(len(support))}
    expected = [min(sum(edge <= number for edge in edges) - 1, bins - 1) for number in numbers]
    assert [found[place] for place in range(len(numbers))] == expected


def test_more_bins_than_a_factor_can_have() -> None:
    began = time.process_time()  # whatever else the machine does
    assert read(GOOD, factors=["price", "garment"], bins={"price": 10_000}).space.sizes[0] == 10_000
    for bins in (10**9, "quantiles:100000", "quantiles:" + "9" * 5_000, list(range(2_000))):
        refused(SettingError, "bins for 'price'", "limited to", factors=["price", "garment"], bins={"price": bins})
    assert time.process_time() - began < 10  # 10,000 took 35 s and 1.6 GB, a comparison each


def test_bins_that_look_alike_stay_apart() -> None:
    """Edges that differ in the seventh digit must not give two bins of one name."""
    table = {"material": ["a", "b"] * 2, "price": [1.00000005, 1.00000015, 1.00000025, 1.00000005]}
    edges = [1.0, 1.0000001, 1.0000002, 1.0000003]
    factor = read(table, factors=["material", "price"], bins={"price": edges}).space.factors[1]
    assert len(set(factor.values)) == len(factor.values) == 3


@pytest.mark.parametrize(
    "domain",
    [
        {"material": [["wool"], ["silk"]]},
        {"material": ["wool", None]},
        {"material": ["wool", float("nan")]},
        {"material": [{"wool": 1}]},
        {"material": "wool"},
        {"material": 5},
        {"material": None},
        {"material": {"wool": 1}},
        ["material"],
        "material",
        5,
    ],
)
def test_odd_domains(domain: Any) -> None:
    refused(SettingError, "domain", "lists the values that could occur", "['S', 'M', 'L']", domain=domain)


def test_domains_of_any_length_are_looked_at_once() -> None:
    many = [str(place) for place in range(200_000)]
    began = time.process_time()  # whatever else the machine does
    refused(SpaceError, "twice", domain={"material": ["wool", "silk", *many, "7"]})
    refused(SettingError, "1,000,001 values", domain={"material": range(1_000_001)})
    assert time.process_time() - began < 20


@pytest.mark.parametrize("impossible", [5, "wool", [["material", "wool"]], {"material": "wool"}])
def test_odd_impossible_conjunctions(impossible: Any) -> None:
    refused(SettingError, "impossible", "{'material': 'wool'", impossible=impossible)


def test_targets() -> None:
    refused(
        SettingError,
        "target_kind='number' for 'label'",
        "target_kind='label'",
        target="label",
        target_kind="number",
    )
    refused(SettingError, "target_kind='class'", "'label' or 'number'", target="label", target_kind="class")


def test_impossible_conjunctions() -> None:
    refused(
        SpaceError,
        "declared impossible were seen",
        "'garment': 'coat'",
        "take them off",
        impossible=[{"material": "wool", "garment": "coat"}],
    )
    refused(SpaceError, "garment = 'boots'", "no such value", impossible=[{"garment": "boots"}])
    refused(SettingError, "no factor 'colour'", impossible=[{"colour": "red"}])
    refused(SpaceError, "names no factor", impossible=[{}])


# -------------------------------------------------------------------------------------------------- databases


def test_a_database_that_is_down() -> None:
    start = time.perf_counter()
    uri = f"postgresql://me:secret@127.0.0.1:{servers.free_port()}/shop"
    error = refused(SourceError, "cannot open", "refused", "server is up", source=uri, table="products")
    assert "secret" not in str(error)
    assert time.perf_counter() - start < 60


def test_a_database_without_a_table_or_with_another(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE products AS SELECT 1 AS material, 2 AS garment")
    refused(SettingError, "is a database", "no table was named", "--table", "'products'", source=path)
    refused(SourceError, "no table 'product'", "did you mean 'products'?", source=path, table="product")
    refused(SourceError, "nowhere.products", source=path, table="nowhere.products")
    refused(SourceError, "cannot read", source=write(tmp_path / "text.duckdb", CSV * 100), table="products")


def test_postgres_without_a_table_or_with_another(postgres: servers.Postgres) -> None:
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("CREATE TABLE clothes AS SELECT 'a' AS material, 'b' AS garment, 1 AS n")
        connection.execute("CREATE ROLE stranger LOGIN")
    try:
        refused(SettingError, "no table was named", "'clothes'", source=postgres.uri)
        refused(SourceError, "no table 'cloths'", "did you mean 'clothes'?", source=postgres.uri, table="cloths")
        refused(SourceError, "nowhere", source=postgres.uri, table="nowhere.clothes")
        refused(SettingError, "where=", "colour", source=postgres.uri, table="clothes", where="colour = 'red'")
        refused(
            SourceError,
            "division by zero",
            "server",
            source=postgres.uri,
            table="clothes",
            where="1 / (n - 1) > 0",
        )
        absent = postgres.uri.replace("/postgres", "/no_such_database").replace("//no_such_database", "//postgres")
        refused(SourceError, "no_such_database", source=absent, table="clothes")
        stranger = postgres.uri.replace("postgres@", "stranger@")
        with pytest.raises(SourceError):
            read(stranger, factors=FACTORS, table="clothes")
    finally:
        with psycopg.connect(postgres.uri) as connection:
            connection.execute("DROP TABLE clothes")
            connection.execute("DROP ROLE stranger")


def test_an_unknown_scheme() -> None:
    error = refused(SourceError, "ftp://", "no engine answers", source="ftp://me:secret@host/x.csv")
    assert "secret" not in str(error)
    refused(SourceError, "postgres", source="postgers://host/db", table="x")


# ---------------------------------------------------------------------------------------------------- objects


@pytest.mark.parametrize("thing", [object(), 3, None, [1, 2], [{"a": 1}], np.zeros((3, 2)), b"bytes", {"a", "b"}])
def test_things_that_are_no_tables(thing: Any) -> None:
    refused(SourceError, "cannot read", "as a table", "give one of those", source=thing)


def test_dicts_that_are_no_tables() -> None:
    refused(ColumnError, "dict", source={"material": ["a", "b"], "garment": ["c"]})
    refused(ColumnError, "dict", source={"material": 1, "garment": 2})
    refused(ColumnError, "dict", source={"material": ["a", 1], "garment": ["b", "c"]})


def test_hugging_face_splits_and_streams() -> None:
    dataset = datasets.Dataset.from_dict(GOOD)
    refused(SourceError, "DatasetDict", "dataset['train']", source=datasets.DatasetDict({"train": dataset}))
    refused(SourceError, "stream", "streaming=False", source=dataset.to_iterable_dataset())


def test_ibis_columns() -> None:
    refused(SourceError, "Ibis column", source=ibis.memtable(pa.table(GOOD)).material)


def test_pandas_series() -> None:
    with pytest.raises(RecombineError):
        read(pd.Series(["a", "b"]), factors=FACTORS)


def test_table_is_refused_where_there_is_none() -> None:
    """A setting that would be ignored is refused."""
    refused(SettingError, "table='products'", source=GOOD, table="products")


def test_a_target_that_is_an_identifier() -> None:
    table = {"a": ["x", "y"] * 6_000, "b": ["p", "p", "q"] * 4_000, "id": [f"row {k}" for k in range(12_000)]}
    with pytest.raises(ColumnError, match="12,000 different labels"):
        read(table, factors=["a", "b"], target="id")


def test_a_folder_with_two_kinds_of_tables(tmp_path: Path) -> None:
    pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]}).to_csv(tmp_path / "one.csv", index=False)
    pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]}).to_parquet(tmp_path / "two.parquet")
    with pytest.raises(SourceError, match="not clear which of them"):
        read(tmp_path, factors=["a", "b"])


def test_a_separator_that_the_first_lines_hide(tmp_path: Path) -> None:
    file = tmp_path / "european.csv"
    file.write_text("Größe (cm);Farbe;Preis\n,5;rot;1,20\n3,5;blau;2,00\n,5;blau;1,00\n", encoding="utf-8")
    assert len(read(file, factors=["Größe (cm)", "Farbe"])) == 3


def test_a_condition_that_is_a_pandas_column() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]})
    with pytest.raises(SettingError, match="write it as SQL"):
        read(frame, factors=["a", "b"], where=frame.a == "x")


def test_a_factor_that_is_a_number_not_a_name() -> None:
    with pytest.raises(SettingError, match="columns are named by text"):
        read(pd.DataFrame({0: ["x", "y"], 1: ["p", "q"]}), factors=[0, 1])


def test_arrow_files(tmp_path: Path) -> None:
    refused(SourceError, "cannot read", source=write(tmp_path / "noise.arrow", "no arrow at all"))
    refused(SourceError, "cannot read 's3://bucket/one.arrow'", "copy it here", source="s3://bucket/one.arrow")
    twice = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["material", "Material", "garment"])
    with pa.ipc.new_file(tmp_path / "twice.arrow", twice.schema) as writer:
        writer.write_table(twice)
    refused(ColumnError, "'material' and 'Material' have one name", source=tmp_path / "twice.arrow")
