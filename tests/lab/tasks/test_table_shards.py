"""Tar files that somebody made by hand: refused in words, and nothing outside of them is opened."""

import builtins
import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from recombine.base.errors import RecombineError, SourceError
from recombine_lab.tasks import TableTask
from recombine_lab.tasks.table_rows import MOST_SHARDS, MOST_TEXT, read_shards, shard_paths
from tests.properties import examples

ROWS = [{"a": f"x{row % 3}", "b": f"y{row % 2}", "y": row % 2, "x": float(row)} for row in range(12)]


def shard(path: Path, more: Mapping[str, bytes] = {}, told: Mapping[str, Any] = {}) -> str:
    """A tar file of twelve rows; `more` files take the place of those of the same name, `told` is in every .json."""
    files = {f"{place}.json": json.dumps({**row, **told}).encode() for place, row in enumerate(ROWS)} | dict(more)
    with tarfile.open(path, "w") as file:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return str(path)


def ask(source: str, inputs: Any = ("x",)) -> TableTask:
    task = TableTask(source=source, inputs=inputs, factors=("a", "b"), target="y")
    assert task.shapes.inputs
    return task


def picture() -> bytes:
    held = io.BytesIO()
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(held, "png")
    return held.getvalue()


@pytest.mark.parametrize(
    ("member", "content", "said"),
    [
        ("0.json", b"[1, 2]", "holds a list"),
        ("0.json", b"5", "holds a number"),
        ("0.json", b"null", "holds nothing"),
        ("0.json", b'"text"', "holds a text"),
        ("0.json", b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
        ("0.json", b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
        ("0.json", b"{", "cannot read '0.json'"),
        ("0.json", b"\xff", "cannot read '0.json'"),
        ("0.json", b'{"y": 1' + b"0" * 5_000 + b"}", "cannot read '0.json'"),
        ("0.json", b" " * (MOST_TEXT + 1), "bytes"),
        ("0.json", b'{"x": 1' + b"0" * 400 + b"}", "columns of several types"),
        ("0.json", b'{"a": "\\ud800"}', "columns of several types"),
        ("0.cls", b"1" * 5_000, "cannot read '0.cls'"),
        ("0.cls", b"one", "cannot read '0.cls'"),
        ("0.txt", b"\xff\xfe", "cannot read '0.txt'"),
    ],
)
def test_a_member_that_is_no_row_is_refused_with_its_name(
    tmp_path: Path, member: str, content: bytes, said: str
) -> None:
    source = shard(tmp_path / "rows.tar", {member: content})
    with pytest.raises(RecombineError) as refused:
        ask(source)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "source",
    ["{00..00}{0.__class__}.tar", "{00..00}{name}.tar", "{00..00}{.tar", "{00..00}}.tar", "s{9..1}.tar", "{}.tar"],
)
def test_braces_beside_a_range_are_part_of_the_name(tmp_path: Path, source: str) -> None:
    with pytest.raises(SourceError, match="no file"):
        ask(str(tmp_path / source))
    shard(tmp_path / "00{name}.tar")
    assert len(ask(str(tmp_path / "{00..00}{name}.tar")).listed()) == 6


@pytest.mark.parametrize("source", ["s{0..30000000}.tar", "{0..999}{0..999}.tar", f"{{0..{'9' * 18}}}.tar"])
def test_a_range_of_too_many_files_is_refused_before_it_is_listed(tmp_path: Path, source: str) -> None:
    with pytest.raises(SourceError, match=f"at most {MOST_SHARDS:,}"):
        shard_paths(str(tmp_path / source))
    with pytest.raises(SourceError, match="no file"):
        shard_paths(str(tmp_path / f"{{0..{'9' * 5_000}}}.tar"))


@pytest.mark.parametrize(
    "named", ["/etc/passwd", "../secret.png", "secret.png", "pictures/../../secret.png", "~/x.png"]
)
def test_a_picture_is_a_member_of_the_shard_and_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for secret in (tmp_path / "secret.png", tmp_path / "work" / "secret.png"):
        secret.write_bytes(picture())
    source = shard(tmp_path / "work" / "rows.tar", told={"png": named})
    opened: list[str] = []
    known = io.open

    def watched(path: Any, *given: Any, **more: Any) -> Any:
        opened.append(str(path))
        return known(path, *given, **more)

    monkeypatch.setattr(io, "open", watched)
    monkeypatch.setattr(builtins, "open", watched)
    with pytest.raises(SourceError, match="are not read from other files"):
        ask(source, inputs="png")
    assert any("rows.tar" in path for path in opened)
    assert not [path for path in opened if "secret" in path or "passwd" in path]


def test_pictures_of_the_shard_are_read_and_names_that_climb_are_only_keys(tmp_path: Path) -> None:
    pictures = {f"{place}.png": picture() for place in range(12)}
    assert ask(shard(tmp_path / "rows.tar", pictures), inputs="png").shapes.inputs == (3, 4, 4)
    with pytest.raises(SourceError, match=r"cannot read the picture of row 0 in '.*rows\.tar'"):
        ask(shard(tmp_path / "rows.tar", dict.fromkeys(pictures, b"no picture")), inputs="png")
    climbing = {"../../../etc/passwd.json": json.dumps(ROWS[0]).encode(), "/etc/x.json": json.dumps(ROWS[1]).encode()}
    assert len(read_shards(shard_paths(shard(tmp_path / "rows.tar", climbing)))) == 14


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_a_compressed_tar_file_is_not_unpacked(tmp_path: Path, packed: Any) -> None:
    entry = tarfile.TarInfo("0.json")
    entry.size = 2**40
    (tmp_path / "rows.tar").write_bytes(packed(entry.tobuf() + bytes(2**22)))
    with pytest.raises(SourceError, match="it is compressed"):
        ask(str(tmp_path / "rows.tar"))


def test_a_member_of_holes_is_refused(tmp_path: Path) -> None:
    """GNU's sparse members take no room in the file, and all of it in memory."""
    entry = tarfile.TarInfo("0.png")
    entry.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    block[483:495] = b"\x80" + (2**40).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    (tmp_path / "rows.tar").write_bytes(bytes(block) + bytes(1024))
    with pytest.raises(SourceError, match="holes"):
        ask(str(tmp_path / "rows.tar"), inputs="png")


@examples(150)
@given(where=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_tar_file_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, where: int, byte: int, cut: bool
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "rows.tar"
    content = bytearray(Path(shard(path, {"0.txt": b"a", "1.cls": b"3"})).read_bytes())
    content[where % 4_000] = byte
    path.write_bytes(content[: where % len(content)] if cut else content)
    try:
        assert len(read_shards([path])) > 0
    except RecombineError as error:
        assert error.instead  # noqa: PT017 - either is right
