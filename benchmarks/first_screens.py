"""Seven small worlds in which one thing is planted, and the first screen that each verb shows of them.

    python benchmarks/first_screens.py                                  what every verb says first, as text
    python benchmarks/first_screens.py --pages FOLDER --screens FOLDER  the pages, photographed as a laptop and a phone
                                                                        show them (needs chromium)

What somebody who was told nothing would do after ten seconds with each is in docs/first_screens.md.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import recombine
from recombine.output.headline import headline

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

Rows = dict[str, list[Any]]
Rng = np.random.Generator
SIZES = {"laptop": (1366, 768), "phone": (390, 844)}
VERBS = ("audit", "plan", "predict", "rehearse", "lint", "split", "evaluate", "diff")


@dataclass(frozen=True)
class World:
    """A table with something planted, what it is asked for, and the verbs whose pages are photographed."""

    name: str
    planted: str
    rows: Rows
    factors: tuple[str, ...]
    target: str
    pages: tuple[str, ...]
    split: str | None = "split"
    score: str | None = None

    def ask(self, verb: str) -> recombine.Result:
        """What a verb says of it."""
        return _ASKED[verb](self)


def _columns(values: Mapping[str, Sequence[str]], rng: Rng, size: int) -> tuple[Rows, dict[str, np.ndarray]]:
    codes = {name: rng.integers(0, len(found), size) for name, found in values.items()}
    return {name: [values[name][code] for code in column] for name, column in codes.items()}, codes


def _sides(unseen: np.ndarray, rng: Rng) -> list[str]:
    """Unseen combinations are tested, and half of the other rows."""
    return np.where(~unseen & (rng.random(len(unseen)) < 0.5), "train", "test").tolist()


def product_with_shortcut() -> World:
    """Photographs of products, nearly all of one kind in one place; the model looks at the place."""
    rng, size = np.random.default_rng(1), 2_400
    goods = ("boot", "coat", "lamp", "chair", "scarf", "table")
    places = ("studio", "shop", "living room", "kitchen")
    columns, codes = _columns({"product": goods, "light": ("day", "evening", "flash")}, rng, size)
    home = np.isin(codes["product"], (2, 3, 5)).astype(int)
    place = 2 * np.where(rng.random(size) < 0.95, home, 1 - home) + rng.integers(0, 2, size)
    said = np.where(rng.random(size) < 0.8, place // 2, home)
    columns["place"] = [places[code] for code in place]
    columns |= {"kind": np.where(home, "home", "fashion").tolist(), "said": np.where(said, "home", "fashion").tolist()}
    columns["split"] = _sides((codes["product"] + 2 * codes["light"] + place) % 6 == 0, rng)
    pages = ("evaluate", "audit")
    return World("product with a shortcut", "the place decides", columns, ("product", "place", "light"), "kind", pages)


def fairness() -> World:
    """A classifier of skin images that is 20 points worse for one group, and was never tested on two."""
    rng, size = np.random.default_rng(2), 6_000
    values = {
        "sex": ("female", "male"),
        "skin type": ("I", "II", "III", "IV", "V", "VI"),
        "device": ("clinic", "phone"),
    }
    columns, codes = _columns(values, rng, size)
    bad = (codes["sex"] == 0) & (codes["skin type"] == 5)
    truth = rng.random(size) < 0.3
    right = rng.random(size) < 0.95 - 0.2 * bad
    kept = ~((codes["skin type"] == 5) & (codes["device"] == 0))
    columns |= {
        "diagnosis": np.where(truth, "ill", "well").tolist(),
        "said": np.where(truth == right, "ill", "well").tolist(),
    }
    rows = {name: [one for one, keep in zip(column, kept, strict=True) if keep] for name, column in columns.items()}
    return World("fairness", "female VI", rows, tuple(values), "diagnosis", ("evaluate",), split=None)


def robots() -> World:
    """Grippers that were tried on some objects only: two labs that share no gripper, object or surface."""
    rng = np.random.default_rng(3)
    names = {
        "gripper": ("suction", "parallel", "soft", "three-finger", "magnet", "needle"),
        "object": ("cup", "box", "bottle", "can", "cloth", "tool", "bag", "rope"),
        "surface": ("table", "bin", "shelf", "belt"),
    }
    sizes = [len(values) for values in names.values()]
    effects = [rng.normal(0, 3, size) for size in sizes]
    rows: Rows = {name: [] for name in (*names, "seconds", "said")}
    kept = [
        one
        for one in product(*map(range, sizes))
        if len({2 * k < size for k, size in zip(one, sizes, strict=True)}) < 2
    ]
    for one in (one for one in kept if rng.random() < 0.7):
        level = 12 + sum(effect[k] for effect, k in zip(effects, one, strict=True))
        labels = [values[k] for values, k in zip(names.values(), one, strict=True)]
        for _ in range(6):
            answers = (round(level + rng.normal(0, 1), 2), round(level + rng.normal(0, 1.5), 2))
            for name, value in zip(rows, (*labels, *answers), strict=True):
                rows[name].append(value)
    rows["split"] = _sides(np.arange(len(rows["said"])) // 6 % 5 == 0, rng)
    return World("robots", "two islands", rows, tuple(names), "seconds", ("audit", "plan"))


def drugs() -> World:
    """Pairs of drugs on cell lines: effects add up, a third of the combinations was never tried."""
    rng = np.random.default_rng(4)
    names = {
        "drug": tuple(f"D{k}" for k in range(8)),
        "partner": tuple(f"P{k}" for k in range(6)),
        "cells": ("A549", "HeLa", "MCF7"),
    }
    every = list(product(*map(range, (8, 6, 3))))
    effects = [rng.normal(0, 1, size) for size in (8, 6, 3)]
    rows: Rows = {name: [] for name in (*names, "viability", "said", "split")}
    for one in every:
        if rng.random() < 0.3:
            continue
        level = sum(effect[k] for effect, k in zip(effects, one, strict=True))
        side = "test" if rng.random() < 0.25 else "train"
        for _ in range(3):
            answers = (round(level + rng.normal(0, 0.3), 3), round(level + rng.normal(0, 0.4), 3), side)
            labels = (values[k] for values, k in zip(names.values(), one, strict=True))
            for name, value in zip(rows, (*labels, *answers), strict=True):
                rows[name].append(value)
    return World("drugs", "effects add up", rows, tuple(names), "viability", ("predict", "rehearse"), score="mse")


def qa_matrix() -> World:
    """A test matrix of a program: every configuration once, no answers but passed, and pairs that never met."""
    rng = np.random.default_rng(5)
    names = {
        "system": ("Linux", "macOS", "Windows"),
        "browser": ("Chrome", "Edge", "Firefox", "Safari"),
        "database": ("MySQL", "Postgres", "SQLite"),
        "locale": ("de", "en", "ja", "tr"),
    }
    every = list(product(*names.values()))
    kept = [every[place] for place in np.sort(rng.permutation(len(every))[:26])]
    rows: Rows = {name: [one[k] for one in kept] for k, name in enumerate(names)}
    fails = [one[3] == "tr" and one[2] == "MySQL" for one in kept]
    rows |= {"passed": ["no" if fail else "yes" for fail in fails], "said": ["yes"] * len(kept)}
    rows["split"] = ["test" if place % 4 == 0 else "train" for place in range(len(kept))]
    return World("QA matrix", "pairs never tried", rows, tuple(names), "passed", ("plan", "lint"))


def _exceptions(name: str, planted: str, *, own: bool) -> World:
    rng = np.random.default_rng(6)
    every = list(product(range(6), range(6)))
    kept = [every[place] for place in np.sort(rng.permutation(36)[:28])]
    fixed = {one: int(rng.integers(2)) for one in kept}
    rows: Rows = {"left": [], "right": [], "answer": [], "said": [], "split": []}
    for place, (a, b) in enumerate(kept):
        for _ in range(12):
            truth = fixed[a, b] if own and rng.random() < 0.92 else int(rng.integers(2))
            said = fixed[a, b] if own and rng.random() < 0.5 else int(rng.integers(2))
            side = "test" if place % 4 == 0 or rng.random() < 0.3 else "train"
            for column, value in zip(rows, (f"l{a}", f"r{b}", f"c{truth}", f"c{said}", side), strict=True):
                rows[column].append(value)
    return World(name, planted, rows, ("left", "right"), "answer", ("audit",))


def noise() -> World:
    """Answers that depend on nothing."""
    return _exceptions("noise", "nothing", own=False)


def xor() -> World:
    """Each combination has an answer of its own, which nothing else tells."""
    return _exceptions("XOR", "an answer of its own", own=True)


WORLDS: tuple[Callable[[], World], ...] = (product_with_shortcut, fairness, robots, drugs, qa_matrix, noise, xor)


def _training(world: World) -> Rows:
    """The rows that the model was trained on."""
    kept = [side == "train" for side in _sided(world)["split"]]
    return {name: [one for one, keep in zip(column, kept, strict=True) if keep] for name, column in world.rows.items()}


def _audit(world: World) -> recombine.Result:
    return recombine.audit(_training(world), factors=world.factors, target=world.target)


def _plan(world: World) -> recombine.Result:
    goal: Any = "pairs" if world.name == "QA matrix" else "determined"
    return recombine.plan(_training(world), factors=world.factors, target=world.target, goal=goal)


def _predict(world: World) -> recombine.Result:
    return recombine.predict(_training(world), factors=world.factors, target=world.target)


def _rehearse(world: World) -> recombine.Result:
    return recombine.rehearse(_training(world), "additive", factors=world.factors, target=world.target)


def _sided(world: World) -> Rows:
    """With sides where the world has none: every third row is tested."""
    sides = ["test" if place % 3 == 0 else "train" for place in range(len(world.rows[world.target]))]
    return world.rows if world.split else world.rows | {"split": sides}


def _lint(world: World) -> recombine.Result:
    return recombine.lint(_sided(world), factors=world.factors, split="split")


def _split(world: World) -> recombine.Result:
    with tempfile.TemporaryDirectory() as folder:
        by = recombine.HoldOutCombinations(world.factors, test_size=0.2)
        kept = {name: column for name, column in world.rows.items() if name != "split"}
        return recombine.split(kept, by=by, out=f"{folder}/table.parquet")


def _evaluate(world: World, **settings: Any) -> recombine.Result:
    asked: dict[str, Any] = {"prediction": "said", "split": world.split} | settings
    return recombine.evaluate(world.rows, factors=world.factors, target=world.target, **asked)


def _diff(world: World) -> recombine.Result:
    """The model, and one that always gives the first answer."""
    other = world.rows | {"other": [world.rows[world.target][0]] * len(world.rows[world.target])}
    old = recombine.evaluate(
        other, factors=world.factors, target=world.target, prediction="other", split=world.split, causes=False
    )
    return recombine.diff(old, _evaluate(world))


_ASKED: Mapping[str, Callable[[World], recombine.Result]] = {
    "audit": _audit,
    "plan": _plan,
    "predict": _predict,
    "rehearse": _rehearse,
    "lint": _lint,
    "split": _split,
    "evaluate": _evaluate,
    "diff": _diff,
}


def told(world: World, verbs: Sequence[str] = VERBS) -> Iterator[tuple[str, recombine.Result | None, str]]:
    """Each verb with its result, or the words of its refusal."""
    for verb in verbs:
        try:
            yield verb, world.ask(verb), ""
        except recombine.RecombineError as error:
            yield verb, None, str(error).splitlines()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what every verb says first; or draw and photograph the pages."""
    parser = argparse.ArgumentParser(description="First screens of seven planted worlds.")
    parser.add_argument("--pages", type=Path, help="write the pages to this folder")
    parser.add_argument("--screens", type=Path, help="photograph them into this folder")
    parser.add_argument("--only", default="", help="worlds whose name holds this")
    asked = parser.parse_args(arguments)
    for make in WORLDS:
        world = make()
        if asked.only not in world.name:
            continue
        if asked.pages is None:
            _print(world)
        else:
            _photograph(world, asked.pages, asked.screens)
    return 0


def _print(world: World) -> None:
    print(f"\n## {world.name} ({world.planted})")
    for verb, found, refused in told(world):
        if found is None:
            print(f"{verb:9} refused: {refused}")
            continue
        first, number = found.first_screen, headline(found.kind, found.record().data)
        print(f"{verb:9} {number.number if number else ''} | {first.sentence}")
        print(f"{'':9} {found.grade}: {first.because}")
        print(f"{'':9} Next: {first.next_step}")


def _photograph(world: World, pages: Path, screens: Path | None) -> None:
    from photograph_pages import photographed  # noqa: PLC0415 - it needs Pillow

    pages.mkdir(parents=True, exist_ok=True)
    browser = shutil.which("chromium")
    for verb in world.pages:
        name = f"{world.name.replace(' ', '_')}_{verb}"
        page = world.ask(verb).page(pages / f"{name}.html", force=True)
        if screens is None or browser is None:
            continue
        screens.mkdir(parents=True, exist_ok=True)
        for device, size in SIZES.items():
            photographed(page, screens / f"{name}_{device}.png", browser=browser, size=size)
            print(f"{name}_{device}.png", flush=True)


if __name__ == "__main__":
    sys.exit(main())
