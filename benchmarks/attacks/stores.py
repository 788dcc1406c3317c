"""Run stores, tampered with, and looked at by `recombine runs`; a sweep that is resumed over damaged runs."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from attacks.case import Case, needs
from attacks.children import fresh
from attacks.command import command, strict_json, well_ended
from attacks.tampering import edited, seal_of, sealed, snapshot, spoilt, write_json

_ESCAPES = (
    "../../canary", "../../../../canary", "{outside}/canary", "a/../../../canary", "sub/canary", "..", ".", "",
    "canary\x00", "../canary.parquet", "{outside}/canary.parquet", ".hidden", "a\nb", "C:\\canary", "-rf",
)  # fmt: skip
_SWEEP = """
tasks: {name: addition, values: 3}
splits: {name: hold_out_combinations, test_size: 0.3}
models: {name: mlp, hidden: [4]}
recipes: {steps: 2, samples: 9, test_samples: 9, batch: 9, evaluations: 1, together: never}
seeds: 3
store: runs
"""


def attack(case: Case) -> None:
    """One store, one edit, and every command."""
    if case.number % 100 == 19:
        return _resumed(case)
    store, keys = _store(case.folder / "place")
    outside = case.folder / "outside"
    outside.mkdir()
    (outside / "canary").write_text("not to be touched")
    (case.folder / "place" / "canary").write_text("not to be touched")
    said = _tamper(case, store, keys, outside)
    leads_out = "part" in said and any(mark in said for mark in ("/", "''", "'.'", "'..'", "\\x00", "\x00"))
    bystanders = (store, case.folder / "place" / "copied")
    before = snapshot(case.folder, but=bystanders)
    for words in _commands(case, keys):
        ended = command(words, folder=case.folder / "place")
        well_ended(case, ended, [*words, f"({said})"], codes=(0, 2))
        if words[1] == "show" and leads_out:
            case.expect(ended.code == 2, f"{' '.join(words)}: not refused, although {said}")
        if "--json" in words and ended.code == 0:
            strict_json(case, ended.out, " ".join(words))
        now = snapshot(case.folder, but=bystanders)
        stray = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        if not case.expect(not stray, f"{' '.join(words)} ({said}) wrote outside the store: {stray[:3]}"):
            return None
    return None


def _store(folder: Path) -> tuple[Path, list[str]]:
    """Three finished runs and a failure, made by hand: nothing is trained."""
    from recombine_lab.runs.store import Store

    shutil.copytree(original_store(), folder / "store")
    return folder / "store", sorted(Store.open(folder / "store").keys())


@cache
def original_store() -> Path:
    import atexit
    import tempfile

    from recombine_lab.runs.store import Store

    folder = Path(tempfile.mkdtemp(prefix="siege-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = Store.open(folder / "store")
    for seed in range(3):
        store.put(run_of(seed), files={"model.safetensors": b"weights", "notes.txt": b"words"})
    return folder / "store"


def run_of(seed: int) -> Any:
    """A finished run, made by hand."""
    from recombine.base.records import Provenance
    from recombine_lab.runs.run import Configuration, Run

    settings: dict[str, Any] = {
        "task": {"name": "addition", "values": 3},
        "split": {"name": "corner", "factors": ["left", "right"]},
        "model": {"name": "mlp", "width": 4},
        "recipe": {"steps": 9, "lr": 0.1},
        "code": "0.1.0",
    }
    curve = {"step": [0, 9], "part": ["seen", "unseen"], "n": [3, 1], "loss": [1.0, 0.5], "score": [0.0, 0.5]}
    three = {"left": ["0", "0", "1"], "right": ["0", "1", "0"]}
    said = {"part": ["seen"] * 3, **three, "error": [0.1] * 3}
    return Run(
        configuration=Configuration(**settings, seed=seed),
        status="finished",
        reason=None,
        steps=9,
        seconds=0.5,
        together=1,
        metrics={"seen.loss": 0.1, "unseen.score": 0.5 + seed / 10},
        tables={
            "curve": pa.table(curve | {"error": curve["loss"]}),
            "combinations": pa.table({"step": [9] * 3, **said, "count": [1] * 3}),
            "predictions": pa.table({**said, "target": [0.0, 1.0, 1.0], "prediction": [0.1, 0.9, 1.1]}),
            "support": pa.table({**three, "count": [2, 1, 1]}),
        },
        provenance=Provenance(source="addition", settings={}, created="2026-01-02T03:04:05+00:00"),
    )


def _tamper(case: Case, store: Path, keys: list[str], outside: Path) -> str:
    rng = case.rng
    folder = store / "runs" / keys[0][:2] / keys[0]
    how = rng.choice(("edit", "forge", "forge", "escape", "escape", "escape", "spoil", "head", "link"))
    if how == "spoil":
        return spoilt(rng.choice(sorted(folder.iterdir())), rng)
    if how == "head":
        return spoilt(store / "store.json", rng)
    if how == "link":
        target = rng.choice(sorted(folder.iterdir()))
        shutil.move(target, outside / target.name)
        target.symlink_to(outside / target.name)
        return f"{target.name} is a link"
    path = folder / "record.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    seal = seal_of(content)
    if how == "escape":
        said = _escaped(case, content, folder, outside)
    else:
        content, said = edited(content, rng)
    write_json(path, content if how == "edit" else sealed(content, seal))
    return said


def _escaped(case: Case, content: dict[str, Any], folder: Path, outside: Path) -> str:
    """A part whose name or place leads out of the run's folder, with everything else in order."""
    name = case.rng.choice(_ESCAPES).format(outside=outside)
    parts = content["store"]["parts"]
    first = case.rng.choice(sorted(parts))
    if case.chance(0.6):
        parts[name] = parts.pop(first)
        return f"the part {first} is called {case.tidy(name)!r}"
    if case.chance(0.5):
        shutil.copy(folder / parts[first]["at"], outside / "canary.parquet")
    parts[first]["at"] = name
    return f"the part {first} lies at {case.tidy(name)!r}"


def _commands(case: Case, keys: list[str]) -> list[list[str]]:
    first = keys[0][:8]
    every = [
        ["runs", "list", "store"],
        ["runs", "list", "store", "--check"],
        ["runs", "list", "store", "--json"],
        ["runs", "show", "store", first],
        ["runs", "show", "store", first, "--json"],
        ["runs", "compare", "store"],
        ["runs", "compare", "store", first, "--json"],
        ["runs", "prune", "store", "--older", "0s", "--status", "damaged"],
        ["runs", "list", "store", "--where", case.rng.choice(("seed=1", "task=x", "model.width=4", "a.b.c=1"))],
    ]
    chosen = case.rng.sample(every, k=3)
    last = [["runs", "prune", "store", "--older", "0s", "--status", "damaged", "--yes"]] if case.chance(0.3) else []
    return [*chosen, ["runs", "show", "store", first, "--out", "copied"], *last]


def _resumed(case: Case) -> None:
    """A sweep over runs of which some were damaged since: they are not there, and it may not say that they are."""
    needs("torch", "yaml", "pydantic")
    (case.folder / "s.yaml").write_text(_SWEEP)
    words = ["sweep", "s.yaml", "--workers", "0", "--json"]
    first = fresh(words, folder=case.folder, environment={})
    if not case.expect(first.code == 0, f"a small sweep ended with {first.code}: {first.err[-200:]}"):
        return
    files = sorted((case.folder / "runs" / "runs").glob("*/*/*.parquet"))
    case.expect(files, "the sweep wrote no tables")
    hurt = {path.parent for path in case.rng.sample(files, k=min(3, len(files)))}
    for path in files:
        if path.parent in hurt:
            path.write_bytes(path.read_bytes()[:-1])
    second = fresh(words, folder=case.folder, environment={})
    told = json.loads(second.out) if second.code in (0, 1) and second.out.startswith("{") else {}
    sound = second.code == 0 and not _damaged(case)
    noticed = second.code != 0 or sound or "damaged" in second.words
    case.expect(noticed, f"{len(hurt)} of 3 runs are damaged, and the sweep says {told.get('skipped')} are there")


def _damaged(case: Case) -> bool:
    from recombine_lab.runs.store import Store

    store = Store.open(case.folder / "runs")
    return any(map(store.faults, store.keys()))
