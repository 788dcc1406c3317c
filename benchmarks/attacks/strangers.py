"""Files that somebody sent as inputs or logs: pictures, arrays, tar shards, samples of evaluations.

Each is read, or refused in words that name it; nothing beside it is opened, no program is started.
"""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import gzip
import io
import json
import struct
import tarfile
import zipfile
import zlib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from attacks.case import Case, answers_or_words, needs
from attacks.command import command, well_ended
from attacks.tampering import edited, spoilt_bytes
from attacks.watch import Seen, watched

_ROWS = 24
_SECRET = "secret.png"
"""A sound picture beside the folder that was sent: whoever opens it was led out."""


def attack(case: Case) -> None:
    """One file of one kind."""
    (case.folder / "sent").mkdir()
    (case.folder / _SECRET).write_bytes(picture("PNG"))
    kind = KINDS[case.number % len(KINDS)]
    with watched() as seen:
        said = kind(case, case.folder / "sent")
    _stayed_inside(case, seen, said)


def _stayed_inside(case: Case, seen: Seen, said: str) -> None:
    led_out = [path for path in seen.opened if Path(path).name == _SECRET or path in ("/etc/passwd", "/etc/hostname")]
    case.expect(not led_out, f"{said}: {led_out[:2]} was opened")
    foreign = [name for name in seen.started if any(word in name for word in ("gs", "ghostscript", "sh"))]
    case.expect(not foreign, f"{said}: {foreign[:2]} was started")


# Pictures and arrays --------------------------------------------------------------------------------------------------


def _pictures(case: Case, sent: Path) -> str:
    """A column that names files, or a folder, with one hostile picture in it."""
    needs("PIL", "sklearn")
    for number in range(_ROWS):
        (sent / f"{number:02}.png").write_bytes(picture("PNG", number))
    hostile, said = hostile_picture(case.rng)
    (sent / f"{case.rng.randrange(_ROWS):02}.png").write_bytes(hostile)
    given = case.rng.choice(("picture", "pictures"))
    _table(sent, {"picture": [f"{number:02}.png" for number in range(_ROWS)]})
    (sent / "pictures").symlink_to(".") if given == "pictures" else None
    return _asked(case, sent, given, said)


def hostile_picture(rng: Random) -> tuple[bytes, str]:
    """The bytes of a file called .png, and what they are."""
    how = rng.choice(("spoilt", "spoilt", "other", "lying", "lying", "text"))
    form = rng.choice(("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP"))
    if how == "spoilt":
        damage = rng.choice(("cut", "empty", "flip", "noise"))
        return spoilt_bytes(picture(form), damage, rng), f"{form} {damage}"
    if how == "lying":
        sides = rng.choice(((50_000, 50_000), (0, 0), (2**31 - 1, 1), (1, 2**31 - 1), (2**32 - 1, 2**32 - 1)))
        return lying_png(*sides), f"a PNG of {sides}"
    if how == "other":
        form = rng.choice(("EPS", "PDF", "ICO", "PPM", "TGA", "DDS", "PCX"))
        return picture(form), f"a {form}"
    text = rng.choice(
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run\n", b"<svg/>", b"P6 9999999 9999999 255 ")
    )
    return text, f"the text {text[:12]!r}"


@cache
def picture(form: str, shade: int = 0) -> bytes:
    """A small picture in a format of Pillow's."""
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (6, 5), (shade * 9 % 256, 40, 90)).save(stream, format=form)
    return stream.getvalue()


def lying_png(width: int, height: int) -> bytes:
    """A PNG whose header tells other sides than its data have."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")


def _arrays(case: Case, sent: Path) -> str:
    """A .npy or .safetensors with a hostile header."""
    needs("safetensors", "sklearn")
    _table(sent, {})
    numpy = case.chance(0.7)
    name = "x.npy" if numpy else "x.safetensors"
    content, said = (_hostile_npy if numpy else _hostile_safetensors)(case.rng)
    (sent / name).write_bytes(content)
    return _asked(case, sent, name, said)


_SHAPES = (
    "(-1, 3)", "(24, -3)", "()", "(0,)", "(24, 0)", "(24,", "24", "(24.0, 3)", "('x',)", "(1000000000000, 3)", "None",
    "(24, 3, 10**9)", "(2**63, 2)", "(True, 3)", "(24, 3)", "[24, 3]", "(24, 2)",
)  # fmt: skip
_KINDS = ("<f8", "|O", "<U8", "<c16", "|V8", "<M8[s]", "nonsense", "[('a', '<f8')]", "<i8", ">f8")


def _hostile_npy(rng: Random) -> tuple[bytes, str]:
    if rng.random() < 0.4:
        stream = io.BytesIO()
        np.save(stream, np.arange(72.0).reshape(_ROWS, 3) % 7)
        how = rng.choice(("cut", "empty", "flip", "noise", "deep"))
        return spoilt_bytes(stream.getvalue(), how, rng), f"a .npy {how}"
    shape, kind = rng.choice(_SHAPES), rng.choice(_KINDS[:1] * 3 + _KINDS)
    kind = kind if kind.startswith("[") else repr(kind)
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(576), f"a .npy of {kind} {shape}"


def _hostile_safetensors(rng: Random) -> tuple[bytes, str]:
    sound = {"x": {"dtype": "F32", "shape": [_ROWS, 3], "data_offsets": [0, 288]}}
    changed, said = edited(sound, rng)
    header = json.dumps(changed).encode("utf-8", "surrogatepass")
    length = rng.choice((len(header), len(header), len(header), 2**63, 0, len(header) + 9))
    return struct.pack("<Q", length) + header + bytes(288), f"a .safetensors, {said}, header of {length}"


def _table(folder: Path, more: dict[str, list[str]]) -> None:
    """A small table in which a and b add up, with further columns."""
    names = ["a", "b", "y", *more]
    lines = [
        [f"a{k % 3}", f"b{k % 2}", f"y{(k % 3 + k % 2) % 2}", *(given[k] for given in more.values())]
        for k in range(_ROWS)
    ]
    (folder / "t.csv").write_text("\n".join(",".join(line) for line in [names, *lines]) + "\n")


def _asked(case: Case, sent: Path, given: str, said: str) -> str:
    verb = case.rng.choice((["predict"], ["rehearse", "--learner", "examples", "--rounds", "1"]))
    words = [*verb, "t.csv", "-f", "a,b", "-t", "y", "--inputs", given]
    well_ended(case, command(words, folder=sent), [*words, f"({said})"])
    return said


# Tar shards -----------------------------------------------------------------------------------------------------------


def _shards(case: Case, sent: Path) -> str:
    """A shard, read as a task of the lab."""
    needs("torch", "pydantic", "PIL")
    from recombine_lab.tasks import TableTask

    source, inputs, said = _hostile_shard(case, sent)
    answers_or_words(
        case, said, lambda: len(TableTask(source=source, inputs=inputs, factors=("a", "b"), target="y").listed())
    )
    return said


_MEMBERS = (
    b"[1,2,3]", b"5", b"null", b'"x"', b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 60_000 + b"1" + b"}" * 60_000, b"{",
    b'{"a":"a0","b":"b0","y":NaN,"x":Infinity}', b'{"a":"a0","b":"b0","y":1' + b"0" * 5_000 + b',"x":1}', b"\xff\xfe",
    b'{"a":{"deep":1},"b":"b0","y":1,"x":1}', b'{"a":[],"b":"b0","y":1,"x":1}', b"", b'{"a":1,"b":"b0","y":1,"x":1}',
    b'{"a":"\\ud800","b":"b0","y":1,"x":1}', b'{"":1}',
)  # fmt: skip
_RANGES = (
    "{00..00}{0.__class__.__mro__}ok.tar", "{00..00}{name}.tar", "{00..00}{.tar", "s{9..1}.tar", "s{0..30000000}.tar",
    "s{0..}.tar", "s{a..z}.tar", "{}.tar", "s{0..1}{0..1}.tar", "s{1..3..0}.tar", "../{0..1}.tar", "s{-1..1}.tar",
)  # fmt: skip


def _hostile_shard(case: Case, sent: Path) -> tuple[str, Any, str]:
    rng = case.rng
    how = rng.choice(("member", "member", "range", "names", "links", "picture", "picture", "spoilt", "bomb"))
    rows = [
        (f"{k}.json", json.dumps({"a": f"a{k % 3}", "b": f"b{k % 2}", "y": k % 2, "x": float(k)}).encode())
        for k in range(12)
    ]
    path, inputs, source = sent / "s.tar", ("x",), str(sent / "s.tar")
    if how == "member":
        rows[rng.randrange(12)] = ("0.json", rng.choice(_MEMBERS))
    elif how == "range":
        source = str(sent / rng.choice(_RANGES))
    elif how == "names":
        rows.append(
            (rng.choice(("../../up.json", "/etc/hostname", "/x.json", "a\0b.json", "x" * 300 + ".json")), b"{}")
        )
    elif how == "picture":
        inputs = "png"
        rows = _with_pictures(case, rows)
    _write_tar(path, rows, links=how == "links")
    if how == "spoilt":
        path.write_bytes(spoilt_bytes(path.read_bytes(), rng.choice(("cut", "empty", "flip", "noise")), rng))
    if how == "bomb":
        _write_bomb(path)
    return source, inputs, f"a shard, {how}, {source.rpartition('/')[2]}"


def _with_pictures(case: Case, rows: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Pictures beside the lines, or lines that name one elsewhere."""
    if case.chance(0.5):
        elsewhere = case.rng.choice((str(case.folder / _SECRET), "../" + _SECRET, "/etc/passwd"))
        return [(name, json.dumps(json.loads(line) | {"png": elsewhere}).encode()) for name, line in rows]
    return rows + [(name.replace(".json", ".png"), hostile_picture(case.rng)[0]) for name, _ in rows]


def _write_tar(path: Path, rows: list[tuple[str, bytes]], *, links: bool) -> None:
    with tarfile.open(path, "w") as file:
        for name, content in rows:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
        for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE) if links else ()):
            member = tarfile.TarInfo(f"{90 + number}.json")
            member.type, member.linkname = kind, "/etc/passwd"
            file.addfile(member)


def _write_bomb(path: Path) -> None:
    """A gigabyte of nothing, in a megabyte."""
    member = tarfile.TarInfo("0.json")
    member.size = 1 << 30
    with gzip.open(path, "wb", 1) as file:
        file.write(member.tobuf())
        for _ in range(1 << 6):
            file.write(bytes(1 << 24))


# Logs -----------------------------------------------------------------------------------------------------------------

_SAMPLE: dict[str, Any] = {
    "doc_id": 1, "doc": {"topic": "a", "user": {"age": 2}}, "target": "a", "filter": "none",
    "filtered_resps": ["a"], "metrics": ["acc"], "acc": 1.0,
}  # fmt: skip
_STRANGE: tuple[Any, ...] = (
    2**63,
    2**64,
    -(2**70),
    [],
    [[]],
    [[], []],
    "\u2028",
    "\u0085",
    "a\rb",
    {"": 1},
    1e308,
    [{"x": 1}],
)


def _samples(log: Path) -> list[Any]:
    from recombine.data import readers
    from recombine.data.evaluation_logs import READER

    return readers.dataset_of(log, READER, None).to_pylist()


def _lm_eval(case: Case, sent: Path) -> str:
    lines, said = [json.loads(json.dumps(_SAMPLE)) for _ in range(5)], ""
    place = case.rng.randrange(5)
    if case.chance(0.5):
        lines[place], said = edited(lines[place], case.rng)
    else:
        strange, key = case.rng.choice(_STRANGE), case.rng.choice(("doc", "target", "filtered_resps", "acc", "more"))
        lines[place][key] = {"topic": strange} if key == "doc" else strange
        said = f"{key} is {strange!r}"
    loose = case.chance(0.5)
    text = "\n".join(json.dumps(line, ensure_ascii=not loose) for line in lines) + "\n"
    content = text.encode("utf-8", "surrogatepass")
    if case.chance(0.3):
        how = case.rng.choice(("cut", "empty", "flip", "noise", "deep", "bom"))
        content, said = spoilt_bytes(content, how, case.rng), f"{said}, {how}"
    (sent / "samples_x.jsonl").write_bytes(content)
    answers_or_words(case, f"samples of lm_eval, {said}", lambda: _samples(sent / "samples_x.jsonl"))
    return said


def _inspect(case: Case, sent: Path) -> str:
    needs("inspect_ai")
    content, said = edited(json.loads(_inspect_log()), case.rng)
    path = sent / "log.json"
    path.write_bytes(json.dumps(content).encode("utf-8", "surrogatepass"))
    if case.chance(0.3):
        path, said = sent / "log.eval", f"{said}, packed"
        _write_eval(path, content, case.rng)
    if case.chance(0.3):
        how = case.rng.choice(("cut", "empty", "flip", "noise", "deep"))
        path.write_bytes(spoilt_bytes(path.read_bytes(), how, case.rng))
        said = f"{said}, {how}"
    answers_or_words(case, f"a log of inspect_ai, {said}", lambda: _samples(path))
    return said


@cache
def _inspect_log() -> str:
    """A log as inspect_ai writes it: two samples, two scorers."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

    def sample(number: int) -> EvalSample:
        scores = {"match": Score(value="C", answer="a"), "both": Score(value={"p": 1, "q": 0.5})}
        return EvalSample(
            id=number,
            epoch=1,
            input="?",
            target="a",
            messages=[],
            output=ModelOutput(),
            metadata={"topic": "t", "n": {"m": 1}},
            scores=scores,
        )

    spec = EvalSpec(
        created="2026-01-02T03:04:05+00:00", task="t", dataset=EvalDataset(), model="m", config=EvalConfig()
    )
    return EvalLog(eval=spec, samples=[sample(1), sample(2)]).model_dump_json()


def _write_eval(path: Path, content: Any, rng: Random) -> None:
    """A packed log: with its parts, without some, with names that climb."""
    parts = content if isinstance(content, dict) else {}
    with zipfile.ZipFile(path, "w") as file:
        for name in ("header.json", "summaries.json", "_journal/start.json"):
            if rng.random() < 0.8:
                file.writestr(name, json.dumps({key: value for key, value in parts.items() if key != "samples"}))
        for number, sample in enumerate(parts.get("samples") or [] if isinstance(parts.get("samples"), list) else []):
            name = rng.choice((f"samples/{number + 1}_epoch_1.json", "../../up.json", "/samples/x.json"))
            file.writestr(name, json.dumps(sample))


KINDS = (_pictures, _lm_eval, _arrays, _shards, _inspect)
