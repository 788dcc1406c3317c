"""Pictures and arrays that were tampered with: a sentence that names the file, and no other program is started."""

import io
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import EpsImagePlugin, Image

import recombine
from recombine.base.errors import SourceError
from recombine.data.media import ENDINGS, FORMATS, MOST_PIXELS, read_npy, read_picture
from recombine_lab.tasks import TableTask
from tests.properties import examples

POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"


def encoded(kind: str = "PNG", size: tuple[int, int] = (4, 4)) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", size, (1, 2, 3)).save(held, kind)
    return held.getvalue()


def lying(width: int, height: int) -> bytes:
    """A PNG whose first bytes claim another size; their checksum is right."""
    whole = encoded()
    head = b"IHDR" + struct.pack(">II", width, height) + whole[24:29]
    return whole[:12] + head + struct.pack(">I", zlib.crc32(head)) + whole[33:]


def real(side: int) -> bytes:
    """A PNG of one bit a pixel that is as large as it says, in little more than its header."""
    row = b"\0" * (1 + -(-side // 8))
    packed = zlib.compressobj(9)
    data = b"".join(packed.compress(row) for _ in range(side)) + packed.flush()

    def chunk(kind: bytes, held: bytes) -> bytes:
        return struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return encoded()[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


PICTURES: dict[str, tuple[bytes, str]] = {
    "PostScript": (POSTSCRIPT, "reads none of PNG, JPEG"),
    "PostScript in a DOS wrapping": (struct.pack("<IIIIIIIH", 0xC6D3D0C5, 32, 90, 0, 0, 0, 0, 0) + POSTSCRIPT, "none"),
    "text": (b"no picture", "reads none of"),
    "empty": (b"", "reads none of"),
    "cut": (encoded(size=(64, 64))[:-30], "cannot read the picture"),
    "broken inside": (encoded()[:45] + b"\xff" * 20 + encoded()[65:], "cannot read the picture"),
    "lying, 50,000 a side": (lying(50_000, 50_000), "too large"),
    "lying, just above the limit": (lying(MOST_PIXELS // 64 + 1, 64), "too large"),
    "lying, 2^31 a side": (lying(2**31 - 1, 2**31 - 1), "too large"),
    "really large": (real(9_000), "too large"),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is handed to Ghostscript."""
    calls: list[Any] = []
    monkeypatch.setattr(
        EpsImagePlugin, "Ghostscript", lambda *given, **more: calls.append(given) or Image.new("L", (9, 9))
    )
    return calls


def predicted(folder: Path, inputs: str) -> object:
    table = {
        "a": [*"xxyy"] * 4,
        "b": [*"uvuv"] * 4,
        "y": [0.0, 1.0, 1.0, None] * 4,
        "file": [str(folder / "p.png")] * 16,
    }
    return recombine.predict(table, factors=["a", "b"], target="y", examples=recombine.Examples(inputs=inputs))


def fitted(folder: Path, inputs: str) -> object:
    (folder / "rows.csv").write_text("a,b,y,file\n" + "".join(f"{a},{b},1.5,p.png\n" for a in "xy" for b in "uv"))
    task = TableTask(source=str(folder / "rows.csv"), inputs=inputs, factors=("a", "b"), target="y")
    return task.tensors([[0, 0]], seed=0)


WAYS = [predicted, fitted]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_that_is_none_is_refused_with_its_name(
    tmp_path: Path, started: list[Any], way: Callable[[Path, str], object], kind: str
) -> None:
    content, said = PICTURES[kind]
    (tmp_path / "p.png").write_bytes(content)
    with pytest.raises(SourceError, match=r"p\.png") as refused:
        way(tmp_path, "file")
    assert said in str(refused.value)
    assert started == []


def test_the_formats_are_opened_whatever_the_name_says(tmp_path: Path) -> None:
    for kind in FORMATS:
        (tmp_path / "p.png").write_bytes(encoded(kind))
        assert read_picture(tmp_path / "p.png", name="p.png").size == (4, 4)
        assert read_picture(encoded(kind), name="p.png").size == (4, 4)
    assert set(ENDINGS.values()) == set(FORMATS)


@examples(200)
@given(kind=st.sampled_from(FORMATS), where=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_picture_is_decoded_or_refused_in_words(kind: str, where: int, byte: int, cut: bool) -> None:
    content = bytearray(encoded(kind))
    content[where % len(content)] = byte
    with suppress(SourceError):
        assert read_picture(bytes(content[: where % len(content)] if cut else content), name="of row 3").size


def npy(shape: str, numbers: int = 12) -> bytes:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + b"\0" * 8 * numbers


ARRAYS = {
    "negative": npy("(-12, 3)"),
    "two negative": npy("(-4, -3)"),
    "broken": npy("(4, "),
    "of words": npy("('a', 'b')"),
    "of fractions": npy("(4.0, 3)"),
    "no tuple": npy("7"),
    "empty": npy("()"),
    "no rows": npy("(0, 3)", 0),
    "no columns": npy("(4, 0)", 0),
    "larger than the file": npy("(4, 300)"),
    "larger than any file": npy("(4, 1152921504606846976)"),
    "more than any number": npy(f"(4, {10**30})"),
    "nested": npy("(" * 90 + ")"),
    "no header": b"\x93NUMPY",
    "nothing": b"",
    "an archive": b"PK\x03\x04" + b"\0" * 40,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_that_is_none_is_refused_with_its_name(
    tmp_path: Path, way: Callable[[Path, str], object], kind: str
) -> None:
    (tmp_path / "rows.npy").write_bytes(ARRAYS[kind])
    with pytest.raises(SourceError, match=r"rows\.npy"):
        way(tmp_path, str(tmp_path / "rows.npy"))


def test_an_archive_and_a_pickle_are_no_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([{}, {}]), allow_pickle=True)
    np.save(tmp_path / "c.npy", np.zeros((2, 3)))
    for name in ("a.npy", "b.npy", "none.npy", "."):
        with pytest.raises(SourceError, match="cannot read"):
            read_npy(tmp_path / name)
    assert read_npy(tmp_path / "c.npy").shape == (2, 3)
