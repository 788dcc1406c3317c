"""A run store that somebody sent, whose records name code: nothing of it is imported or called, whoever asks.

A place such as `module:function` is put under a random key of a record that is in order otherwise, checksums and all.
"""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from attacks.case import Case, answers_or_words, needs
from attacks.command import command, well_ended
from attacks.stores import run_of
from attacks.watch import watched

_FORMS = ("{0}:make", "{0}:Thing", "{0}:make.more", "os:abort", "{0}:make()", " {0}:make", "{0}.inner:make")
_KEYS = ("name", "inputs", "transform", "tokenizer", "source", "of", "hidden", "x", "learner", "base", "task", "loss")
_CODE = "from pathlib import Path\nPath({!r}).touch()\n\nclass Thing: pass\n\ndef make(*_, **__):\n    return Thing()\n"


def attack(case: Case) -> None:
    """One record, and everything that builds what a record names."""
    needs("torch", "pydantic", "safetensors")
    place = case.folder / "place"
    place.mkdir()
    (place / "rows.csv").write_text("a,b,x,y\n1,2,3,4\n1,3,2,1\n2,2,1,0\n")
    module, ran = f"canary_{case.seed}_{case.number}", case.folder / "ran"
    (place / f"{module}.py").write_text(_CODE.format(str(ran)))
    named = case.rng.choice(_FORMS).format(module)
    key, said = _sent(case.rng, place, named)
    with _on_path(place), watched() as seen:
        _look(case, place, key, said)
    case.expect(not ran.exists(), f"{said}: the module ran")
    case.expect(module not in seen.imported, f"{said}: the module was looked for")


def _sent(rng: Random, folder: Path, named: str) -> tuple[str, str]:
    """A store with one run, which names a place somewhere; the run's key, and where that is."""
    import torch
    from safetensors.torch import save

    from recombine_lab.runs.store import Store

    run = run_of(0)
    part = rng.choice(("task", "task", "split", "model", "recipe"))
    settings = _task(rng) if part == "task" else dict(getattr(run.configuration, part))
    where = _planted(settings, named, rng)
    configuration = replace(run.configuration, code="task 1, split 1, model 1, ", **{part: settings})
    sent = replace(run, configuration=configuration)
    Store.open(folder / "store").put(sent, files={"model.safetensors": save({"w": torch.zeros(1)})})
    return str(sent.key), f"{part}.{where} is {named!r}"


def _task(rng: Random) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {"name": "addition", "values": 3}
    return {"name": "from", "source": "rows.csv", "inputs": "x", "factors": ["a", "b"], "target": "y"}


def _planted(settings: dict[str, Any], named: str, rng: Random) -> str:
    key = rng.choice((*settings, *_KEYS))
    depth = rng.choice(("flat", "flat", "list", "map", "map's name"))
    settings[key] = {
        "flat": named,
        "list": [settings.get(key), [named]],
        "map": {"of": {"at": named}},
        "map's name": {"name": named},
    }[depth]
    return f"{key} ({depth})"


def _look(case: Case, place: Path, key: str, said: str) -> None:
    every = [
        ["runs", "show", "store", key[:8]],
        ["runs", "list", "store", "--check"],
        *(["probe", kind, "store", "--run", key] for kind in ("geometry", "influence", "subnetworks", "support")),
    ]
    for words in case.rng.sample(every, k=3):
        well_ended(case, command(words, folder=place), [*words, f"({said})"])
    answers_or_words(case, f"run.module(), {said}", lambda: _built(place, key))


def _built(place: Path, key: str) -> object:
    """The network of the run, as a script of the user's would ask for it."""
    from recombine_lab.runs.store import Store

    return Store.open(place / "store").get(key).module()


@contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
