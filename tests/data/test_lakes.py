"""Tables with a log: what was overwritten or deleted is not counted, and files of theirs are not read without it."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import recombine
from recombine.base.errors import ColumnError, SourceError

ROWS = pa.table(
    {
        "material": ["wool", "wool", "silk", "silk"],
        "garment": ["coat", "hat", "hat", "coat"],
        "price": [9.0, 2.0, 5.0, 7.0],
    }
)
FACTORS = ["material", "garment"]


def delta(folder: Path) -> Path:
    """Four rows, overwritten by three, of which one is deleted."""
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(folder), ROWS)
    deltalake.write_deltalake(str(folder), ROWS.slice(0, 3), mode="overwrite")
    deltalake.DeltaTable(str(folder)).delete("garment = 'hat' AND material = 'wool'")
    return folder


def lance(folder: Path) -> Path:
    lance = pytest.importorskip("lance")
    lance.write_dataset(ROWS, str(folder))
    lance.write_dataset(ROWS.slice(0, 3), str(folder), mode="overwrite")
    lance.dataset(str(folder)).delete("garment = 'hat' AND material = 'wool'")
    return folder


def iceberg(folder: Path) -> Path:
    return Path(iceberg_table(folder).location().removeprefix("file://"))


def iceberg_table(folder: Path) -> Any:
    memory = pytest.importorskip("pyiceberg.catalog.memory")
    catalog = memory.InMemoryCatalog("made", warehouse=f"file://{folder}")
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.shoes", schema=ROWS.schema)
    table.append(ROWS)
    table.overwrite(ROWS.slice(0, 3))
    table.delete("garment == 'hat' and material == 'wool'")
    return table


MAKERS = [delta, lance, iceberg]


@pytest.mark.parametrize("make", MAKERS)
def test_deleted_and_overwritten_rows_are_not_counted(tmp_path: Path, make: Any) -> None:
    place = make(tmp_path / "shoes")
    found = recombine.read(str(place), factors=FACTORS, target="price")
    assert found.rows == 2
    assert {tuple(found.combination(k).values()) for k in range(len(found.counts))} == {
        ("wool", "coat"),
        ("silk", "hat"),
    }
    assert recombine.read(place, factors=FACTORS).rows == 2
    assert recombine.read(f"file://{place}", factors=FACTORS).rows == 2


@pytest.mark.parametrize("make", [delta, iceberg])
@pytest.mark.parametrize("pattern", ["{}/**/*.parquet", "{}/../*/**/*.parquet"])
def test_a_pattern_does_not_reach_past_the_log(tmp_path: Path, make: Any, pattern: str) -> None:
    place = make(tmp_path / "shoes")
    with pytest.raises(SourceError, match="rows are deleted") as refused:
        recombine.read(pattern.format(place), factors=FACTORS)
    assert "give the table itself" in str(refused.value)


def test_neither_does_the_name_of_one_file_nor_of_a_folder_around_it(tmp_path: Path) -> None:
    place = delta(tmp_path / "lake" / "shoes")
    with pytest.raises(SourceError, match="part of a Delta table"):
        recombine.read(next(place.glob("*.parquet")), factors=FACTORS)
    with pytest.raises(SourceError, match="holds a Delta table") as refused:
        recombine.read(tmp_path / "lake", factors=FACTORS)
    assert str(place) in str(refused.value)


def test_a_partition_of_a_table_is_part_of_it(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(tmp_path / "t"), ROWS, partition_by=["material"])
    assert recombine.read(tmp_path / "t", factors=FACTORS).rows == 4
    with pytest.raises(SourceError, match="part of a Delta table"):
        recombine.read(tmp_path / "t" / "material=wool", factors=FACTORS)


def test_a_table_opened_by_its_own_package_is_read(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    lance_ = pytest.importorskip("lance")
    opened = [
        deltalake.DeltaTable(str(delta(tmp_path / "d"))),
        lance_.dataset(str(lance(tmp_path / "l"))),
        iceberg_table(tmp_path / "i"),
    ]
    assert [recombine.read(table, factors=FACTORS, target="price").rows for table in opened] == [2, 2, 2]


def test_a_dataset_of_arrow_is_read_where_it_lies(tmp_path: Path) -> None:
    ds.write_dataset(ROWS, tmp_path / "rows", format="parquet")
    assert recombine.read(ds.dataset(tmp_path / "rows"), factors=FACTORS).rows == 4


@pytest.mark.parametrize(("make", "package"), [(delta, "deltalake"), (lance, "lance"), (iceberg, "pyiceberg.table")])
def test_without_the_package_there_is_a_word(
    tmp_path: Path, make: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(tmp_path / "shoes")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SourceError, match="not installed") as refused:
        recombine.read(place, factors=FACTORS)
    assert f"pip install 'recombine[{make.__name__}]'" in str(refused.value)


def test_a_log_without_its_files_is_a_word(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    with pytest.raises(SourceError, match="cannot read"):
        recombine.read(tmp_path / "t", factors=FACTORS)
    (tmp_path / "h" / ".hoodie").mkdir(parents=True)
    with pytest.raises(SourceError, match="a Hudi table"):
        recombine.read(tmp_path / "h", factors=FACTORS)


def test_two_newest_versions_of_an_iceberg_table_need_its_catalogue(tmp_path: Path) -> None:
    place = iceberg(tmp_path / "shoes")
    newest = max((place / "metadata").glob("*.metadata.json"))
    newest.with_name(newest.name[:5] + "-another.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(SourceError, match="only its catalogue knows"):
        recombine.read(place, factors=FACTORS)


@pytest.mark.parametrize(("name", "word"), [("shoes.xlsx", "save it as CSV"), ("shoes.db", "sqlite3 -header -csv")])
def test_what_has_to_be_written_out_first(tmp_path: Path, name: str, word: str) -> None:
    (tmp_path / name).write_bytes(b"something")
    for table in (None, "shoes"):
        with pytest.raises(SourceError, match="not read directly") as refused:
            recombine.read(tmp_path / name, factors=FACTORS, table=table)
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("encoding", "told"),
    [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("cp1252", "WINDOWS-1252")],
)
def test_the_encoding_is_told_by_the_bytes(tmp_path: Path, encoding: str, told: str) -> None:
    path = tmp_path / "shoes.csv"
    path.write_bytes("material,garment\nwool,béret\nsilk,hat\nwool,hat\n".encode(encoding))
    with pytest.raises(SourceError) as refused:
        recombine.read(path, factors=FACTORS)
    assert f"iconv -f {told} -t UTF-8" in str(refused.value)


def _splits(**more: Any) -> Any:
    datasets = pytest.importorskip("datasets")
    train = datasets.Dataset.from_dict({"drug": ["a", "a", "b"], "cell": ["k", "l", "k"], **more})
    test = datasets.Dataset.from_dict({"drug": ["b", "b"], "cell": ["l", "k"]})
    return datasets.DatasetDict(train=train, test=test)


@pytest.mark.parametrize("identity", [None, "drug"])
def test_a_lint_takes_a_dictionary_of_datasets_as_its_sides(identity: str | None) -> None:
    both = _splits()
    found = recombine.lint(both, factors=["drug", "cell"], id=identity)
    apart = recombine.lint(train=both["train"], test=both["test"], factors=["drug", "cell"], id=identity)
    assert found["combinations"].sentence == apart["combinations"].sentence
    assert "1 of 2 test combinations" in found["combinations"].sentence


def test_a_dictionary_of_datasets_is_not_counted_as_one_table_by_chance() -> None:
    with pytest.raises(SourceError, match="holds the splits 'train', 'test'") as refused:
        recombine.read(_splits(), factors=["drug", "cell"])
    assert "recombine.lint takes all of them" in str(refused.value)
    with pytest.raises(ColumnError, match="'split' stands in a DatasetDict"):
        recombine.lint(_splits(split=["x", "y", "z"]), factors=["drug", "cell"])


def test_it_is_written_with_a_split_of_ours_beside_its_own(tmp_path: Path) -> None:
    splitter = recombine.HoldOutCombinations(["drug", "cell"], test_size=0.25)
    written = recombine.split(_splits(), by=splitter, out=tmp_path / "held.parquet", column="held_out")
    assert sum(side.rows for side in written.sides) == 5
    assert set(ds.dataset(tmp_path / "held.parquet").schema.names) >= {"split", "held_out"}
