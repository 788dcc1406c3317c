"""A table is written with its sides, out of core: every row, in its order, as the splitter decided."""

import csv
import gzip
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError, OutputError, RecordError, SettingError, SourceError, TableError
from recombine.cli.app import app
from recombine.verbs.split import manifest
from recombine.verbs.split.invariants import Promise
from recombine.verbs.split.splitter import Assignment, Splitter
from tests.commands import run_command
from tests.properties import examples

CD = ["colour", "shape"]


def products(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """A table whose rows can be told apart by their number."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": np.arange(rows),
            "colour": rng.choice(["red", "blue", "green", "black"], rows),
            "shape": rng.choice(["disc", "cube", "cone", "bar", "ring"], rows),
            "weight": rng.normal(size=rows).round(3),
            "label": rng.choice(["x", "y"], rows),
        }
    )


def write(source, out, splitter=None, **given) -> recombine.Split:
    """A split without rows kept apart as seen, unless they are asked for."""
    splitter = splitter or recombine.HoldOutCombinations(CD)
    return recombine.split(source, by=splitter, out=out, **{"seen_share": 0, **given})


def expected(frame: pd.DataFrame, splitter: Splitter) -> list[str]:
    """The sides by the in-memory way, which never sees a file."""
    train, test = next(splitter.split(frame))
    sides = np.full(len(frame), None, dtype=object)
    sides[train], sides[test] = "train", "test"
    return sides.tolist()


# --- what is written


@examples(15)
@given(st.integers(0, 10**6), st.integers(0, 5), st.sampled_from([".csv", ".parquet"]))
def test_written_sides_are_those_in_memory(tmp_path_factory, table_seed, seed, ending) -> None:
    frame = products(200, table_seed)
    out = tmp_path_factory.mktemp("split") / f"table{ending}"
    splitter = recombine.HoldOutCombinations(CD, test_size=0.3, random_state=seed)
    write(frame, out, splitter)
    back = pd.read_csv(out) if ending == ".csv" else pd.read_parquet(out)
    assert back["split"].tolist() == expected(frame, splitter)
    pd.testing.assert_frame_equal(back.drop(columns="split"), frame, check_dtype=False)


def test_every_file_is_written_in_the_order_of_its_rows(tmp_path) -> None:
    frame = products()
    frame.to_csv(tmp_path / "source.csv", index=False)
    sides = expected(frame, recombine.HoldOutCombinations(CD))
    for name in ("a.csv", "b.csv.gz", "c.tsv", "d.parquet", "e.pq", "f.tsv.gz"):
        write(tmp_path / "source.csv", tmp_path / name)
        back = duckdb.sql(f"SELECT number, split FROM '{tmp_path / name}'" if name != "e.pq" else
                          f"SELECT number, split FROM read_parquet('{tmp_path / name}')").fetchall()  # fmt: skip
        assert back == list(zip(range(300), sides, strict=True)), name
        assert (tmp_path / f"{name[0]}.split.json").is_file()


def test_a_folder_has_one_part_for_each_side(tmp_path) -> None:
    made = write(products(), tmp_path / "parts")
    assert sorted(part.name for part in (tmp_path / "parts").iterdir()) == ["split=test", "split=train"]
    found = recombine.lint(tmp_path / "parts", factors=CD, id="number")
    assert (found.grade, found.digest) == ("sound", made.digest)
    assert pq.read_table(tmp_path / "parts" / "split=test").num_rows == made.sides[1].rows


def test_the_manifest_says_how_to_make_it_again(tmp_path) -> None:
    frame = products()
    splitter = recombine.HoldOutCombinations(CD, test_size=0.3, random_state=4)
    made = write(frame, tmp_path / "table.parquet", splitter, command="recombine split …")
    told = json.loads((tmp_path / "table.split.json").read_text())
    assert told["splitter"] == repr(splitter)
    assert told["digest"] == made.digest == recombine.lint(tmp_path / "table.parquet", factors=CD).digest
    assert told["provenance"]["command"] == "recombine split …"
    assert told["provenance"]["settings"]["seed"] == 4
    assert told["provenance"]["version"] == recombine.__version__
    assert {side["name"]: side["rows"] for side in told["sides"]} == frame.groupby(
        np.array(expected(frame, splitter))
    ).size().to_dict()
    assert {line["name"] for line in told["invariants"] if line["holds"]} >= {"disjoint", "combinations", "values"}
    assert manifest.difference(manifest.read(tmp_path / "table.split.json")) == ""


def test_a_table_that_was_changed_no_longer_fits_its_manifest(tmp_path) -> None:
    write(products(), tmp_path / "table.csv")
    frame = pd.read_csv(tmp_path / "table.csv")
    first = (frame.colour == frame.colour[0]) & (frame["shape"] == frame["shape"][0])
    frame.loc[first, "split"] = "train" if frame.split[0] == "test" else "test"
    frame.to_csv(tmp_path / "table.csv", index=False)
    said = manifest.difference(manifest.read(tmp_path / "table.split.json"))
    assert "is not split as 'table.split.json' says" in said


def test_the_value(tmp_path) -> None:
    frame = products()
    made = write(frame, tmp_path / "table.parquet")
    sides = dict(
        zip(
            zip(frame.colour, frame["shape"], strict=True),
            expected(frame, recombine.HoldOutCombinations(CD)),
            strict=True,
        )
    )
    assert {combination: made.side(combination) for combination in sides} == sides
    assert made.side({"shape": "disc", "colour": "red"}) == sides["red", "disc"]
    assert made.side(("pink", "disc")) is None
    with pytest.raises(SettingError, match="there are 2 factors"):
        made.side(("red",))
    made.save(tmp_path / "saved")
    assert recombine.Split.load(tmp_path / "saved") == made
    assert "are held out" in repr(made)
    assert made.verdict in re.sub("</?b>", "", made._repr_html_())


def test_csv_stays_as_it_was_written(tmp_path) -> None:
    """An engine takes 007 for 7, 1.50 for 1.5, and 1/2/2020 for a date: what goes out is what came in."""
    lines = ["code,colour,shape,price,day,note,level"]
    for i, (colour, shape) in enumerate([("red", "disc"), ("red", "cube"), ("blue", "disc"), ("blue", "cube")] * 5):
        lines.append(f'{i:03d},{colour},{shape},1.50,1/2/2020,"a, ""b""",{i % 3}')
    (tmp_path / "source.csv").write_text("\n".join(lines) + "\n")
    write(tmp_path / "source.csv", tmp_path / "a.csv")
    rows = list(csv.reader((tmp_path / "a.csv").open()))
    assert [row[:-1] for row in rows] == list(csv.reader(lines))
    write(tmp_path / "source.csv", tmp_path / "b.csv", recombine.HoldOutCombinations(["colour", "level"]))
    rows = list(csv.reader((tmp_path / "b.csv").open()))
    assert [row[:-1] for row in rows] == list(csv.reader(lines))
    assert recombine.lint(tmp_path / "b.csv", factors=["colour", "level"]).grade == "sound"


def test_binned_factors_are_joined_by_their_bins(tmp_path) -> None:
    frame = products(2000)
    splitter = recombine.HoldOutCombinations(["colour", "weight"], bins={"weight": "quantiles:6"}, test_size=0.3)
    made = write(frame, tmp_path / "table.parquet", splitter)
    back = pd.read_parquet(tmp_path / "table.parquet")
    assert back["split"].tolist() == expected(frame, splitter)
    assert list(back.columns) == [*frame.columns, "split"]
    assert made.combinations == 24
    assert manifest.difference(manifest.read(tmp_path / "table.split.json")) == ""
    days = frame.assign(day=pd.date_range("2020-01-01", periods=2000, freq="h"))
    monthly = recombine.HoldOutCombinations(["colour", "day"], bins={"day": "month"})
    write(days, tmp_path / "days.parquet", monthly)
    assert pd.read_parquet(tmp_path / "days.parquet")["split"].tolist() == expected(days, monthly)


def test_rows_that_miss_a_factor_get_no_side_or_are_a_value(tmp_path) -> None:
    frame = products()
    frame.loc[::10, "colour"] = None
    made = write(frame, tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet").sort_values("number")
    assert len(back) == 300
    assert back.split.isna().tolist() == frame.colour.isna().tolist()
    assert made.reasons == ("30 rows miss a factor and got no side; missing='value' (--missing value) gives them one.",)
    assert recombine.lint(tmp_path / "a.parquet", factors=CD).grade == "sound"
    valued = write(frame, tmp_path / "b.parquet", recombine.HoldOutCombinations(CD, missing="value"))
    assert valued.reasons == ()
    assert not pd.read_parquet(tmp_path / "b.parquet").split.isna().any()
    assert valued.side((None, "disc")) in ("train", "test")
    assert manifest.difference(manifest.read(tmp_path / "b.split.json")) == ""


class LeavesOut(Splitter):
    """Uses only two colours."""

    def check_settings(self) -> None:
        """There are none."""

    @property
    def promise(self) -> Promise:
        return Promise()

    def assign(self, support, fold):
        colour = support.codes[:, 0]
        return Assignment.of(colour == 0, left_out=colour >= 2)


def test_combinations_on_neither_side_are_written_and_told(tmp_path) -> None:
    made = write(products(), tmp_path / "a.parquet", LeavesOut(CD))
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert set(back[back.split.isna()].colour) == {"green", "red"}
    assert made.reasons == (
        "That every value stays in training is not guaranteed, and it does not: training lacks colour 'black'.",
        "10 combinations are on neither side, as the splitter leaves them out.",
    )
    assert made.side(("green", "disc")) is None


def test_seen_rows_are_of_training_combinations(tmp_path) -> None:
    frame = products(3000)
    made = write(frame, tmp_path / "a.parquet", seen_share=0.1)
    back = pd.read_parquet(tmp_path / "a.parquet")
    seen = {side.name: side for side in made.sides}["seen"]
    assert seen.rows == (back.split == "seen").sum()
    assert 0.07 < seen.rows / (back.split != "test").sum() < 0.13
    sides = back.groupby(CD).split.unique().map(set)
    assert all(found in ({"test"}, {"train", "seen"}) for found in sides)
    found = recombine.lint(tmp_path / "a.parquet", factors=CD, id="number")
    assert (found.grade, found["seen"].verdict, found.digest) == ("sound", "pass", made.digest)
    again = write(frame.iloc[::-1], tmp_path / "b.parquet", seen_share=0.1)
    assert pd.read_parquet(tmp_path / "b.parquet").sort_values("number").split.tolist() == back.split.tolist()
    assert write(frame, tmp_path / "c.parquet", seen_share=0.1, seed=1).sides != again.sides
    by_id = write(frame, tmp_path / "d.parquet", seen_share=0.1, id="number")
    changed = write(frame.assign(weight=0), tmp_path / "e.parquet", seen_share=0.1, id="number")
    assert by_id.sides == changed.sides


def test_a_combination_is_never_drawn_whole(tmp_path) -> None:
    frame = products(40)
    made = write(frame, tmp_path / "a.parquet", seen_share=0.9)
    assert recombine.lint(tmp_path / "a.parquet", factors=CD, id="number")["seen"].verdict == "pass"
    assert made.digest == recombine.lint(tmp_path / "a.parquet", factors=CD).digest
    twins = write(frame[CD], tmp_path / "b.parquet", seen_share=0.5)
    assert "rows are not told apart" in twins.reasons[0]


def test_folds(tmp_path) -> None:
    frame = products()
    splitter = recombine.CombinationKFold(CD, n_splits=3)
    made = write(frame, tmp_path / "a.csv", splitter)
    back = pd.read_csv(tmp_path / "a.csv")
    for fold, (_, test) in enumerate(splitter.split(frame)):
        assert np.flatnonzero(back.fold == fold).tolist() == test.tolist()
    assert [side.name for side in made.sides] == ["0", "1", "2"]
    assert manifest.difference(manifest.read(tmp_path / "a.split.json")) == ""


def test_strata_and_where(tmp_path) -> None:
    frame = products()
    splitter = recombine.HoldOutCombinations(CD, stratify="label", n_splits=1)
    write(frame, tmp_path / "a.parquet", splitter)
    assert pd.read_parquet(tmp_path / "a.parquet").split.tolist() == expected(frame, splitter)
    made = write(frame, tmp_path / "b.parquet", where="label = 'x'")
    assert made.rows == (frame.label == "x").sum() == len(pd.read_parquet(tmp_path / "b.parquet"))


def test_the_verb_gives_a_splitter_its_factors_classes_and_bins(tmp_path) -> None:
    frame = products()
    whole = recombine.HoldOutCombinations(
        ["colour", "weight"], stratify="label", bins={"weight": 2}, missing="leave out", test_size=0.3
    )
    told = {"factors": ["colour", "weight"], "target": "label", "bins": {"weight": 2}, "missing": "leave out"}
    one = write(frame, tmp_path / "a.parquet", whole)
    two = write(frame, tmp_path / "b.parquet", recombine.HoldOutCombinations(test_size=0.3), **told)
    assert (one.digest, one.splitter) == (two.digest, two.splitter)
    usual = recombine.split(frame, factors=CD, out=tmp_path / "c.parquet", seen_share=0)
    assert usual.digest == write(frame, tmp_path / "d.parquet").digest


def test_another_seed_is_another_draw(tmp_path) -> None:
    one = write(products(), tmp_path / "a.parquet", recombine.HoldOutCombinations(CD, random_state=0))
    two = write(products(), tmp_path / "b.parquet", recombine.HoldOutCombinations(CD, random_state=1))
    assert one.digest != two.digest


# --- sources


def test_frames_and_files_are_written_alike(tmp_path) -> None:
    frame = products()
    frame.to_parquet(tmp_path / "source.parquet", index=False)
    (tmp_path / "many").mkdir()
    for part in range(3):
        frame[part * 100 : part * 100 + 100].to_parquet(tmp_path / "many" / f"{part}.parquet", index=False)
    with duckdb.connect(str(tmp_path / "base.duckdb")) as made:
        made.execute(f"CREATE TABLE products AS FROM '{tmp_path / 'source.parquet'}'")
    con = ibis.duckdb.connect(str(tmp_path / "base.duckdb"))
    sources = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "file": tmp_path / "source.parquet",
        "glob": str(tmp_path / "many" / "*.parquet"),
        "ibis": con.table("products"),
    }
    digests = {name: write(source, tmp_path / f"{name}.parquet").digest for name, source in sources.items()}
    assert con.con.execute("SELECT table_name FROM information_schema.tables").fetchall() == [("products",)]
    con.disconnect()
    digests["duckdb"] = write(str(tmp_path / "base.duckdb"), tmp_path / "duckdb.parquet", table="products").digest
    assert len(set(digests.values())) == 1
    sides = expected(frame, recombine.HoldOutCombinations(CD))
    for name in digests:
        assert pd.read_parquet(tmp_path / f"{name}.parquet").sort_values("number").split.tolist() == sides, name


def test_postgresql(postgres, tmp_path) -> None:
    import psycopg  # noqa: PLC0415

    frame = products()
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("CREATE TABLE goods (number int, colour text, shape text, weight float8, label text)")
        with connection.cursor().copy("COPY goods FROM STDIN") as copy:
            for row in frame.itertuples(index=False):
                copy.write_row(row)
    made = write(postgres.uri, tmp_path / "goods.parquet", table="goods", where="number < 250", seen_share=0.2)
    back = pd.read_parquet(tmp_path / "goods.parquet").sort_values("number")
    local = write(frame[:250], tmp_path / "local.parquet", seen_share=0.2)
    assert len(back) == 250
    assert made.digest == local.digest
    assert back.split.replace("seen", "train").tolist() == expected(frame[:250], recombine.HoldOutCombinations(CD))
    assert made.provenance.source.endswith("goods")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "goods.parquet",
        "goods.split.json",
        "local.parquet",
        "local.split.json",
    ]


def test_a_csv_whose_later_lines_are_of_another_type(tmp_path) -> None:
    lines = [f"{i},{'red' if i % 2 else 'blue'},{'disc' if i % 3 else 'cube'}" for i in range(30_000)]
    (tmp_path / "source.csv").write_text("\n".join(["number,colour,shape", *lines, "last,red,disc"]) + "\n")
    made = write(tmp_path / "source.csv", tmp_path / "a.parquet", recombine.HoldOutCombinations(CD, test_size=0.25))
    assert made.rows == 30_001


# --- nothing is replaced or left behind


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_source_is_never_replaced(tmp_path) -> None:
    file = tmp_path / "source.csv"
    products().to_csv(file, index=False)
    before = file.read_bytes()
    for source, out in [
        (file, file),
        (str(file), tmp_path / "x" / ".." / "source.csv"),
        (str(tmp_path / "*.csv"), file),
        (tmp_path, tmp_path / "new.csv"),
    ]:
        with pytest.raises(OutputError, match="is the table that is to be split"):
            write(source, out, force=True)
    assert file.read_bytes() == before
    assert listed(tmp_path) == ["source.csv"]


def test_nothing_is_replaced_unasked(tmp_path) -> None:
    write(products(), tmp_path / "a.csv")
    with pytest.raises(OutputError, match="already exists") as caught:
        write(products(), tmp_path / "a.csv")
    assert "--force" in caught.value.instead
    with pytest.raises(OutputError, match=r"a.split.json' already exists"):
        write(products(), tmp_path / "a.parquet")
    assert write(products(), tmp_path / "a.csv", force=True).rows == 300


def test_a_foreign_folder_is_never_replaced(tmp_path) -> None:
    (tmp_path / "mine" / "thesis").mkdir(parents=True)
    with pytest.raises(OutputError, match="holds files that recombine did not write"):
        write(products(), tmp_path / "mine", force=True)
    write(products(), tmp_path / "parts")
    assert write(products(), tmp_path / "parts", force=True).rows == 300
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        write(products(), tmp_path / "folder.csv", force=True)


def test_what_fails_leaves_nothing(tmp_path) -> None:
    with pytest.raises(SettingError, match="at most"):
        write(products(), tmp_path / "new" / "folder" / "a.csv", recombine.HoldOutCombinations(CD, test_size=0.99))
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        write(products(), tmp_path / "file" / "a.csv")
    assert listed(tmp_path) == ["file"]


def test_no_room_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("recombine.data.engine._ENGINE_MEMORY", 2**20)
    with pytest.raises(OutputError, match="cannot write") as caught:
        write(products(20_000), tmp_path / "a.parquet")
    assert "memory" in caught.value.why.lower()
    assert listed(tmp_path) == []


@pytest.mark.process
def test_ctrl_c_leaves_nothing(tmp_path) -> None:
    file = tmp_path / "large.parquet"
    duckdb.sql(
        "COPY (SELECT 'a' || (hash(i) % 900) AS a, 'b' || (hash(i + 1) % 900) AS b, i, hash(i + 2) AS noise "
        f"FROM range(6000000) t(i)) TO '{file}'"
    )
    words = ["split", str(file), "-f", "a,b", "--out", "held.csv.gz"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from recombine.cli import main; main()", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):  # until the file is being written beside its place
        if any(part.stat().st_size for part in tmp_path.glob(".held*/new/held.csv.gz")):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. Nothing was left half-written." in told
    assert listed(tmp_path) == ["large.parquet"]


# --- mistakes


@pytest.mark.parametrize(
    ("splitter", "given", "error", "said"),
    [
        (recombine.HoldOutCombinations(["color", "shape"]), {}, ColumnError, "did you mean 'colour'?"),
        (recombine.HoldOutCombinations([0, 1]), {}, SettingError, "names factors by position"),
        ("a splitter", {}, SettingError, "by is a str"),
        (None, {"fold": 9}, SettingError, "recombine.split"),
        (None, {"factors": ["colour", "label"]}, SettingError, "say it in one place"),
        (recombine.HoldOutCombinations(), {}, SettingError, "no factors were given"),
        (recombine.Corner(CD, at=1), {"target": "label"}, SettingError, "does not keep the shares of classes"),
        (recombine.CombinationKFold(n_splits=1), {"factors": CD}, SettingError, "n_splits=1"),
        (None, {"seen_share": 1}, SettingError, "some must stay in training"),
        (recombine.CombinationKFold(CD), {"seen_share": 0.1}, SettingError, "seen_share with folds"),
        (None, {"column": "label"}, ColumnError, "column='label2'"),
        (None, {"id": "nummer"}, ColumnError, "did you mean 'number'?"),
        (recombine.HoldOutCombinations(CD, stratify="lable"), {}, ColumnError, "did you mean 'label'?"),
    ],
)
def test_mistakes_are_explained(tmp_path, splitter, given, error, said) -> None:
    with pytest.raises(error) as caught:
        write(products(), tmp_path / "a.csv", splitter, **given)
    assert said in str(caught.value)
    assert listed(tmp_path) == []


def test_other_endings_other_sources(tmp_path) -> None:
    with pytest.raises(SettingError, match="cannot be written"):
        write(products(), tmp_path / "a.xlsx")
    with pytest.raises(SourceError, match="no file"):
        write("nowhere.csv", tmp_path / "a.csv")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"kind": "audit"}', '{"kind": "split"}'])
def test_what_is_not_a_manifest_is_refused(tmp_path, content) -> None:
    (tmp_path / "a.split.json").write_text(content)
    with pytest.raises(RecordError, match=r"is not the manifest of a split|does not say which format it has"):
        manifest.read(tmp_path / "a.split.json")
    with pytest.raises(RecordError, match="No such file"):
        manifest.read(tmp_path / "nowhere.split.json")


# --- the command


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return run_command(folder, *words)


@pytest.fixture
def folder(tmp_path) -> Path:
    grid = pd.DataFrame([(x, y, x * 6 + y) for x in range(6) for y in range(6)], columns=["x", "y", "number"])
    grid.to_csv(tmp_path / "grid.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "held"),
    [
        (("--share", "0.25"), 9),
        (("--hold", "x=1,y=2", "--hold", "x=3,y=4"), 2),
        (("--hold", "3"), 3),
        (("--by", "donut", "--hole", "2,3"), 4),
        (("--by", "donut", "--hole", "x=2,3", "--hole", "y=1,4"), 8),
        (("--by", "corner", "--at", "4"), 4),
        (("--by", "diagonal", "--width", "0.2"), 20),
        (("--by", "planes", "--through", "x=0,y=0"), 25),
        (("--guarantee", "determined"), 7),
        pytest.param(("--by", "divergence", "--share", "0.5", "--atom-limit", "0.5"), 18, marks=pytest.mark.slow),
    ],
)
def test_by(folder, words, held) -> None:
    out = str(folder / "held.csv")
    done = CliRunner().invoke(app, ["split", str(folder / "grid.csv"), "--factors", "x,y", "--out", out, *words])
    assert done.exit_code == 0, done.output
    assert (pd.read_csv(out).split == "test").sum() == held
    assert recombine.lint(out, factors=["x", "y"]).grade == "sound"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "corner"), "--by corner without --at"),
        (("--by", "corner", "--at", "4", "--share", "0.1"), "--share with --by corner"),
        (("--by", "corner", "--at", "4", "--seed", "1"), "--seed with --by corner"),
        (("--by", "cornre"), "did you mean 'corner'?"),
        (("--by", "donut", "--hole", "3"), "a lower and an upper limit"),
        (("--by", "donut", "--hole", "1,2", "--hole", "y=1,2"), "one for each by its name"),
        (("--hold", "x1"), "FACTOR=VALUE"),
        (("--missing", "perhaps"), "write 'leave out' or 'value'"),
        (("--share", "7"), "such as --share 0.2"),
        (("--share", "0.9"), "write --share 0.8333, or ask for a weaker guarantee"),
        pytest.param(("--by", "divergence", "--share", "0.05"), "write --atom-limit 0.", marks=pytest.mark.slow),
        (("--by", "kfold", "--folds", "1"), "write --folds 5"),
        (("--out", "grid.csv"), "is the table that is to be split"),
    ],
)
def test_the_command_explains_mistakes(folder, monkeypatch, words, said) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["split", "grid.csv", "--factors", "x,y", "--out", "held.csv", *words])
    assert isinstance(done.exception, recombine.RecombineError)  # which the command turns into words and a 2
    assert said in str(done.exception)
    assert listed(folder) == ["grid.csv"]


def test_a_mistake_ends_without_a_traceback(folder) -> None:
    done = run(folder, "split", "grid.csv", "--factors", "x,z", "--out", "held.csv")
    assert done.returncode == 2
    assert "no column 'z'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_command_prints(folder) -> None:
    done = run(folder, "split", "grid.csv", "-f", "x,y", "-o", "held.csv.gz", "--seen-share", "0.3", "--json")
    told = json.loads(done.stdout)
    assert (told["kind"], told["file"], told["rows"]) == ("split", "held.csv.gz", 36)
    assert gzip.decompress((folder / "held.csv.gz").read_bytes()).startswith(b"x,y,number,split\n")
    done = run(folder, "split", "grid.csv", "-f", "x,y", "-o", "folds.csv", "--by", "kfold", "--folds", "4")
    assert "4 folds hold 9 to 9 rows each" in done.stdout
    done = run(folder, "split", "grid.csv", "-f", "x,y", "-o", "parts", "--share", "0.25")
    assert "9 combinations with 9 rows (25 %) are held out" in " ".join(done.stdout.split())
    assert "next   recombine lint parts --factors x,y" in done.stdout


def pasted(folder: Path, printed: str) -> list[int]:
    """The exit codes of the commands that were proposed."""
    lines = [line.partition("recombine ")[2] for line in printed.splitlines() if " recombine " in line]
    return [run(folder, *shlex.split(line)).returncode for line in lines]


@pytest.mark.parametrize("column", ["my split", "order", 'a "b"', "held"])
def test_what_it_proposes_can_be_pasted(folder, column) -> None:
    done = run(folder, "split", "grid.csv", "-f", "x,y", "-o", "held.csv", "--column", column)
    assert pasted(folder, done.stdout) == [0, 0]


def test_folds_say_what_is_not_guaranteed(folder) -> None:
    ask = ("split", "grid.csv", "-f", "x,y", "--by", "kfold", "--folds", "3", "-o")
    kept = run(folder, *ask, "kept.csv", "--guarantee", "values")
    assert "not guaranteed" not in kept.stdout
    assert pasted(folder, kept.stdout) == [0]
    done = run(folder, *ask, "folds.csv")
    assert "is not guaranteed (guarantee='none'), though in every fold it does" in " ".join(done.stdout.split())
    with (folder / "grid.csv").open("a") as file:
        file.write("9,0,99\n")
    done = run(folder, *ask, "lost.csv")
    assert "in 1 of 3 folds it does not: fold" in " ".join(done.stdout.split())
    assert "takes away x '9'" in " ".join(done.stdout.split())
    assert pasted(folder, done.stdout) == [0]
    (folder / "grid.csv").write_text("x,y\n" + "".join(f"{k},{k}\n" for k in range(6)))
    done = run(folder, *ask, "alone.csv")
    assert "in 3 of 3 folds it does not" in " ".join(done.stdout.split())
    assert pasted(folder, done.stdout) == [0]


@pytest.mark.parametrize(
    "name", [".x", "$.x", "x.y", "[0]", "rows", "side", "value", "f0", 'a"b', "split 1", "\n", "é"]
)
def test_a_factor_may_be_called_anything(name, tmp_path) -> None:
    frame = products().rename(columns={"colour": name})
    made = write(frame, tmp_path / "t.parquet", recombine.HoldOutCombinations([name, "shape"], guarantee="none"))
    assert sum(side.rows for side in made.sides) == len(frame)
    assert set(made.assignment[name].to_pylist()) == set(frame[name])


def test_a_table_that_answers_anew_each_time_is_not_split(tmp_path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(
            "CREATE VIEW picked AS SELECT * FROM (SELECT (i % 4)::VARCHAR AS colour, (i % 5)::VARCHAR AS shape "
            "FROM range(500000) AS numbers(i)) WHERE random() < 0.7"  # so many never come to the same number twice
        )
    with pytest.raises(TableError, match=r"(?s)when it was counted.*answers anew.*copy it first"):
        write(tmp_path / "shop.duckdb", tmp_path / "t.parquet", table="picked")
    assert [path.name for path in tmp_path.iterdir()] == ["shop.duckdb"]
    with pytest.raises(SettingError, match="asked more than once"):
        write(products(), tmp_path / "t.parquet", where="random() < 0.7")
