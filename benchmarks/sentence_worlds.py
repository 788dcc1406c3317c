"""Does the first sentence name what matters? Worlds in which one thing is planted, and what the sentence makes of it.

Run by `calibration.py --sentences`. Noise, or an answer of its own in each combination: the two look alike to every
rule, and are told apart by rows that repeat. For `evaluate`, a background that the answers follow, and among 30
combinations and 4,000 rows a group that is 20 points below its parts; beside them worlds without one, in which all that
is named is named falsely: additive groups, combinations that differ in difficulty, numbers whose errors have heavy
tails. For `audit`, a pair of values that cannot occur, though 400 rows of it would be expected; beside it worlds in
which every pair can: independent rows, rows that came in bursts, combinations that nobody collected. Sizes, rows and
the noise of a row are drawn for each world.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import recombine
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.evaluate.swap_test import SwapTest, swap_test

Rng = np.random.Generator
_GRIDS = ((6, 6), (8, 5), (4, 4, 3), (5, 3, 3), (3, 3, 3, 2))


@dataclass(frozen=True)
class Planted:
    """What is planted, how a table of it is drawn, and which words tell it."""

    name: str
    draw: Callable[[Rng], dict[str, list[Any]]]
    told: Callable[[dict[str, list[Any]]], str]
    words: str
    other: str = ""


def _drawn(rng: Rng) -> tuple[list[tuple[int, ...]], int]:
    """Three quarters of a grid, and how many rows each has."""
    grid = list(product(*map(range, _GRIDS[rng.integers(len(_GRIDS))])))
    return [grid[place] for place in np.sort(rng.permutation(len(grid))[: len(grid) * 3 // 4])], int(
        rng.integers(3, 16)
    )


def _table(seen: list[tuple[int, ...]], rows: int, answers: Any) -> dict[str, list[Any]]:
    every = [combination for combination in seen for _ in range(rows)]
    return {f"f{k}": [f"v{one[k]}" for one in every] for k in range(len(seen[0]))} | {"answer": list(answers)}


def numbers(rng: Rng, *, own: bool) -> dict[str, list[Any]]:
    """A number of its own for each combination, or none, and as much noise in each row."""
    seen, rows = _drawn(rng)
    middle = np.repeat(rng.normal(size=len(seen)) * own, rows)
    return _table(seen, rows, middle + rng.uniform(0.2, 0.7) * rng.normal(size=len(middle)))


def labels(rng: Rng, *, own: bool) -> dict[str, list[Any]]:
    """A class of its own for each combination, or none, that some rows do not have."""
    seen, rows = _drawn(rng)
    classes = int(rng.integers(2, 5))
    fixed = np.repeat(rng.integers(0, classes, len(seen)), rows)
    other = rng.random(len(fixed)) < (rng.uniform(0.0, 0.35) if own else 1.0)
    return _table(seen, rows, [f"c{one}" for one in np.where(other, rng.integers(0, classes, len(fixed)), fixed)])


def _asked(verb: Callable[..., Any]) -> Callable[[dict[str, list[Any]]], str]:
    def told(table: dict[str, list[Any]]) -> str:
        factors = [name for name in table if name != "answer"]
        return str(verb(table, factors=factors, target="answer").verdict)

    return told


def _rows(codes: Any, **columns: Any) -> dict[str, list[Any]]:
    found = {f"f{k}": [f"f{k}v{one}" for one in column] for k, column in enumerate(codes.T)}
    return found | {name: [*column] for name, column in columns.items()}


_GROUPED = ((5, 6), (3, 10), (2, 3, 5), (5, 2, 3))


def _grouped(rng: Rng, *, sizes: tuple[int, ...] = (), even: float = 30.0) -> tuple[Any, Any, Any]:
    """Every combination and its rows, which values have more or less of; and how hard its values are together.

    The more `even` they are, the less: at 2 some values have a tenth of the rows of others.
    """
    sizes = sizes or _GROUPED[rng.integers(len(_GROUPED))]
    codes = np.array(list(product(*map(range, sizes))))
    share = np.prod([rng.dirichlet([even] * size)[codes[:, k]] for k, size in enumerate(sizes)], axis=0)
    hard = np.sum([rng.uniform(0, 0.06, size)[codes[:, k]] for k, size in enumerate(sizes)], axis=0)
    return codes, np.maximum(rng.multinomial(4_000, share / share.sum()), 2), hard


def groups(
    rng: Rng, *, drop: float = 0.0, differ: float = 0.0, sizes: tuple[int, ...] = (), even: float = 30.0
) -> dict[str, list[Any]]:
    """Right and wrong answers: a pair of values or a combination `drop` below its parts, or all of them different.

    The column `planted` names the values of the group.
    """
    codes, count, hard = _grouped(rng, sizes=sizes, even=even)
    width = codes.shape[1]
    held, at = np.sort(rng.permutation(width)[: rng.choice([2, width])]), codes[rng.integers(len(codes))]
    bad = (codes[:, held] == at[held]).all(axis=1)
    middle = (0.95 if drop else 0.9) - hard - drop * bad + differ * rng.normal(size=len(codes))
    right = np.repeat(np.clip(middle, 0.02, 0.99), count) > rng.random(count.sum())
    planted = ", ".join(f"f{k}v{at[k]}" for k in held)
    answers = {"answer": ["yes"] * len(right), "said": np.where(right, "yes", "no").tolist()}
    return _rows(np.repeat(codes, count, axis=0), **answers, planted=[planted] * len(right))


def announced(rng: Rng) -> dict[str, list[Any]]:
    """A combination as far below its parts as, by the sentence about a table without one, is found in 80 %."""
    table = groups(rng, sizes=(5, 6))
    found = recombine.evaluate(table, factors=["f0", "f1"], target="answer", prediction="said", causes=False)
    told = re.search(r"A drop of ([\d.]+) points", found.deviations.sentence)
    return groups(rng, drop=float(told[1]) / 100 if told else 1.0, sizes=(5, 6))


def heavy_tails(rng: Rng) -> dict[str, list[Any]]:
    """Numbers whose errors are larger for some values, with the tails of Student's t of 3 degrees of freedom."""
    codes, count, hard = _grouped(rng)
    level = np.repeat(0.5 + 5 * hard, count)
    return _rows(
        np.repeat(codes, count, axis=0),
        answer=(truth := rng.normal(size=len(level))).tolist(),
        said=(truth + level * rng.standard_t(3, len(level))).tolist(),
        planted=[""] * len(level),
    )


def shortcut(rng: Rng, *, follow: float | None = None) -> dict[str, list[Any]]:
    """A background (f0) that gives away 95 % of the label, and a model that follows it in 30 to 90 % of the rows.

    The label is told by the object (f2), which is a factor in half of the worlds. `follow` 0: an honest model.
    """
    classes, size = int(rng.integers(2, 4)), int(rng.integers(2_000, 5_000))
    object_ = rng.integers(0, classes * rng.integers(2, 4), size)
    truth = object_ % classes
    shown = np.where(rng.random(size) < 0.95, truth, (truth + rng.integers(1, classes, size)) % classes)
    background, light = shown + classes * rng.integers(0, rng.integers(1, 4), size), rng.integers(0, 5, size)
    follows = rng.random(size) < (rng.uniform(0.3, 0.9) if follow is None else follow)
    said = np.where(follows, shown, truth)
    said = np.where(rng.random(size) < 0.03, rng.integers(0, classes, size), said)
    codes = np.stack([background, light, object_][: 2 + int(rng.integers(2))], axis=1)
    side = np.where(rng.random(size) < 0.5, "train", "test").tolist()
    return _rows(codes, answer=[f"c{one}" for one in truth], said=[f"c{one}" for one in said], split=side)


@dataclass(frozen=True)
class _Photographs:
    """A world for swaps: things (f0), whose class is asked, in places (f1), with so many rows of each pair.

    The answers are wrong by `noise`, in each pair by more or less if pairs `differ`; `trained` tables have a side of
    training rows in which the place gives away the class.
    """

    classes: int
    codes: Any  # (pairs, 2)
    rows: int
    noise: float
    differ: float
    trained: bool

    @classmethod
    def drawn(cls, rng: Rng) -> "_Photographs":
        """Any such world."""
        classes = int(rng.integers(2, 4))
        sizes = (classes * int(rng.integers(2, 4)), int(rng.integers(3, 8)))
        codes = np.array(list(product(*map(range, sizes))))
        how = (int(rng.integers(5, 30)), float(rng.uniform(0.02, 0.3)), float(rng.choice([0.0, 0.1])))
        return cls(classes, codes, *how, bool(rng.random() < 0.5))

    def table(self, rng: Rng, follow: float) -> dict[str, list[Any]]:
        """Answers of a model that says what the place points to in a share of the rows."""
        codes = np.repeat(self.codes, self.rows, axis=0)
        truth, points = codes[:, 0] % self.classes, codes[:, 1] % self.classes
        hard = np.repeat(self.noise + self.differ * rng.uniform(-1, 1, len(self.codes)), self.rows)
        said = np.where(rng.random(len(codes)) < hard, rng.integers(0, self.classes, len(codes)), truth)
        said = np.where(rng.random(len(codes)) < follow, points, said)
        given_away = np.flatnonzero((points == truth) | (rng.random(len(codes)) < 0.3))
        every = np.arange(len(codes))
        every, side = (
            (np.concatenate([every, given_away]), ["test"] * len(every) + ["train"] * len(given_away))
            if self.trained
            else (every, ["test"] * len(every))
        )
        answers = {"answer": [f"c{one}" for one in truth[every]], "said": [f"c{one}" for one in said[every]]}
        return _rows(codes[every], **answers) | ({"split": side} if self.trained else {})


def _swapped(table: dict[str, list[Any]]) -> SwapTest:
    split = "split" if "split" in table else None
    asked = {"factors": ["f0", "f1"], "target": "answer", "prediction": "said", "split": split}
    return swap_test(recombine.evaluate(table, **asked, causes=False).outcomes)


def followed(rng: Rng, *, planted: bool) -> dict[str, list[Any]]:
    """A place that is followed as far as, by the sentence about a model that does not, is found in 80 %; or is not."""
    world = _Photographs.drawn(rng)
    honest = world.table(rng, 0.0)
    if not planted:
        return honest
    found_from = next(one.found_from for one in _swapped(honest).factors if one.factor == "f1")
    return world.table(rng, 1.0 if found_from is None else found_from)


def _evaluated(table: dict[str, list[Any]]) -> str:
    """The first sentence, with what is planted put in brackets where it is said."""
    factors = [name for name in table if name[0] == "f"]
    known = {name: column for name, column in table.items() if name != "planted"}
    found = recombine.evaluate(
        known,
        factors=factors,
        target="answer",
        prediction="said",
        split="split" if "split" in table else None,
        causes="split" in table,
    )
    first = found.verdict.partition(". ")[0]
    planted = table.get("planted", [""])[0]
    return first.replace(f"group {planted}:", "group (the planted one):") if planted else first


def pairs_apart(rng: Rng, *, kind: str) -> dict[str, list[Any]]:
    """Rows of independent factors; `kind` says why some combinations, or the pair that is `planted`, have none."""
    sizes = tuple(rng.integers(2, 6, rng.integers(3, 5)).tolist())
    margins = [rng.permutation(np.arange(1.0, size + 1) ** -rng.uniform(0, 1.2)) for size in sizes]
    margins = [one / one.sum() for one in margins]
    cells = np.array(list(product(*map(range, sizes))))
    share, rows = np.prod([one[cells[:, k]] for k, one in enumerate(margins)], axis=0), int(rng.integers(200, 8_000))
    planted = ""
    if kind == "impossible":
        at = np.array([int(one.argmax()) for one in margins[:2]])
        rows = max(rows, int(400 / (margins[0][at[0]] * margins[1][at[1]])))
        planted = f"f0=f0v{at[0]} with f1=f1v{at[1]}"
        share = share * ~(cells[:, :2] == at).all(axis=1)
    elif kind == "not collected":
        share = share * (rng.random(len(cells)) < rng.uniform(0.5, 0.95))
    if not share.any():
        share = np.ones(len(cells))
    count = rng.multinomial(rows, share / share.sum())
    if kind == "bursts":
        chosen = rng.random(len(cells)) < rng.uniform(0.3, 0.9)
        count = chosen * (rng.lognormal(np.log(rows / len(cells)), 1.2, len(cells)).astype(int) + 1)
    if not count.any():
        count[0] = 1
    return _rows(np.repeat(cells, count, axis=0), planted=[planted] * int(count.sum()))


def _suspected(table: dict[str, list[Any]]) -> str:
    """Whether the planted pair is suspected, and whether another one is."""
    columns = {name: column for name, column in table.items() if name[0] == "f" and len(set(column)) > 1}
    if len(columns) < 2:
        return ""
    zeros, _ = suspect_zeros(recombine.read(columns, factors=list(columns)))
    names, planted = set() if zeros is None else {str(pair) for pair in zeros.pairs}, table["planted"][0]
    return f"{_BAD if planted in names else ''} {'another' if names - {planted} else ''}"


NOISE, FIXED = "Nothing to learn was found", "has its own fixed answer"
FOLLOWS, BELOW, _BAD = "answers follow f0:", "what its parts give", "(the planted one)"
PLANTED = tuple(
    Planted(f"{verb.__name__}: {'own answers' if own else 'noise'}, {draw.__name__}", drawn, _asked(verb), *words)
    for verb in (recombine.audit, recombine.predict)
    for draw in (numbers, labels)
    for own, drawn, words in (
        (False, lambda rng, draw=draw: draw(rng, own=False), (NOISE, FIXED)),
        (True, lambda rng, draw=draw: draw(rng, own=True), (FIXED, NOISE)),
    )
)
EVALUATED = (
    Planted("shortcut worth 30 to 90 points", shortcut, _evaluated, FOLLOWS, "sound"),
    Planted("no shortcut", partial(shortcut, follow=0.0), _evaluated, "", "answers follow"),
    Planted("group 20 below its parts", partial(groups, drop=0.2), _evaluated, _BAD, "never"),
    Planted("group 10 below its parts", partial(groups, drop=0.1), _evaluated, _BAD, "never"),
    Planted("group as far below as found in 80 %", announced, _evaluated, _BAD, "never"),
    Planted("group 20 below, 2 x 15", partial(groups, drop=0.2, sizes=(2, 15)), _evaluated, _BAD, "never"),
    Planted("group 20 below, 2 x 4", partial(groups, drop=0.2, sizes=(2, 4)), _evaluated, _BAD, "never"),
    Planted("group 20 below, uneven rows", partial(groups, drop=0.2, even=2.0), _evaluated, _BAD, "never"),
    Planted("no group: additive", groups, _evaluated, "", BELOW),
    Planted("no group: additive, uneven rows", partial(groups, even=2.0), _evaluated, "", BELOW),
    Planted("no group: additive, 2 x 4", partial(groups, sizes=(2, 4)), _evaluated, "", BELOW),
    Planted("no group: combinations differ", partial(groups, differ=0.03), _evaluated, "", BELOW),
    Planted("no group: heavy tails", heavy_tails, _evaluated, "", BELOW),
)
"""Worlds for `evaluate`: the words that tell what is planted, and those of a false alarm."""
SWAPPED = tuple(
    Planted(name, partial(followed, planted=planted), lambda table: _swapped(table).verdict, words, other)
    for name, planted, words, other in (
        ("factor followed as far as found in 80 %", True, "hangs on f1", "hangs on f0"),
        ("no factor followed", False, "", "hangs on"),
    )
)
"""Worlds for `evaluate`'s swaps."""
SUSPECTED = tuple(
    Planted(name, partial(pairs_apart, kind=kind), _suspected, words, "another")
    for name, kind, words in (
        ("impossible pair, 400 rows expected", "impossible", _BAD),
        ("no impossible pair: independent rows", "independent", ""),
        ("no impossible pair: rows in bursts", "bursts", ""),
        ("no impossible pair: not all collected", "not collected", ""),
    )
)
"""Worlds for what an audit takes for impossible."""


def shares(planted: Planted, *, worlds: int, seed: int) -> dict[str, float]:
    """How often the first sentence tells what is planted, and how often the other thing, or what is not there."""
    said = []
    for number in range(seed, seed + worlds):
        rng = np.random.default_rng([number, zlib.crc32(planted.name.encode())])
        said.append(planted.told(planted.draw(rng)).partition(". ")[0])
    return {
        "told": float(np.mean([planted.words in one for one in said])),
        "the other": float(np.mean([planted.other in one for one in said])),
    }
