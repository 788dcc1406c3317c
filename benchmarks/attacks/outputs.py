"""Outputs aimed at other people's files: whatever is asked, bystanders and sources stay as they are."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attacks.case import Case
from attacks.command import command, well_ended
from attacks.records import originals
from attacks.stores import original_store
from attacks.tampering import snapshot

TABLE = "a,b,y,p,split\n" + "".join(
    f"{a},{b},{y},{p},{s}\n"
    for a, b, y, p, s in (
        ("v", "v", "no", "no", "train"), ("w", "v", "yes", "yes", "train"), ("v", "w", "yes", "no", "train"),
        ("x", "v", "no", "no", "train"), ("x", "w", "no", "yes", "train"), ("w", "w", "yes", "yes", "test"),
    )
)  # fmt: skip
NEEDS = {
    "audit": [], "plan": [], "predict": ["-t", "y"], "lint": [], "split": ["--share", "0.3"],
    "evaluate": ["-t", "y", "-p", "p", "--split", "split", "--no-causes", "--draws", "200"],
}  # fmt: skip
_SOURCES = (
    "t.csv", "t.csv", "./t.csv", "*.csv", "data/*.csv", "**/part*.csv", "data", "{folder}/t.csv",
    "file://{folder}/t.csv", "alias.csv", "../place/t.csv", "data/../t.csv", "hard.csv",
)  # fmt: skip
_PLACES = (
    ".", "..", "./", "{folder}", "saved", "saved/", "./saved", "{folder}/saved", "store", "store/runs", "{run}",
    "data", "t.csv", "thesis.tex", "page.html", "mine.html", "link", "link/new", "linked", "new", "deep/new",
    "saved/inner", "mixed", "empty", "dangling", "alias.csv", "hard.csv", "held.csv", "held", "data/part1.csv",
    "store/store.json", "saved/record.json", "new.csv", "new.parquet", "t.CSV", "held.split.json", "~", "page.htm",
    "data/..", "mine", "lost/../saved",
)  # fmt: skip
_PAGES = (
    "page.html",
    "page.html",
    "mine.html",
    "new.html",
    "link/page.html",
    "data/new.html",
    "t.csv",
    "linked.html",
    "thesis.tex",
)


@dataclass(frozen=True)
class _Scene:
    """The folder that commands run in, beside another that nobody named."""

    root: Path
    place: Path
    first: frozenset[str]  # what lay there before the first command


def attack(case: Case) -> None:
    """A few commands, one after another, and a look at every file after each."""
    scene = _scene(case)
    for _ in range(case.rng.randint(2, 4)):
        words, targets, forced = _words(case, scene)
        before = snapshot(scene.root)
        ended = command(words, folder=scene.place)
        well_ended(case, ended, words, codes=(0, 2, 3, 4))
        after = snapshot(scene.root)
        _compare(case, scene, words, targets, forced, (before, after), code=ended.code)
        if case.faults:
            return


def _scene(case: Case) -> _Scene:
    place, elsewhere = case.folder / "place", case.folder / "elsewhere"
    (place / "data").mkdir(parents=True)
    elsewhere.mkdir()
    (place / "empty").mkdir()
    texts = {
        "t.csv": TABLE, "data/part1.csv": TABLE, "data/part2.csv": TABLE, "thesis.tex": "ten years",
        "mine.html": "<p>mine</p>",
        "../elsewhere/photo.csv": TABLE, "../elsewhere/diary": "dear", "../notes": "beside",
    }  # fmt: skip
    for name, text in texts.items():
        (place / name).write_text(text)
    shutil.copytree(originals().folder / "audit", place / "saved")
    shutil.copytree(originals().folder / "prediction", place / "mixed")
    (place / "mixed" / "thesis.bib").write_text("not ours")
    shutil.copytree(original_store(), place / "store")
    for name in ("held.csv", "held.split.json"):
        shutil.copy(originals().folder / name, place / name)
    if case.chance(0.3):  # the folder itself looks like a saved result
        shutil.copy(place / "saved" / "record.json", place / "record.json")
    (place / "link").symlink_to(elsewhere)
    (place / "linked").symlink_to(place / "saved")
    (place / "alias.csv").symlink_to(place / "t.csv")
    (place / "dangling").symlink_to(elsewhere / "nothing")
    (place / "linked.html").symlink_to(elsewhere / "diary")
    os.link(place / "t.csv", place / "hard.csv")
    return _Scene(case.folder, place, frozenset(snapshot(case.folder)))


def _words(case: Case, scene: _Scene) -> tuple[list[str], list[Path], bool]:
    """A command, the places that it names, and whether it may replace what is there."""
    rng = case.rng
    if rng.random() < 0.12:
        return _run_shown(case, scene)
    verb = rng.choice(list(NEEDS))
    words = [verb, rng.choice(_SOURCES).format(folder=scene.place), "-f", "a,b", *NEEDS[verb]]
    targets = []
    if verb == "split" or rng.random() < 0.8:
        out = rng.choice(_PLACES).format(folder=scene.place, run=_run(scene))
        words, targets = [*words, "--out", out], [*targets, Path(out)]
    if verb not in ("split", "lint") and (not targets or rng.random() < 0.3):
        page = rng.choice(_PAGES)
        words, targets = [*words, "--report", page], [*targets, Path(page)]
    forced = rng.random() < 0.5 and "--force" in options_of(verb)
    words += ["--force"] if forced else []
    return words, [scene.place / target for target in targets], forced


def _run_shown(case: Case, scene: _Scene) -> tuple[list[str], list[Path], bool]:
    out = case.rng.choice(_PLACES).format(folder=scene.place, run=_run(scene))
    words = ["runs", "show", "store", _run(scene).name[:8], "--out", out]
    forced = case.chance(0.5) and "--force" in options_of("runs show")
    return words + (["--force"] if forced else []), [scene.place / out], forced


def _run(scene: _Scene) -> Path:
    return next(iter(sorted((scene.place / "store" / "runs").glob("*/*"))), scene.place / "store" / "runs" / "00" / "0")


@cache
def options_of(verb: str) -> frozenset[str]:
    """The options that a command has: `--force` is not everywhere in older versions."""
    import typer

    from recombine.cli.app import app

    found: Any = typer.main.get_command(app)
    for word in verb.split():
        found = found.get_command(typer.Context(found), word)  # commands of other packages are not listed
    return frozenset(name for parameter in found.params for name in parameter.opts)


def _compare(
    case: Case, scene: _Scene, words: list[str], targets: list[Path], forced: bool,
    states: tuple[dict[str, Any], dict[str, Any]], *, code: int,
) -> None:  # fmt: skip
    """What was there is there still, but for what was named, is ours, and was to be replaced."""
    before, after = states
    said = " ".join(words)
    changed = [name for name in before if before[name] != after.get(name)]
    for name in changed:
        again = _page_again(scene, name) and _below(scene, name, targets)
        allowed = code != 2 and (again or (forced and _replaceable(scene, name, targets)))
        if not case.expect(allowed, f"{said} (exit {code}) {_did(after, name)} {name}"):
            return
    hidden = [name for name in after if name not in before and any(p.startswith(".") for p in Path(name).parts)]
    case.expect(not hidden, f"{said} (exit {code}) left {hidden[:2]}")
    new = [name for name in after if name not in before and name not in hidden]
    stray = [name for name in new if not _below(scene, name, targets)]
    case.expect(not stray, f"{said} (exit {code}) wrote {stray[:2]}, which was not asked for")
    case.expect(code != 2 or not new, f"{said} was refused, but wrote {new[:2]}")
    if code in (0, 3, 4):
        for target in targets:
            case.expect(target.resolve().exists(), f"{said} ended with {code}, and nothing is at {target.name}")


def _page_again(scene: _Scene, name: str) -> bool:
    """A page that recombine drew may be drawn again unasked; a link to one may go, though not what it leads to."""
    return name.endswith(".html") and (name not in scene.first or name == "place/linked.html")


def _did(after: dict[str, Any], name: str) -> str:
    return "changed" if name in after else "deleted"


_BYSTANDERS = (
    "place/t.csv", "place/hard.csv", "place/alias.csv", "place/thesis.tex", "place/data", "place/store",
    "place/mixed", "place/link", "place/linked", "place/dangling", "place/record.json", "elsewhere", "notes",
    "place/mixed/thesis.bib",
)  # fmt: skip


def _replaceable(scene: _Scene, name: str, targets: list[Path]) -> bool:
    """Whether something may be replaced with --force: no bystander, and exactly what was named."""
    if any(name == other or name.startswith(f"{other}/") for other in _BYSTANDERS):
        return False
    return _below(scene, name, targets)


def _below(scene: _Scene, name: str, targets: list[Path]) -> bool:
    """Whether a file is what a command was told to write, lies in it, or is a folder on the way to it."""
    path = scene.root / name
    for target in targets:
        named = Path(os.path.normpath(target))
        real = target.resolve()
        beside = named.with_name(named.name.split(".")[0] + ".split.json")
        if path in (named, real, beside) or named in path.parents or real in path.parents or path in named.parents:
            return True
        if path in real.parents:
            return True
    return False
