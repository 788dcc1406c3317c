"""Counting cells: fairlearn's `MetricFrame` with `count` against `recombine.read`, on the same pandas frame.

10^5 rows of two text factors with 10^4 and 10^5 possible cells, uniform. Both must give the same counts; a
cell without rows is NaN for fairlearn and absent from the support.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

from collections.abc import Callable
from typing import Any

import numpy as np

import measure

FACTORS = ("first", "second")
Shape = tuple[int, int, int]
FULL: tuple[Shape, ...] = ((100_000, 100, 100), (100_000, 400, 250))
SMOKE: tuple[Shape, ...] = ((5_000, 20, 20),)
Counts = dict[tuple[str, str], int]


def frame(shape: Shape) -> Any:
    """The table; every value of each factor occurs."""
    import pandas as pd

    rows, *sizes = shape
    rng = np.random.default_rng(0)
    codes = [np.concatenate([np.arange(size), rng.integers(size, size=rows - size)]) for size in sizes]
    columns = {name: [f"{name} {v:04d}" for v in values] for name, values in zip(FACTORS, codes, strict=True)}
    return pd.DataFrame(columns)


def fairlearn(shape: Shape) -> Callable[[], Counts]:
    """As its users count."""
    from fairlearn.metrics import MetricFrame, count

    table = frame(shape)
    answers = np.zeros(len(table))
    groups = table[list(FACTORS)]

    def work() -> Counts:
        found = MetricFrame(metrics=count, y_true=answers, y_pred=answers, sensitive_features=groups)
        return {(str(a), str(b)): int(n) for (a, b), n in found.by_group.dropna().items()}

    return work


def recombine(shape: Shape) -> Callable[[], Counts]:
    """Ours."""
    from recombine import read

    table = frame(shape)
    read({"a": ["x", "y"], "b": ["x", "y"]}, factors=["a", "b"])

    def work() -> Counts:
        support = read(table, factors=FACTORS)
        a, b = (np.array(f.labels, dtype=object)[support.codes[:, k]] for k, f in enumerate(support.space.factors))
        return dict(zip(zip(a, b, strict=True), support.counts.astype(int).tolist(), strict=True))

    return work


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    lines, figures = [], []
    for shape in SMOKE if given.smoke else FULL:
        rounds = 1 if given.smoke else 3
        found = measure.take_turns({"fairlearn": (fairlearn, shape), "recombine": (recombine, shape)}, rounds=rounds)
        theirs, ours = found["fairlearn"], found["recombine"]
        assert theirs.answer == ours.answer, "the counts differ"
        cells, seen = shape[1] * shape[2], len(ours.answer)
        ratios = theirs.median / ours.median, theirs.cpu / ours.cpu
        lines.append([f"{cells:,}", seen, theirs.median, ours.median, ratios[0], ratios[1]])
        plain = {name: one.plain() | {"answer": None} for name, one in found.items()}
        figures.append({"cells": cells, "seen": seen, "ratio": ratios[0], "cpu_ratio": ratios[1], **plain})
    print(f"{shape[0]:,} rows, median of {rounds}; the counts agree")
    measure.table(["cells", "with rows", "fairlearn s", "recombine s", "ratio", "CPU ratio"], lines)
    measure.write("cells", given, figures)


if __name__ == "__main__":
    main()
