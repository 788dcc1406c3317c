"""Tables drawn at random: few rows, and everything that real tables have that examples do not."""

from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any, Literal

Kind = Literal["label", "number"]
SHIFTS = (0.0, 0.0, 1e3, 1e6, 1e7, 1e8)
"""What is added to a target whose spread is about 1: sums of squares lose twice as many digits."""
SCALES = (1.0, 1.0, 1.0, 1e-9, 1e9, 1e-60, 1e60)
EXTREMES = (1e-100, 1e-200, 1e-320, 1e100, 1e200, 1e308)
_STEP = 2.0**-10  # answers are whole multiples of it, so that none of them is rounded when it is shifted


@dataclass(frozen=True)
class Drawn:
    """A table in columns, and how it is to be read."""

    columns: dict[str, list[Any]]
    factors: tuple[str, ...]
    target: str | None = None
    kind: Kind | None = None
    weight: str | None = None
    domain: dict[str, list[Any]] = field(default_factory=dict)
    impossible: tuple[dict[str, Any], ...] = ()
    missing: Literal["leave out", "value"] = "leave out"
    extreme: bool = False

    def asked(self) -> dict[str, Any]:
        """As `recombine.read` is asked."""
        return {
            "factors": list(self.factors), "target": self.target, "target_kind": self.kind, "weight": self.weight,
            "domain": self.domain, "impossible": self.impossible, "missing": self.missing,
        }  # fmt: skip


def draw(rng: Random) -> Drawn:
    """A small table."""
    width = rng.choice((2, 2, 2, 3, 3, 4))
    names = tuple("abcd"[:width])
    values = [_values(rng, 3 if width == 4 else 4) for _ in names]
    space = list(product(*values))
    shown = rng.sample(space, k=rng.randint(1, min(len(space), 14)))
    rows = [rng.choice(shown) for _ in range(rng.randint(2, 40))]
    columns: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    if rng.random() < 0.3:
        _punch(columns, names, rng)
    kind: Kind | None = rng.choice(("label", "number", "number", None))
    extreme = kind == "number" and rng.random() < 0.06
    if kind:
        columns["y"] = _labels(rng, len(rows)) if kind == "label" else _numbers(rng, len(rows), extreme=extreme)
    weight = rng.random() < 0.3
    if weight:
        columns["w"] = [rng.choice((0, 0, 1, 1, 2, 5, 0.5)) for _ in rows]
    domain = {name: _declared(values[k], rng) for k, name in enumerate(names) if rng.random() < 0.35}
    return Drawn(
        columns, names, "y" if kind else None, kind, "w" if weight else None, domain,
        _impossible(columns, names, domain, rng), "value" if rng.random() < 0.15 else "leave out", extreme,
    )  # fmt: skip


def _values(rng: Random, most: int) -> list[Any]:
    size = rng.randint(2, most)
    return list(range(size)) if rng.random() < 0.2 else [f"v{place}" for place in range(size)]


def _declared(values: list[Any], rng: Random) -> list[Any]:
    """The values, and perhaps some that are never seen."""
    more = [90, 91] if isinstance(values[0], int) else ["never", "nie"]
    return values + more[: rng.randint(0, 2)]


def _punch(columns: dict[str, list[Any]], names: tuple[str, ...], rng: Random) -> None:
    for name in names:
        for row in range(len(columns[name])):
            if rng.random() < 0.1:
                columns[name][row] = None


def _labels(rng: Random, size: int) -> list[Any]:
    classes = ["no", "yes", "perhaps"][: rng.choice((1, 2, 2, 3))]
    return [None if rng.random() < 0.05 else rng.choice(classes) for _ in range(size)]


def _numbers(rng: Random, size: int, *, extreme: bool) -> list[Any]:
    spread = rng.choice((0, 1, 1, 1))
    plain = [rng.choice(SHIFTS) if spread == 0 else 0.0] * size
    if spread:
        shift = rng.choice(SHIFTS)
        plain = [shift + round(rng.gauss(0, 1) / _STEP) * _STEP for _ in range(size)]
    scale = rng.choice(EXTREMES) if extreme else rng.choice(SCALES)
    return [None if rng.random() < 0.05 else number * scale for number in plain]


def _impossible(
    columns: dict[str, list[Any]], names: tuple[str, ...], domain: dict[str, list[Any]], rng: Random
) -> tuple[dict[str, Any], ...]:
    """Conjunctions that no row holds; now and then several that leave nothing of a smaller one."""
    if rng.random() < 0.6:
        return ()
    weights = columns.get("w", [1] * len(columns["a"]))
    held = [tuple(columns[name][row] for name in names) for row, weight in enumerate(weights) if weight]
    there = {name: {row[k] for row in held if None not in row} for k, name in enumerate(names)}
    values = {name: domain.get(name) or sorted(there[name], key=str) for name in names}
    if not all(values.values()):
        return ()
    lines = []
    for _ in range(rng.randint(1, 3)):
        chosen = rng.sample(names, k=rng.randint(1, len(names)))
        line = {name: rng.choice(values[name]) for name in chosen}
        left = [name for name in names if name not in chosen]
        if left and rng.random() < 0.5:
            lines += [line | {left[0]: value} for value in values[left[0]]]
        else:
            lines.append(line)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]
    kept = [line for line in lines if not any(all(row[k] == v for k, v in line.items()) for row in rows)]
    return tuple(kept)
