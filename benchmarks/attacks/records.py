"""Saved results and manifests, tampered with: they load as they were, or are refused in words."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import atexit
import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attacks.case import Case, told
from attacks.tampering import ESCAPES, edited, seal_of, sealed, snapshot, spoilt, write_json

KINDS = ("audit", "plan", "prediction", "evaluation", "lint", "split")
_TABLE: dict[str, list[Any]] = {
    "material": ["wool", "wool", "silk", "silk", "denim", "denim", "wool", "denim"],
    "garment": ["coat", "hat", "hat", "dress", "dress", "coat", "dress", "hat"],
    "label": ["warm", "warm", "light", "light", "light", "warm", "warm", "light"],
    "said": ["warm", "light", "light", "light", "warm", "warm", "light", "light"],
    "split": ["train", "train", "train", "train", "train", "train", "test", "test"],
}
_FACTORS = ["material", "garment"]


@dataclass(frozen=True)
class Originals:
    """One saved result of every kind, and a split table with its manifest."""

    folder: Path
    results: dict[str, Any]


@cache
def originals() -> Originals:
    """Made once in a worker's life."""
    import recombine

    folder = Path(tempfile.mkdtemp(prefix="siege-originals-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    table = {name: values[:6] for name, values in _TABLE.items()}
    support = recombine.read(table, factors=_FACTORS, target="label")
    splitter = recombine.HoldOutCombinations(_FACTORS, test_size=0.3)
    split = recombine.split({n: _TABLE[n] for n in _FACTORS}, by=splitter, out=folder / "held.csv")
    results = {
        "audit": recombine.audit(support),
        "plan": recombine.plan(support),
        "prediction": recombine.predict(support, backtest=True),
        "evaluation": recombine.evaluate(
            _TABLE,
            factors=_FACTORS,
            target="label",
            prediction="said",
            split="split",
            intervals=recombine.IntervalSettings(draws=200),
        ),
        "lint": recombine.lint(_TABLE, factors=_FACTORS, target="label"),
        "split": split,
    }
    for kind, result in results.items():
        result.save(folder / kind)
    return Originals(folder, results)


def attack(case: Case) -> None:
    """One edit of one result, or of a manifest."""
    if case.number % 4 == 3:
        return _manifest(case)
    kind = KINDS[case.number % len(KINDS)]
    made = originals()
    saved = case.folder / "place" / kind
    shutil.copytree(made.folder / kind, saved)
    outside = case.folder / "place" / "outside"
    outside.mkdir()
    said, must_refuse, honest = _tamper(case, saved, outside)
    before = snapshot(case.folder, but=(saved,))
    loaded = _load(case, kind, saved, said)
    case.expect(snapshot(case.folder, but=(saved,)) == before, f"{kind}, {said}: loading wrote outside the folder")
    if loaded is None:
        return None
    case.expect(not must_refuse, f"{kind}, {said}: a table outside the folder was read")
    case.expect(honest or _same(loaded, made.results[kind]), f"{kind}, {said}: loads as something else, unnoticed")
    return None


def _same(loaded: Any, original: Any) -> bool:
    """Equal; what cannot even be compared is not."""
    try:
        return bool(loaded == original)
    except Exception:  # noqa: BLE001 - it was loaded with something in it that it cannot hold
        return False


def _tamper(case: Case, saved: Path, outside: Path) -> tuple[str, bool, bool]:
    """What was done, whether it must be refused, and whether what it says now bears a checksum that fits."""
    path = saved / "record.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    seal = seal_of(content)
    how = case.rng.choice(
        ("edit", "edit", "edit", "edit", "forge", "forge", "spoil", "spoil", "escape", "escape", "link")
    )
    if how == "spoil":
        return spoilt(case.rng.choice(sorted(saved.iterdir())), case.rng), False, False
    if how == "link":
        return _linked(case, saved, outside), False, False
    if how == "escape":
        name = _outside_name(case, saved, outside, content)
        write_json(path, sealed(content, seal))
        return f"a table called {case.tidy(name)!r}", True, True
    content, said = edited(content, case.rng)
    # A changed content is honest if its checksum was made anew; without a checksum there is nothing to forge.
    forged = how == "forge" and seal is not None
    write_json(path, sealed(content, seal) if forged else content)
    return f"{said}{', checksum made anew' if forged else ''}", False, forged


def _outside_name(case: Case, saved: Path, outside: Path, content: dict[str, Any]) -> str:
    """One more table, which lies beside the folder: with the right checksum, so that only its name tells."""
    table = case.rng.choice(sorted((originals().folder / "audit").glob("*.parquet")))
    shutil.copy(table, outside / "canary.parquet")
    (saved / "sub").mkdir()
    name = case.rng.choice(ESCAPES).format("canary", absolute=outside)
    content["tables"][name] = hashlib.sha256(table.read_bytes()).hexdigest()
    return name


def _linked(case: Case, saved: Path, outside: Path) -> str:
    """A file that is a link to another elsewhere: the same bytes, or others."""
    file = case.rng.choice(sorted(saved.iterdir()))
    shutil.move(file, outside / file.name)
    file.symlink_to(outside / file.name)
    if case.chance(0.5):
        return f"{file.name} is a link, {spoilt(outside / file.name, case.rng)}"
    return f"{file.name} is a link"


def _load(case: Case, kind: str, saved: Path, said: str) -> Any:
    """The result, or nothing where it was refused; whatever else is raised is a fault."""
    import recombine

    try:
        return type(originals().results[kind]).load(saved)
    except recombine.RecombineError:
        return None
    except Exception as error:  # noqa: BLE001 - a traceback is what we look for
        case.expect(False, f"{kind}, {said}: {told(error)}")
        return None


def _manifest(case: Case) -> None:
    """A manifest beside its table, read again and held against it."""
    from recombine.base.errors import RecombineError
    from recombine.verbs.split import manifest

    place, outside = case.folder / "place", case.folder / "outside"
    place.mkdir(), outside.mkdir()
    note = place / "held.split.json"
    for name in ("held.csv", "held.split.json"):
        shutil.copy(originals().folder / name, place / name)
    content, first = json.loads(note.read_text(encoding="utf-8")), manifest.read(note)
    seal, must_refuse, honest = seal_of(content), False, False
    how = case.rng.choice(("edit", "edit", "edit", "forge", "spoil", "escape"))
    if how == "spoil":
        said, honest = spoilt(note, case.rng), seal is None
    elif how == "escape":
        shutil.copy(place / "held.csv", outside / "held.csv")
        content["file"] = case.rng.choice(ESCAPES).format("held.csv", absolute=outside)
        said, must_refuse = f"its table is {case.tidy(content['file'])!r}", True
        write_json(note, sealed(content, seal))
    else:
        changed, said = edited(content, case.rng)
        honest = changed == content or how == "forge" or seal is None
        write_json(note, sealed(changed, seal) if how == "forge" else changed)
    before = snapshot(case.folder)
    try:
        read = manifest.read(note)
        manifest.difference(read)
        if not read.folds:
            manifest.lint_again(read)
    except RecombineError:
        pass
    except Exception as error:  # noqa: BLE001 - a traceback is what we look for
        case.expect(False, f"manifest, {said}: {told(error)}")
    else:
        case.expect(not must_refuse, f"manifest, {said}: a table outside the folder was read")
        case.expect(honest or must_refuse or read == first, f"manifest, {said}: changed unnoticed")
    case.expect(snapshot(case.folder) == before, f"manifest, {said}: reading wrote a file")
