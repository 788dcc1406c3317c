"""Errors with a known cause: does the anatomy of an evaluation find it?

Tables are simulated, and so are models. On unseen combinations a model knows the answer half of the time. Otherwise it
follows a planted habit: the answer of a nearest seen combination, the answer that one factor alone predicts, any wrong
class, or two of these, 70 to 30. Shown: planted against found; how far the found shares are from the planted ones; how
often the 95 % intervals hold the planted share. A model can choose its habit for each row, or once for each combination
(what a network does whose answer hardly depends on the rest of the picture), which leaves less evidence.
"""

import itertools
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import measure
from recombine.data.space import Factor, Space
from recombine.data.support import LabelTarget, Support
from recombine.verbs.evaluate.error_causes import Anatomy, anatomy
from recombine.verbs.evaluate.outcomes import Outcomes, Score

KNOWS = 0.5
PLANTED = {
    "memory": {"memory": 1.0},
    "shortcut": {"shortcut": 1.0},
    "random": {"random": 1.0},
    "memory 70, shortcut 30": {"memory": 0.7, "shortcut": 0.3},
    "shortcut 70, memory 30": {"shortcut": 0.7, "memory": 0.3},
    "shortcut 70, random 30": {"shortcut": 0.7, "random": 0.3},
}
FOUND = ("memory", "shortcut", "wrong shortcut", "commonest", "neither", "unclear", "cannot tell")
SHAPES = {  # values of each factor, classes; the class is that of the first factor's value
    "2 factors, 2 classes": ((8, 8), 2),
    "2 factors, 4 classes": ((12, 8), 4),
    "3 factors, 3 classes": ((6, 5, 5), 3),
    "3 factors, 10 classes": ((10, 6, 6), 10),
    "4 factors, 4 classes": ((4, 4, 4, 4), 4),
}


@dataclass(frozen=True)
class Simulated:
    """A model's answers, and what caused each habit's errors: the share of them."""

    outcomes: Outcomes
    shares: dict[str, float]


def simulate(sizes: tuple[int, ...], classes: int, habits: dict[str, float], *, seed: int, by_row: bool) -> Simulated:
    """A training table in which the second factor goes with the class, and a model tested on what was not in it."""
    chance = np.random.default_rng(seed)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    cells = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int32)
    label = (np.arange(sizes[0]) % classes)[cells[:, 0]]
    goes_with = chance.permutation(np.arange(sizes[1]) % classes)[cells[:, 1]]
    chosen = chance.random(len(cells)) < np.where(goes_with == label, 0.9, 0.45)
    for k, size in enumerate(sizes):  # every value is seen
        for value in range(size):
            mine = np.flatnonzero(cells[:, k] == value)
            chosen[chance.choice(mine)] |= not chosen[mine].any()
    counts = np.where(goes_with == label, 12, 4) + chance.poisson(2, len(cells)).astype(float)
    seen = np.flatnonzero(chosen)
    target = LabelTarget("y", tuple(range(classes)), np.arange(len(seen)), label[seen], counts[seen])
    training = Support(space, np.asfortranarray(cells[seen]), counts[seen], target, rows=int(counts[seen].sum()))
    unseen = np.flatnonzero(~chosen)
    return _answers(training, cells[unseen], label[unseen], classes, habits, chance, by_row)


def _answers(
    training: Support, codes: Any, label: Any, classes: int, habits: dict[str, float], chance: Any, by_row: bool
) -> Simulated:
    rows, lines, caused = 20, Counter(), Counter()
    for place, (cell, true) in enumerate(zip(codes, label, strict=True)):
        kept = None
        for _ in range(rows):
            if by_row or kept is None:
                kept = _one(training, cell, int(true), classes, habits, chance)
            habit, said = kept
            lines[place, int(true), said] += 1
            if said != true:
                caused[habit] += 1
    table = np.array([(*line, count) for line, count in sorted(lines.items())], dtype=np.int64).reshape(-1, 4)
    right = np.bincount(table[:, 0], table[:, 3] * (table[:, 1] == table[:, 2]), minlength=len(codes))
    counts = np.full(len(codes), float(rows))
    outcomes = Outcomes(
        tested=Support(training.space, np.asfortranarray(codes), counts, rows=int(counts.sum())),
        training=training,
        kind="label",
        classes=tuple(range(classes)),
        combination=table[:, 0],
        truth=table[:, 1],
        said=table[:, 2],
        count=table[:, 3].astype(float),
        total=right,
        squares=right,
        prediction_total=None,
        score=Score("accuracy", "higher"),
    )
    errors = sum(caused.values())
    return Simulated(outcomes, {habit: caused[habit] / errors for habit in habits} if errors else {})


def _one(training: Support, cell: Any, true: int, classes: int, habits: dict[str, float], chance: Any) -> Any:
    """One answer and its habit. Written plainly, apart from what is tested."""
    if chance.random() < KNOWS:
        return "knows", true
    habit = chance.choice(list(habits), p=list(habits.values()))
    target = training.target
    if habit == "random":
        return habit, int(chance.choice([c for c in range(classes) if c != true]))
    if habit == "shortcut":
        mine = training.codes[:, 1] == cell[1]
        votes = np.bincount(target.label[mine], target.count[mine], minlength=classes)
        return habit, int(chance.choice(np.flatnonzero(votes == votes.max())))
    shared = (training.codes == cell).sum(axis=1)
    near = np.flatnonzero(shared == shared.max())
    weight = target.count[near]
    return habit, int(target.label[chance.choice(near, p=weight / weight.sum())])


def found_in(result: Anatomy | None) -> str:
    """The explanation that is named first, as a column of the confusion table."""
    if result is None or result.leading is None:
        return "cannot tell"
    first = result.shares[0]
    if first.habit == "shortcut":
        return "shortcut" if first.factors == ("f1",) else "wrong shortcut"
    return first.habit


def share_of(result: Anatomy, habit: str) -> tuple[float, float, float] | None:
    """What was found for a planted habit: share, low, high."""
    name = {"random": "neither", "shortcut": "shortcut: f1"}.get(habit, habit)
    for one in result.shares:
        if one.name == name and one.low is not None and one.high is not None:
            return one.share, one.low, one.high
    return None


@dataclass(frozen=True)
class Tried:
    """One simulated table: what was named first, whether it caused the most errors, and how far the shares are off."""

    shape: str
    found: str
    right: bool
    apart: tuple[float, ...]
    held: tuple[bool, ...]


def trial(planted: str, tables: int, *, by_row: bool, first: int) -> list[Tried]:
    """Many tables of every shape with one planted cause."""
    done = []
    for number, (shape, (sizes, classes)) in enumerate(SHAPES.items()):
        for table in range(tables):
            seed = 1_000 * number + first + table
            made = simulate(sizes, classes, PLANTED[planted], seed=seed, by_row=by_row)
            if made.shares:
                done.append(_tried(shape, made, anatomy(made.outcomes, seed=table)))
    return done


def _tried(shape: str, made: Simulated, result: Anatomy | None) -> Tried:
    found = found_in(result)
    most = max(made.shares, key=lambda habit: made.shares[habit])
    got = [(share, share_of(result, habit)) for habit, share in made.shares.items()] if result else []
    apart = tuple(one[0] - share for share, one in got if one)
    held = tuple(one[1] <= share <= one[2] for share, one in got if one)
    return Tried(shape, found, found == ("neither" if most == "random" else most), apart, held)


def summary(done: list[Tried]) -> dict[str, Any]:
    """The figures of a line."""
    apart, held = (np.array([x for one in done for x in getattr(one, name)]) for name in ("apart", "held"))
    named = [one for one in done if one.found != "cannot tell"]
    return {
        "tables": len(done),
        "found": Counter(one.found for one in done),
        "named_wrong": sum(not one.right for one in named),
        "off": float(np.abs(apart).mean()) if len(apart) else None,
        "bias": float(apart.mean()) if len(apart) else None,
        "held": float(held.mean()) if len(held) else None,
    }


def large(combinations: int) -> dict[str, float]:
    """How long a large table takes: 10 classes, 3 factors, every combination with two answers."""
    chance = np.random.default_rng(0)
    sizes = (100, 100, 100)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    codes = np.unique(chance.integers(0, 100, (2 * combinations, 3)), axis=0).astype(np.int32)
    mine = np.zeros(len(codes), dtype=bool)
    mine[chance.permutation(len(codes))[: len(codes) // 2]] = True
    label = codes[:, 0] % 10
    known, asked = codes[mine], codes[~mine]
    target = LabelTarget("y", tuple(range(10)), np.arange(len(known)), label[mine].astype(int), np.ones(len(known)))
    training = Support(space, np.asfortranarray(known), np.ones(len(known)), target)
    place = np.repeat(np.arange(len(asked)), 2)
    said = np.where(chance.random(len(place)) < 0.5, label[~mine][place], asked[place, 1] % 10)
    empty = np.zeros(len(asked))
    tested = Support(space, np.asfortranarray(asked), np.full(len(asked), 2.0))
    score = Score("accuracy", "higher")
    outcomes = Outcomes(
        tested, training, "label", tuple(range(10)), place, label[~mine][place].astype(int), said.astype(int),
        np.ones(len(place)), empty, empty, None, score,
    )  # fmt: skip
    wall, cpu = time.perf_counter(), time.process_time()
    anatomy(outcomes)
    return {
        "combinations": len(asked),
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def _confusion(lines: dict[str, list[Tried]]) -> dict[str, Any]:
    figures = {name: summary(done) for name, done in lines.items()}
    header = ["planted \\ found", *FOUND, "not the largest cause", "share off by", "bias", "95 % interval holds"]
    measure.table(header, ([name, *_cells(line)] for name, line in figures.items()))
    return figures


def _cells(line: dict[str, Any]) -> list[Any]:
    held = "-" if line["held"] is None else f"{line['held']:.0%}"
    return [*(line["found"][name] for name in FOUND), line["named_wrong"], line["off"], line["bias"], held]


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed: other tables of the same kinds")
    given = parser.parse_args()
    tables = 2 if given.smoke else 12
    figures: dict[str, Any] = {}
    for by_row in (True, False):
        kind = "habit chosen for each row" if by_row else "habit chosen once for each combination"
        tried = {planted: trial(planted, tables, by_row=by_row, first=given.first) for planted in PLANTED}
        print(f"\n{kind}, {tables * len(SHAPES)} tables a line: what is named first")
        figures[kind] = _confusion(tried)
        print("\nby shape, all planted causes together")
        every = [one for done in tried.values() for one in done]
        figures[f"{kind}, by shape"] = _confusion({s: [one for one in every if one.shape == s] for s in SHAPES})
    figures["large"] = large(10_000 if given.smoke else 100_000)
    print(f"\n{figures['large']['combinations']:,} unseen combinations: {figures['large']['cpu']:.1f} s of CPU time")
    measure.write("anatomy", given, figures)


if __name__ == "__main__":
    main()
