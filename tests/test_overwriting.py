"""What an output may replace: a saved result of its own kind that was asked to be replaced, and nothing else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base import overwrite_checks, records
from recombine.base.errors import OutputError, RecombineError
from recombine.base.overwrite_checks import files_of, input_at, saved_kind
from recombine.base.records import Provenance, Record
from recombine.cli.app import app
from recombine_lab.runs import run_files
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import run as a_run

AB = ("--factors", "a,b")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with a small table in it."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    lines = [f"{a},{b},{a + b},{a + b},{k},{'train' if k % 3 else 'test'}" for k, (a, b) in enumerate(pairs() * 4)]
    (here / "t.csv").write_text("\n".join(["a,b,y,said,id,trained", *lines]) + "\n")
    return here


def pairs() -> list[tuple[int, int]]:
    return [(a, b) for a in range(3) for b in range(3) if (a, b) != (2, 2)]


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def refused(*words: str | Path) -> str:
    """What a command says that refuses to write, having written nothing: every file is as it was."""
    before = contents(Path())
    done = run(*words)
    assert isinstance(done.exception, RecombineError), (done.output, done.exception)
    assert contents(Path()) == before
    return str(done.exception)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- whose folder it is


def test_out_on_a_folder_that_holds_a_saved_result_and_more(folder) -> None:
    """A `record.json` does not make a folder ours: the table and the thesis beside it are somebody's."""
    assert run("audit", "t.csv", *AB, "--out", "saved").exit_code == 0
    for path in Path("saved").iterdir():
        path.rename(folder / path.name)
    Path("saved").rmdir()
    (folder / "thesis.tex").write_text("my life's work")
    for words in ((), ("--force",)):
        assert "already exists and is not a saved result" in refused("audit", "t.csv", *AB, "--out", ".", *words)
        assert "already exists and is not a saved result" in refused("audit", "t.csv", *AB, "--out", folder, *words)


def test_the_current_folder_and_those_above_it_are_never_replaced(folder, monkeypatch) -> None:
    assert run("audit", "t.csv", *AB, "--out", "saved").exit_code == 0
    monkeypatch.chdir("saved")
    for out in (".", folder / "saved", "../saved"):
        assert "is the current folder, or one above it" in refused("audit", "../t.csv", *AB, "--out", out, "--force")
    (folder / "empty" / "below").mkdir(parents=True)
    monkeypatch.chdir(folder / "empty" / "below")
    assert "is the current folder" in refused("audit", folder / "t.csv", *AB, "--out", ".")
    assert "is not a saved result" in refused("audit", folder / "t.csv", *AB, "--out", "..", "--force")


@pytest.mark.slow
def test_a_result_is_replaced_only_when_asked(folder) -> None:
    for verb in (("audit",), ("plan",), ("predict", "--target", "y"), ("lint", "--split", "trained"), EVALUATE):
        words = [verb[0], "t.csv", *AB, *verb[1:], "--out", f"saved-{verb[0]}"]
        assert run(*words).exit_code in (0, 3, 4), verb
        assert "--force" in refused(*words)
        again = run(*words, "--force")
        assert again.exit_code in (0, 3, 4), (verb, again.output, again.exception)
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


EVALUATE = ("evaluate", "--target", "y", "--prediction", "said", "--split", "trained", "--no-causes")


def test_a_result_of_another_kind_is_never_replaced(folder) -> None:
    assert run("audit", "t.csv", *AB, "--out", "saved").exit_code == 0
    for verb in (("plan",), ("predict", "--target", "y"), ("lint", "--split", "trained"), EVALUATE):
        said = refused(verb[0], "t.csv", *AB, *verb[1:], "--out", "saved", "--force")
        assert "'saved' holds a saved audit" in said
    assert recombine.Audit.load("saved").verdict


def test_a_run_in_a_store_is_never_replaced(folder) -> None:
    store = Store.open("store")
    store.put(a_run(0), files={"model.safetensors": b"weights"})
    place = Path("store") / folder_of(a_run(0).key)
    said = refused("audit", "t.csv", *AB, "--out", place, "--force")
    assert "lies in the run store" in said
    said = refused("runs", "show", "store", a_run(0).key, "--out", place, "--force")
    assert "lies in the run store" in said
    for out in ("store", "store/runs", "store/runs/aa/new", "store/tmp/x"):
        assert refused("audit", "t.csv", *AB, "--out", out, "--force")
    assert "lies in the run store" in refused("audit", "t.csv", *AB, "--report", place / "page.html")
    assert "lies in the run store" in refused("split", "t.csv", *AB, "--out", place / "support.parquet", "--force")
    with pytest.raises(OutputError, match="lies in the run store"):
        a_run(0).save(place, force=True)
    assert store.faults(a_run(0).key) == []


def test_the_store_is_known_by_what_the_store_writes() -> None:
    assert {overwrite_checks.STORE_FILE, *overwrite_checks.STORE_FOLDERS} == run_files.OURS


def test_every_kind_of_result_is_known() -> None:
    kinds = {"probe", "run", "stored_audit", "study", "vector_evaluation"}
    for name in ("Audit", "Diff", "Evaluation", "Lint", "Plan", "Prediction", "Rehearsal", "Split"):
        assert hasattr(getattr(recombine, name), "save")
        kinds.add(name.lower())
    assert kinds == overwrite_checks.KINDS


def test_a_copied_run_is_whole_and_can_be_replaced(folder) -> None:
    store = Store.open("store")
    for seed in range(2):
        store.put(a_run(seed), files={"model.safetensors": b"weights"})
    first, second = (a_run(seed).key for seed in range(2))
    assert run("runs", "show", "store", first, "--out", "copy").exit_code == 0
    assert saved_kind(Path("copy")) == "run"
    assert recombine.base.records.load("copy", "run").data["key"] == first
    assert "--force" in refused("runs", "show", "store", second, "--out", "copy")
    assert run("runs", "show", "store", second, "--out", "copy", "--force").exit_code == 0
    assert recombine.base.records.load("copy", "run").data["key"] == second
    assert Path("copy/model.safetensors").read_bytes() == b"weights"
    (folder / "copy" / "notes.txt").write_text("mine")
    assert "not a saved result" in refused("runs", "show", "store", first, "--out", "copy", "--force")


def edited(**changes: Any) -> Callable[[Path], None]:
    def edit(saved: Path) -> None:
        content = json.loads((saved / "record.json").read_text())
        (saved / "record.json").write_text(json.dumps(content | changes))

    return edit


@pytest.mark.parametrize(
    "spoil",
    [
        lambda saved: (saved / "thesis.tex").write_text("x"),
        lambda saved: (saved / ".hidden").write_text("x"),
        lambda saved: (saved / "sub").mkdir(),
        lambda saved: (saved / "numbers.parquet").unlink(),
        lambda saved: (saved / "record.json").write_text("{"),
        lambda saved: (saved / "record.json").write_text("[]"),
        lambda saved: (saved / "record.json").write_text('"audit"'),
        lambda saved: (saved / "record.json").write_text("[" * 100_000),
        lambda saved: (saved / "record.json").write_bytes(b"\xff\xfe"),
        lambda saved: (saved / "record.json").unlink(),
        edited(kind="diary"),
        edited(kind=["audit"]),
        edited(kind=None),
        edited(tables=None),
        edited(tables={"numbers": "", "../thesis": ""}),
        edited(store=None),
        edited(store={"parts": {"x": None}}),
        lambda saved: (saved / "numbers.parquet").replace(saved.with_name("n")) and (saved / "numbers.parquet").mkdir(),
        lambda saved: (
            (saved / "numbers.parquet").rename(saved.with_name("n"))
            and (saved / "numbers.parquet").symlink_to(saved.with_name("n"))
        ),
    ],
)
def test_what_is_odd_in_any_way_is_not_ours(tmp_path, spoil) -> None:
    record = Record("audit", {"verdict": "x"}, {"numbers": pa.table({"x": [1]})}, Provenance(source="shoes.csv"))
    saved = records.save(record, tmp_path / "saved")
    assert saved_kind(saved) == "audit"
    spoil(saved)
    assert saved_kind(saved) is None
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="is not a saved result"):
        records.save(record, saved, force=True)
    assert contents(tmp_path) == before


def test_an_empty_folder_is_free_and_a_link_is_not(tmp_path) -> None:
    record = Record("audit", {}, {}, Provenance(source="shoes.csv"))
    (tmp_path / "empty").mkdir()
    records.save(record, tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(OutputError, match="is a link"):
            records.save(record, tmp_path / name, force=True)
    assert saved_kind(tmp_path / "empty") == "audit"


# --- what is read


def sources(folder: Path) -> dict[str, str]:
    """The same file by every name that it has."""
    (folder / "deep" / "er").mkdir(parents=True)
    file = folder / "deep" / "er" / "t.csv"
    shutil.copy(folder / "t.csv", file)
    (folder / "soft.csv").symlink_to(file)
    return {
        "plain": "deep/er/t.csv",
        "absolute": str(file),
        "dots": "deep/../deep/er/t.csv",
        "glob": "deep/er/*.csv",
        "class": "deep/er/[s-u].csv",
        "question": "deep/er/?.csv",
        "deep glob": "deep/**/*.csv",
        "deeper glob": f"{folder}/deep/**",
        "file url": f"file://{file}",
        "file url glob": f"file://{folder}/deep/**/*.csv",
        "quoted url": f"file://{folder}/d%65ep/er/t.csv",
        "folder": "deep",
        "link": "soft.csv",
    }


@pytest.mark.slow
def test_a_source_is_never_written_over(folder) -> None:
    """Every name of the source, every name of the output: none of the pairs gets through, whatever is forced."""
    named = sources(folder)
    file = folder / "deep" / "er" / "t.csv"
    os.link(file, folder / "hard.csv")
    (folder / "loose.csv").symlink_to(file)
    before = contents(folder)
    for name, source in named.items():
        for out in ("deep/er/t.csv", str(file), "soft.csv", "hard.csv", "loose.csv"):
            done = run("split", source, *AB, "--out", out, "--force")
            assert isinstance(done.exception, RecombineError), (name, out)
            assert "is the table that is to be split" in str(done.exception), (name, out)
            assert contents(folder) == before, (name, out)


@pytest.mark.parametrize("name", [".t.csv", "t[1].csv", "ü.csv", "a b.csv", "%41.csv"])
def test_files_of_is_what_the_engine_reads(tmp_path, monkeypatch, name) -> None:
    import duckdb  # noqa: PLC0415

    for place in ("", "x/", "x/y/", ".h/"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / name).write_text("a\n1\n")
        (tmp_path / place / "other.txt").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    for pattern in ("*.csv", "**/*.csv", "*/*.csv", "x/**/*.csv", "**", ".*/*.csv", "x/[!z]*.csv", "?*.csv"):
        read = {os.path.realpath(row[0]) for row in duckdb.execute("SELECT file FROM glob(?)", [pattern]).fetchall()}
        assert read <= {os.path.realpath(path) for path in files_of(pattern)}, pattern


def test_input_at(tmp_path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "t.csv"
    file.write_text("a\n")
    found = {
        "same": input_at(file, [file]),
        "folder above": input_at(tmp_path / "data", [file]),
        "far above": input_at(tmp_path, [None, {"a": 1}, str(file)]),
        "beside": input_at(tmp_path / "data" / "new.csv", [file]),
        "inside": input_at(tmp_path / "data" / "new.csv", [tmp_path / "data"], inside=True),
        "page inside": input_at(tmp_path / "data" / "page.html", [tmp_path / "data"]),
        "elsewhere": input_at(tmp_path / "data", ["s3://data", "https://x/data", "postgresql://data"]),
    }
    assert {name: path is not None for name, path in found.items()} == {
        "same": True,
        "folder above": True,
        "far above": True,
        "beside": False,
        "inside": True,
        "page inside": False,
        "elsewhere": False,
    }


def test_a_manifest_is_not_written_over_the_source(folder) -> None:
    rows = [{"a": a, "b": b} for a, b in pairs()]
    (folder / "held.split.json").write_text(json.dumps(rows))
    assert "is the table that is to be split" in refused(
        "split", "held.split.json", *AB, "--out", "held.csv", "--force"
    )


def test_a_result_is_not_written_over_its_source(folder) -> None:
    """A table of a saved result is a table like any other, and can be a source."""
    assert run("audit", "t.csv", *AB, "--out", "saved").exit_code == 0
    assert saved_kind(Path("saved")) == "audit"
    table = next(path for path in sorted(Path("saved").glob("*.parquet")) if len(pq.read_schema(path)) > 1)
    factors = ",".join(pq.read_schema(table).names[:2])
    for source in (str(table), "saved/*.parquet", f"file://{table.resolve()}", "saved"):
        said = refused("audit", source, "--factors", factors, "--out", "saved", "--force")
        assert "what is read" in said, source
    support = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
    record = recombine.audit(support).record()
    named = Record(record.kind, record.data, record.tables, Provenance(source=str(table)))
    with pytest.raises(OutputError, match="what is read"):
        records.save(named, "saved", force=True)


def test_a_result_is_not_written_into_what_is_read(folder) -> None:
    (folder / "tables").mkdir()
    shutil.copy("t.csv", "tables/t.csv")
    assert "what is read" in refused("audit", "tables", *AB, "--out", "tables/audit")
    assert run("audit", "tables", *AB, "--out", "audit", "--report", "tables/page.html").exit_code == 0


def inputs_of_every_command() -> dict[str, tuple[str, ...]]:
    """Commands that read a file `IN.html` as one of their inputs; a name that a page can have."""
    return {
        "audit impossible": ("audit", "t.csv", *AB, "--impossible", "IN.html"),
        "plan cost": ("plan", "t.csv", *AB, "--cost", "IN.html"),
        "predict impossible": ("predict", "t.csv", *AB, "--target", "y", "--impossible", "IN.html"),
        "evaluate impossible": (EVALUATE[0], "t.csv", *AB, *EVALUATE[1:], "--impossible", "IN.html"),
    }


@pytest.mark.parametrize("name", inputs_of_every_command())
def test_a_page_is_not_written_over_an_input(folder, name) -> None:
    text = "a,b,cost\n2,2,\n" if "cost" in name else "a,b\n2,2\n"
    (folder / "IN.html").write_text(text)
    os.link("IN.html", "other.html")
    words = inputs_of_every_command()[name]
    for page in ("IN.html", "./IN.html", "other.html"):
        assert "which is read" in refused(*words, "--report", page)
    assert run(*words, "--report", "page.html").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "t.csv", *AB),
        ("audit", "t.csv", *AB, "--domain", "domain.json"),
        ("predict", "t.csv", *AB, "--target", "y", "--truth", "truth.csv"),
        ("evaluate", "said.csv", *AB, "--target", "y", "--prediction", "said", "--data", "t.csv", "--id", "id"),
        ("evaluate", "t.csv", *AB, "--target", "y", "--prediction", "said", "--train", "train.csv"),
        ("evaluate", "t.csv", *AB, *EVALUATE[1:], "--against", "said.csv", "--id", "id"),
    ],
)
def test_a_page_is_not_written_over_a_table(folder, words) -> None:
    """By a link that ends as a page does, to each of the files that a command reads."""
    (folder / "domain.json").write_text('{"a": [0, 1, 2]}')
    for copy in ("truth.csv", "said.csv", "train.csv"):
        shutil.copy("t.csv", copy)
    read = [word.partition("=")[0] for word in words if word.endswith((".csv", ".json"))]
    for place, file in enumerate(read):
        os.link(file, f"hard{place}.html")
        (folder / f"soft{place}.html").symlink_to(file)
        for page in (f"hard{place}.html", f"soft{place}.html"):
            assert "which is read" in refused(*words, "--report", page), (file, page)


def test_a_page_does_not_lie_in_the_folder_of_its_result(folder) -> None:
    for page in ("saved/page.html", "saved/../saved/page.html"):
        assert "--report page.html" in refused("audit", "t.csv", *AB, "--out", "saved", "--report", page)
    assert "with --out" in refused("audit", "t.csv", *AB, "--out", "saved.html", "--report", "saved.html")


def test_somebody_elses_page_is_replaced_only_when_asked(folder) -> None:
    (folder / "mine.html").write_text("<h1>mine</h1>")
    (folder / "lost.html").symlink_to("elsewhere/nothing.html")
    for page in ("mine.html", "lost.html"):
        assert "is not a page that recombine drew" in refused("audit", "t.csv", *AB, "--report", page)
    assert run("audit", "t.csv", *AB, "--report", "mine.html", "--force").exit_code == 0
    for words in (("audit", "t.csv", *AB), ("plan", "t.csv", *AB), ("predict", "t.csv", *AB, "--target", "y")):
        assert run(*words, "--report", "mine.html").exit_code == 0, words  # our own is drawn again unasked


def test_nothing_is_computed_for_a_place_that_is_refused(folder, monkeypatch) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("x")
    monkeypatch.setattr(recombine, "read", lambda *_, **__: pytest.fail("it was computed first"))
    assert "is not a saved result" in refused("audit", "t.csv", *AB, "--out", "mine")


# --- splits


def split(*words: str) -> Any:
    return run("split", "t.csv", *AB, *words)


def test_a_folder_of_sides_that_a_split_did_not_write_is_never_replaced(folder) -> None:
    for side in ("train", "test"):
        (folder / "parts" / f"split={side}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [1]}), folder / "parts" / f"split={side}" / "mine.parquet")
    assert "did not write there" in refused("split", "t.csv", *AB, "--out", "parts", "--force")
    shutil.rmtree("parts")
    assert split("--out", "parts").exit_code == 0
    assert split("--out", "parts", "--force", "--column", "side").exit_code == 0
    assert split("--out", "parts", "--force", "--column", "my side").exit_code == 0
    assert split("--out", "parts", "--force", "--column", 'a="b"/c').exit_code == 0
    assert split("--out", "parts", "--force").exit_code == 0
    (folder / "parts" / "split=train" / "thesis.tex").write_text("x")
    assert "did not write there" in refused("split", "t.csv", *AB, "--out", "parts", "--force")
    (folder / "parts" / "split=train" / "thesis.tex").unlink()
    (folder / "parts" / "split=mine").mkdir()
    assert "did not write there" in refused("split", "t.csv", *AB, "--out", "parts", "--force")


def test_the_manifest_of_another_table_stays(folder) -> None:
    assert split("--out", "held.csv").exit_code == 0
    assert "is the manifest of 'held.csv'" in refused("split", "t.csv", *AB, "--out", "held.parquet", "--force")
    (folder / "held.csv").unlink()
    assert split("--out", "held.parquet", "--force").exit_code == 0
    (folder / "mine.split.json").write_text('{"my": "notes"}')
    assert "not the manifest of a split" in refused("split", "t.csv", *AB, "--out", "mine.csv", "--force")


@pytest.mark.parametrize(
    "name",
    ["x" * 300 + ".csv", pytest.param("a/" * 3000 + "b.csv", marks=pytest.mark.slow), "x" * 300, "x" * 252 + ".pq"],
)
def test_a_place_that_cannot_be_is_told(folder, name) -> None:
    """The last one is short enough for the table, and too long for its manifest."""
    assert "cannot write" in refused("split", "t.csv", *AB, "--out", name)
    assert "cannot write" in refused("split", "t.csv", *AB, "--out", name, "--force")
    assert [path.name for path in folder.iterdir()] == ["t.csv"]


def test_a_split_is_not_written_to_the_current_folder(folder, monkeypatch) -> None:
    (folder / "parts").mkdir()
    monkeypatch.chdir(folder / "parts")
    assert "is the current folder" in refused("split", "../t.csv", *AB, "--out", "../parts", "--force")


def test_rows_of_an_engine_may_be_written_to_any_name(folder) -> None:
    """They are fetched to a file that lies aside, which no output can be mistaken for."""
    import ibis  # noqa: PLC0415

    table = ibis.duckdb.connect().read_csv("t.csv")
    splitter = recombine.HoldOutCombinations(["a", "b"])
    made = recombine.split(table, by=splitter, out="fetched.parquet")
    assert "split" in pq.read_schema("fetched.parquet").names
    assert made.rows == pq.read_metadata("fetched.parquet").num_rows


def test_a_path_through_a_folder_that_is_not_there_means_the_place_it_ends_at(folder) -> None:
    assert run("audit", "t.csv", *AB, "--out", "lost/../saved").exit_code == 0
    assert saved_kind(folder / "saved") == "audit"
    assert "already exists" in refused("audit", "t.csv", *AB, "--out", "lost/../saved", "--report", "page.html")
    assert "is the table that is to be split" in refused("split", "t.csv", *AB, "--out", "lost/../t.csv", "--force")
    assert not (folder / "lost").exists()


def test_a_page_is_not_written_into_a_folder_that_is_not_there(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["demo"]).exit_code == 0
    done = runner.invoke(app, ["audit", "products.csv", "-f", "material,garment", "-r", "no where/x.html"])
    assert isinstance(done.exception, OutputError)
    assert "there is no folder 'no where'" in str(done.exception)
    assert "mkdir -p 'no where'" in str(done.exception)
    assert not Path("no where").exists()


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_demo_is_an_output_like_any_other(folder, force) -> None:
    Path("store/runs").mkdir(parents=True)
    Path("store", overwrite_checks.STORE_FILE).write_text(json.dumps({"kind": overwrite_checks.STORE_KIND}))
    Path("store/runs/weights").write_text("trained for a week")
    assert "lies in the run store" in refused("demo", "store/runs/weights", *force)
    assert "lies in the run store" in refused("demo", "store/runs/made.csv", *force)
    assert "there is no folder 'lost'" in refused("demo", "lost/made.csv", *force)
    assert "already exists and is a folder" in refused("demo", "store", *force)
    assert not Path("lost").exists()


def test_the_demo_replaces_a_file_when_told_to(folder) -> None:
    assert "name another file, or say --force" in refused("demo", "t.csv")
    assert run("demo", "t.csv", "--force").exit_code == 0
    assert Path("t.csv").read_text().startswith("id,material,garment,label")


@pytest.mark.parametrize("out", ["saved.csv", "saved.json", "deep/saved.parquet", "page.html", "saved.csv.gz"])
@pytest.mark.parametrize("verb", ["audit", "predict --target y", "plan", "evaluate --target y --prediction said"])
def test_a_folder_is_not_made_under_the_name_of_a_file(folder, verb, out) -> None:
    name, *rest = verb.split()
    said = refused(name, "t.csv", *AB, *rest, "--out", out)
    assert "a result is saved as a folder" in said
    assert f"--out {out.partition('.')[0]};" in said


def test_a_dot_alone_makes_no_file(folder) -> None:
    assert run("audit", "t.csv", *AB, "--out", "of.2026").exit_code == 0


def test_a_list_of_impossible_pairs_that_is_empty_says_so(folder) -> None:
    done = run("audit", "t.csv", *AB, "--impossible-out", "pairs.csv")
    assert "'pairs.csv' holds its heading and no pair" in done.stderr
    assert Path("pairs.csv").read_text() == "a,b\n"
    assert run("audit", "t.csv", *AB, "--impossible", "pairs.csv").exit_code == 0
    zeros = [(v, m, d) for v in range(30) for m in "nao" for d in "nlr" if (m == "n") == (d == "n")]
    Path("z.csv").write_text("\n".join(["v,m,d", *(f"{v},{m},{d}" for v, m, d in zeros)]))
    done = run("audit", "z.csv", "-f", "v,m,d", "--impossible-out", "four.csv")
    assert done.stderr == ""
    assert len(Path("four.csv").read_text().splitlines()) == 5
