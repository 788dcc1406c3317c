"""Inputs that would take all memory or time: an answer, or words, within seconds and within a few gigabytes."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attacks.case import Case, needs
from attacks.children import Order, forked
from attacks.command import CODES

_MOST = 3 * 2**30
_SECONDS = 60.0
"""On an idle machine 20 are enough; two busy cores are given thrice as much."""


@dataclass(frozen=True)
class Input:
    """What is written into a folder, what is asked of it, and what must be installed for that."""

    name: str
    write: Callable[[Path], None]
    words: str
    needs: tuple[str, ...] = ()
    seconds: float = _SECONDS


def _small(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b,y,n,split\nv,v,1,1.5,train\nw,v,2,2.5,train\nv,w,3,3.5,train\nw,w,4,4.5,test\n")


def _wide(factors: int, rows: int, values: int) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        rng = random.Random(0)
        names = [f"f{k}" for k in range(factors)]
        lines = [",".join([*(f"v{rng.randrange(values)}" for _ in names), str(rng.random())]) for _ in range(rows)]
        (folder / "t.csv").write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")

    return write


def _islands(folder: Path) -> None:
    lines = [f"a{k},b{k}" for k in range(300_000)]
    (folder / "t.csv").write_text("\n".join(["a,b", *lines]) + "\n")


def _sweep(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "s.yaml").write_text(text)

    return write


_GRID = """
tasks: {name: addition, values: 3}
splits: {name: hold_out_combinations, test_size: 0.3}
models: {name: mlp, hidden: [4]}
recipes: {steps: 2}
store: runs
"""
_BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]\n" for k in range(1, 60)) + "tasks: *a59\n"
_TWELVE = ",".join(f"f{k}" for k in range(12))
_TRAIN = ("torch", "yaml", "pydantic")

INPUTS = (
    # these two are not refused: they are real work, which took 16 GB and had no end
    Input("12 factors to predict", _wide(12, 5_000, 5), f"predict t.csv -f {_TWELVE} -t y", seconds=300.0),
    Input("12 factors to audit", _wide(12, 5_000, 5), f"audit t.csv -f {_TWELVE} -t y"),
    Input("10,000 bins", _small, "audit t.csv -f a,n --bins n=10000"),
    Input("a billion bins", _small, "audit t.csv -f a,n --bins n=1000000000"),
    Input("a million quantiles", _small, "audit t.csv -f a,n --bins n=quantiles:1000000"),
    Input("300,000 islands to plan", _islands, "plan t.csv -f a,b", seconds=150.0),
    Input("a billion seeds", _sweep(_GRID + "seeds: 1000000000\n"), "sweep s.yaml --dry-run", _TRAIN),
    Input("aliases that double", _sweep(_BOMB), "sweep s.yaml --dry-run", _TRAIN),
    Input("deep YAML", _sweep("tasks: " + "[" * 20_000), "sweep s.yaml --dry-run", _TRAIN),
    Input("deep YAML maps", _sweep("tasks: " + "{a: " * 5_000), "sweep s.yaml --dry-run", _TRAIN),
    Input("a billion draws", _small, "evaluate t.csv -f a,b -t y -p n --split split --score mse --draws 1000000000"),
    Input("a billion folds", _small, "split t.csv -f a,b --by kfold --folds 1000000000 --out o.csv"),
    Input("a billion held out", _small, "split t.csv -f a,b --hold 1000000000 --out o.csv"),
    Input("a network a billion deep", _small, "predict t.csv -f a,b -t y --salience relu:1000000000"),
    Input("a budget of 1e308", _small, "plan t.csv -f a,b --goal leverage --budget 1e308"),
    Input("a million declared values", _small, "audit t.csv -f a,b --domain d.json"),
)


def attack(case: Case) -> None:
    """One input, in a process that is watched."""
    given = INPUTS[case.number % len(INPUTS)]
    needs(*given.needs)
    place = case.folder / "place"
    place.mkdir()
    given.write(place)
    if "d.json" in given.words:
        values = ",".join(f'"x{k}"' for k in range(1_000_000))
        (place / "d.json").write_text('{"a": ["v", "w", ' + values + "]}")
    order = Order(
        words=tuple(given.words.split()),
        folder=str(place),
        most_memory=16 * 2**30,
        plant=os.environ.get("SIEGE_PLANT", ""),
    )
    (child,) = forked(order, longest=given.seconds, most_rss=_MOST)
    case.expect(child.peak <= _MOST, f"{given.name}: it took {child.peak / 2**30:.1f} GiB")
    case.expect(not child.too_long, f"{given.name}: no answer after {given.seconds:.0f} s")
    if child.signal != 9:
        last = child.err.strip().splitlines()[-1:]
        case.expect(child.code in CODES, f"{given.name}: exit code {child.code}, {last}")
        case.expect("Traceback" not in child.err, f"{given.name}: traceback, {last}")
