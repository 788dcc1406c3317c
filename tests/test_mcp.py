"""`recombine mcp`: an assistant's questions, asked by the protocol's own client, and what it must not reach."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine.cli.mcp import TOOLS, Tools, Workplace, short

ASK = {"table": "products.csv", "factors": ["material", "garment"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Workplace:
    folder = tmp_path_factory.mktemp("served")
    for name in ("data", "data/deep", "out", "elsewhere"):
        (folder / name).mkdir()
    assert CliRunner().invoke(app, ["demo", str(folder / "data" / "products.csv")]).exit_code == 0
    (folder / "data" / "deep" / "fäctörs \u202e.csv").write_text("a,b\nx,y\n")
    (folder / "data" / "deep" / os.fsdecode(b"\xff.csv")).write_text("a,b\nx,y\n")
    (folder / "elsewhere" / "secret.csv").write_text("password\nsesame\n")
    (folder / "data" / "link.csv").symlink_to(folder / "elsewhere" / "secret.csv")
    (folder / "data" / "products.duckdb").write_bytes(b"")
    return Workplace(roots=[folder / "data"], out=folder / "out", seconds=60)


def asked(place: Workplace, *questions: tuple[str, dict]) -> list[tuple[bool, str]]:
    """What a client of the protocol is answered, over standard input and output."""
    from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415

    words = ["-m", "recombine", "mcp", str(place.roots[0]), "--out", str(place.out), "--time-limit", "60"]

    async def ask() -> list[tuple[bool, str]]:
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=words))) as client:
            assert {one.name for one in (await client.list_tools()).tools} == set(TOOLS)
            answers = [await client.call_tool(name, given) for name, given in questions]
            return [(one.is_error, one.content[0].text) for one in answers]

    return asyncio.run(ask())


@pytest.mark.process
def test_a_client_over_stdio(place) -> None:
    answers = asked(
        place,
        ("tables", {}),
        ("audit", ASK | {"target": "label", "page": "audit.html"}),
        ("split", ASK | {"out": "held.parquet"}),
        ("lint", {"table": "held.parquet", "factors": ASK["factors"]}),
        ("audit", ASK | {"page": "audit.html"}),
        ("audit", {"table": "../elsewhere/secret.csv", "factors": ["password"]}),
        ("audit", ASK | {"factors": ["material", "colour"]}),
        ("audit", ASK | {"factors": []}),
        ("columns", {"table": "long" * 100 + ".csv"}),
        ("audit", ASK | {"sets": ["genes"]}),
    )
    wrong = [error for error, _ in answers]
    said = [text for _, text in answers]
    assert wrong == [False] * 4 + [True] * 6
    assert [Path(one).name for one in json.loads(said[0])["tables"]] == ["products.csv", "fäctörs \u202e.csv", "?.csv"]
    assert list(json.loads(said[1]))[:3] == ["verdict", "because", "grade"]
    assert (place.out / "audit.html").read_text().startswith("<!doctype html>")
    assert json.loads(said[1])["written"] == str(place.out / "audit.html")
    assert json.loads(said[2])["written"] == str(place.out / "held.parquet")
    assert json.loads(said[3])["grade"] == "sound"
    assert "nothing is replaced" in said[4]
    assert "none of the folders" in said[5]
    assert "no column 'colour'" in said[6]
    assert "which look like some" in said[7]
    assert "none of the folders" in said[8]
    assert "--set genes=condition:+ (words that begin with -- are options" in said[9]
    assert "sesame" not in "".join(said)


HOSTILE = [
    *[
        "../elsewhere/secret.csv",
        "link.csv",
        "/etc/passwd",
        "deep/../../elsewhere/secret.csv",
        "*.csv",
        "data/**/*.csv",
    ],
    *[
        "postgresql://me@localhost/shop",
        "file:///etc/passwd",
        "s3://bucket/table.parquet",
        "products.csv\0",
        "{a,b}.csv",
    ],
    *["products.duckdb", "deep", "", ".", "~/.ssh/id_rsa", "-h", "--factors=a", "products.csv::secret", "\ud800.csv"],
]


@pytest.mark.parametrize("named", HOSTILE)
def test_nothing_outside_the_folders_is_read(place, named) -> None:
    with pytest.raises(SettingError):
        place.table(named)
    with pytest.raises(SettingError):
        place.folder(named)


@given(st.text(st.sampled_from("./\\~ab*-\0:\u202e"), max_size=12))
def test_whatever_is_named_lies_below(place, named) -> None:
    for look, suffix in ((place.table, ""), (lambda one: place.new_file(one, ".html"), ".html")):
        try:
            path = Path(look(named + suffix))
        except SettingError:
            continue
        assert any(path.resolve().is_relative_to(one) for one in (*place.roots, place.out))


@pytest.mark.parametrize(
    "named",
    ["../page.html", "/tmp/page.html", ".page.html", "deep/page.html", "page.txt", "p*.html", "a\nb.html", "a" * 300],
)
def test_nothing_is_written_elsewhere(place, named) -> None:
    with pytest.raises(SettingError, match="plain name"):
        place.new_file(named, ".html")


def test_tables_and_results_are_listed_apart_and_what_is_left_out_is_said(tmp_path) -> None:
    for folder, many in (("one", 300), ("two", 1)):
        (tmp_path / folder).mkdir()
        for number in range(many):
            (tmp_path / folder / f"{number}.csv").write_text("a\n")
    recombine.plan({"a": ["x", "y"], "b": ["u", "v"]}, factors=["a", "b"]).save(tmp_path / "two" / "plan")
    listed = Workplace(roots=[tmp_path / "one", tmp_path / "two"]).listed()
    assert listed["saved results"] == [str(tmp_path / "two" / "plan")]
    assert listed["tables"][-2:] == [f"… and more below {tmp_path / 'one'}", str(tmp_path / "two" / "0.csv")]
    assert len(listed["tables"]) == 242


def test_without_an_output_folder_nothing_is_written(place) -> None:
    with pytest.raises(SettingError, match="without an output folder"):
        Workplace(roots=place.roots).new_file("page.html", ".html")


@pytest.mark.parametrize("question", [{"target": "/etc/passwd"}, {"target": "../numbers.npy"}])
def test_a_column_is_no_path(place, question) -> None:
    with pytest.raises(SettingError, match="plain name of a column"):
        Tools(place).audit(**ASK, **question)


def test_a_table_that_is_too_large_is_refused(place) -> None:
    with pytest.raises(SettingError, match="larger than"):
        Workplace(roots=place.roots, largest=10).table("products.csv")


@pytest.mark.process
def test_what_takes_too_long_is_ended(place, monkeypatch) -> None:
    monkeypatch.setattr("recombine.cli.mcp._GRACE", 0.0)
    with pytest.raises(SettingError, match="took more than"):
        Workplace(roots=place.roots, seconds=0.01).run("audit", str(place.roots[0] / "products.csv"))


@given(
    st.recursive(st.integers() | st.text(), lambda one: st.lists(one, max_size=40) | st.dictionaries(st.text(), one))
)
def test_answers_are_short(value) -> None:
    def longest(one) -> int:
        parts = list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else []
        return max([len(parts) if isinstance(one, list) else 0, *map(longest, parts)])

    assert longest(short(value)) <= 13
