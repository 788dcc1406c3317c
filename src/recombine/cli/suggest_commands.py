"""`recombine` alone: what to do next, told from the names of the files in this folder.

Nothing is computed and no table is opened: a folder is listed, and of small text files the beginning is read.

`recombine demo`: a small made-up table, so that the first minute needs no data.
"""

import csv
import io
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding

from recombine.base.errors import SettingError
from recombine.base.files import place_of, write_text
from recombine.base.overwrite_checks import KINDS, RESULT_FILE, STORE_FILE, check_file
from recombine.base.words import amount
from recombine.cli import options
from recombine.cli.terminal import console_for, next_commands, say
from recombine.data.locations import TABLES, suffix_of

_LISTED = 2_000
_OFFERED = 6
_OF_A_KIND = 3
_BEGINNING = 16_384
_PROBES = ("support", "influence", "subnetworks", "geometry")
_SWEEP = re.compile(rb"^(tasks|models|recipes|splits)\s*:", re.MULTILINE)
_MANIFEST = ".split.json"
_WRITTEN = re.compile(r'^  "factors": (\[[^\]]*\]),\s*"column": (".*"),\s*"file": (".*"),?$', re.MULTILINE)
_COMPARED = ("audit", "prediction", "evaluation", "lint", "plan", "rehearsal")
_SAID = re.compile(r'^  "(kind|grade)": "([a-z ]+)"', re.MULTILINE)

_NOTHING = "Will a model handle combinations of factors that it has never seen together? Four lines to begin with:"

Line = tuple[str, str]

START: list[Line] = [
    ("recombine demo", "a small made-up table, to try things on"),
    ("recombine audit products.csv", "what its columns look like, and the command that audits it"),
    (
        "recombine audit products.csv --factors material,garment --target label --report audit.html",
        "which combinations are missing, and which can be worked out from the rest",
    ),
    ("recombine --help", "all commands"),
]
"""Where there is nothing to go by."""


def tell(folder: Path) -> None:
    """Say what can be done with what lies in a folder."""
    found = lines(folder)
    console = console_for()
    console.print()
    said = "What can be asked of the files in this folder:" if found else _NOTHING
    console.print(Padding(said, (0, 2)), width=min(console.width, 100))
    next_commands(console, [*found[:_OFFERED], ("recombine --help", "all commands")] if found else START)


def lines(folder: Path) -> list[Line]:
    """Commands with their reasons: tables first, the newest before the others, then results, stores and sweeps."""
    entries = _entries(folder)
    found: list[Line] = []
    for offers in (_tables, _splits, _results):
        found += _few(entries, offers)
    found += _two_of_a_kind(entries)
    for offers in (_stores, _sweeps, _probes):
        found += _few(entries, offers)
    return found[:_OFFERED]


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder, the newest first; of a folder of thousands some."""
    found = []
    try:
        with os.scandir(folder) as listed:
            for entry in listed:
                if not entry.name.startswith(".") and _can_be_typed(entry.name):
                    found.append((-_changed(entry), entry.name))
                if len(found) == _LISTED:
                    break
    except OSError:  # a folder that may not be listed holds nothing for us
        return []
    return [Path(name) if folder == Path() else folder / name for _, name in sorted(found)]


def _can_be_typed(name: str) -> bool:
    """Bytes that are no UTF-8 cannot be pasted, nor read by the engine."""
    return name == name.encode("utf-8", "ignore").decode("utf-8")


def _changed(entry: "os.DirEntry[str]") -> float:
    try:
        return entry.stat().st_mtime
    except OSError:  # a link to nowhere
        return 0.0


def _few(entries: list[Path], offers: Callable[[Path], Line | None]) -> list[Line]:
    found = []
    for path in entries:
        line = offers(path)
        if line is not None:
            found.append(line)
    if len(found) > _OF_A_KIND:
        last, why = found[_OF_A_KIND - 1]
        more = f"; {amount(len(found) - _OF_A_KIND, 'other')} of the kind here"
        found = [*found[: _OF_A_KIND - 1], (last, why + more)]
    return found


def _tables(path: Path) -> Line | None:
    if suffix_of(path.name) not in TABLES or not _holds_something(path):
        return None
    return _command("audit", path), "a table: what its columns look like, and the command that audits it"


def _splits(path: Path) -> Line | None:
    """A split's manifest names its table and its factors."""
    said = path.name.endswith(_MANIFEST) and _WRITTEN.search(_beginning(path).decode("utf-8", "replace"))
    if not said:
        return None
    try:
        factors, column, name = (json.loads(part) for part in said.groups())
        table = path.with_name(name)
    except ValueError:  # somebody else's file of that name
        return None
    if not _holds_something(table):
        return None
    words = options.given("--factors", options.listed(factors))
    words += [] if column == "split" else options.given("--split", column)
    return _command("lint", table, *words), "a split: does it hold out combinations?"


def _holds_something(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _two_of_a_kind(entries: list[Path]) -> list[Line]:
    """The two newest results of one verb, the older first."""
    newest: dict[str, Path] = {}
    for path in entries:
        kind = _said(path).get("kind")
        if kind in _COMPARED and kind in newest:
            return [(_command("diff", path, newest[kind]), f"two {kind}s: what changed, and is it more than chance?")]
        if kind is not None:
            newest.setdefault(kind, path)
    return []


def _said(path: Path) -> dict[str, str]:
    return dict(_SAID.findall(_beginning(path / RESULT_FILE).decode("utf-8", "replace")))


def _results(path: Path) -> Line | None:
    said = _said(path)
    if said.get("kind") not in KINDS:
        return None
    grade = f", graded {said['grade']}" if "grade" in said else ""
    article = "an" if said["kind"][0] in "ae" else "a"
    code = f"import recombine; recombine.load({str(path)!r}).page({f'{path}.html'!r})"
    return options.pasted(["python", "-c", code]), f"{article} {said['kind']}{grade}: draw it as a page"


def _stores(path: Path) -> Line | None:
    if not (path / STORE_FILE).is_file():
        return None
    return _command("runs", "list", path), "a run store: what was trained, and how it ended"


def _sweeps(path: Path) -> Line | None:
    if path.suffix not in (".yaml", ".yml") or len(set(_SWEEP.findall(_beginning(path)))) < 2:
        return None
    return _command("sweep", path, "--dry-run"), "a sweep: what would be trained, and how long it takes"


def _probes(path: Path) -> Line | None:
    if path.suffix != ".py" or not re.search(r"(^|[_-])(probe|spec)", path.stem):
        return None
    kind = next((name for name in _PROBES if name in path.stem), "geometry")
    return _command("probe", kind, path), "a probe's file, by its name: look inside a model"


def _beginning(path: Path) -> bytes:
    """Nothing of what is no plain file: opening a pipe would wait for somebody to write into it."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError:
        return b""


def _command(*words: str | Path) -> str:
    """A name that begins with a dash would be read as an option."""
    safe = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words]
    return options.pasted(["recombine", *safe])


_MATERIALS = ("cotton", "denim", "fleece", "leather", "linen", "silk", "suede", "wool")
_GARMENTS = ("boots", "coat", "dress", "gloves", "hat", "jacket", "scarf", "shirt", "skirt", "trousers")
_WARM = {"fleece", "leather", "suede", "wool"}
_ROWS = 400


def demo(
    file: Annotated[Path, typer.Argument(help="Where to write the table.")] = Path("products.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    seed: Annotated[int, typer.Option(help="Another seed, another table.")] = 0,
) -> None:
    """Write a small made-up table to try things on."""
    check_file(place_of(file), force=force)
    if file.suffix.lower() != ".csv":
        raise SettingError(f"{str(file)!r}", why="a CSV is written, and is known by its name", instead=f"{file}.csv")
    write_text(file, _table(seed), force=force)
    say(f"{file} now holds {_ROWS} made-up products: their id, material, garment and label.\n")
    say(f"next   recombine audit {file} --factors material,garment --target label --report audit.html")
    say(f"       recombine predict {file} --factors material,garment --target label")


def _table(seed: int) -> str:
    """Each material is made into some garments only: suede into gloves and nothing else, gloves of suede and nothing
    else.
    """
    draw = random.Random(seed)  # noqa: S311 - made-up data
    others = [garment for garment in _GARMENTS if garment != "gloves"]
    made = {material: draw.sample(others, k=draw.randint(2, 5)) for material in _MATERIALS} | {"suede": ["gloves"]}
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["id", "material", "garment", "label"])
    for row in range(1, _ROWS + 1):
        material = draw.choices(_MATERIALS, weights=range(len(_MATERIALS), 0, -1))[0]
        garment = draw.choice(made[material])
        warm = (material in _WARM) + (garment in ("coat", "gloves", "hat", "scarf")) + draw.random() * 0.5
        writer.writerow([row, material, garment, "warm" if warm > 1 else "light"])
    return lines.getvalue()
