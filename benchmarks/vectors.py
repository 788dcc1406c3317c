"""Targets that are vectors: time, memory, and what is said of a planted screen shaped like that of Norman (2019).

    python benchmarks/vectors.py                 105 genes, 131 doubles, 5,000 outputs; and 10^4 combinations, read
    python benchmarks/vectors.py --smoke         small, for the tests
    python benchmarks/vectors.py --coverage      the intervals alone, in 200 planted worlds of each kind

The screen: a control, every gene alone and 131 pairs, `--cells` of each, 5,000 outputs; what was given is one text,
`gene004+gene011` in any order, read as a set. Each gene changes a tenth of the outputs, all of them change some outputs
alike (which makes the mean look good beside the control), and a pair has an interaction of its own with a share of the
variance that is planted. A model that knows all effects and no interaction has a score that is known: 1 less the
interactions' share of what the held-out pairs differ by from the mean. The share that is said to be reached is held
against it.

Coverage: of a world's 300 pairs some are tested, drawn at random; the truth is the score over all pairs that were not
trained on, the noise of their rows included. Said is how often the 95 % interval holds it.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import recombine
from measure import in_child, options, table, write
from recombine.numerics.resampling import IntervalSettings
from recombine.numerics.vector_scores import compare, discrimination, replicate_ceiling
from recombine.numerics.vector_summary import summarised

GENES, DOUBLES = 105, 131
SETS = {"genes": "condition:+"}


def make_screen(path: Path, *, genes: int, doubles: int, outputs: int, cells: int, interaction: float) -> float:
    """Write a screen, row group by row group; and the planted share of the held-out doubles that effects explain."""
    rng = np.random.default_rng(0)
    names = ["ctrl", *(f"gene{k:03}" for k in range(genes))]
    alike = rng.normal(size=outputs) * (rng.random(outputs) < 0.1)
    effects = rng.normal(size=(genes + 1, outputs)) * (rng.random((genes + 1, outputs)) < 0.1) + 0.5 * alike
    effects[0] = 0
    level = np.abs(3 * rng.normal(size=outputs))
    every = [(a, b) for a in range(1, genes + 1) for b in range(a + 1, genes + 1)]
    pairs = [every[k] for k in sorted(rng.choice(len(every), doubles, replace=False))]
    held = set(pairs[::5])
    singles = [(k, 0) for k in range(1, genes + 1)]
    schema = pa.schema(
        [(name, pa.string()) for name in ("condition", "split")]
        + [(f"gene_{k}", pa.float32()) for k in range(outputs)]
        + [("said", pa.list_(pa.float32(), outputs))]
    )
    means: dict[tuple[int, int], np.ndarray] = {}
    together: list[pa.Table] = []  # a row group of few rows and 5,000 columns is mostly headings
    with pq.ParquetWriter(path, schema) as writer:
        for a, b in [(0, 0), *singles, *pairs]:
            added = level + effects[a] + effects[b]
            own = rng.normal(size=outputs) * (rng.random(outputs) < 0.1) * np.sqrt(2 * interaction)
            means[a, b] = added + own if a and b else added
            rows = means[a, b] + rng.normal(size=(cells, outputs))
            said = pa.array(np.tile(added.astype(np.float32), cells))
            written = ["+".join(names[k] for k in rng.permutation([a, b])) for _ in range(cells)]
            columns = [written, ["test" if (a, b) in held else "train"] * cells]
            arrays = [pa.array(one) for one in columns]
            arrays += [pa.array(rows[:, k].astype(np.float32)) for k in range(outputs)]
            arrays.append(pa.FixedSizeListArray.from_arrays(said, outputs))
            together.append(pa.Table.from_arrays(arrays, schema=schema))
            if len(together) * cells >= 2_000:
                writer.write_table(pa.concat_tables(together))
                together = []
        if together:
            writer.write_table(pa.concat_tables(together))
    mean = np.mean([value for pair, value in means.items() if pair not in held], axis=0)
    spread = sum(np.square(means[pair] - mean).sum() for pair in held)
    missed = sum(np.square(means[a, b] - level - effects[a] - effects[b]).sum() for a, b in held)
    return float(1 - missed / spread)


def prepare_audit(path: Path) -> Callable[[], Any]:
    """An audit of the whole screen."""

    def work() -> Any:
        found = recombine.audit(path, sets=SETS, target="gene_*")
        assert found.vectors is not None
        r2 = found.vectors.score("R²")
        assert r2 is not None
        rules = {one.name: (one.told, one.r2) for one in found.vectors.rules}
        return {"verdict": found.verdict, "grade": found.grade, "reached": r2.reached, "rules": rules}

    return work


def prepare_evaluation(path: Path) -> Callable[[], Any]:
    """An evaluation of a model that knows all effects and no interaction."""

    def work() -> Any:
        found = recombine.evaluate_vectors(path, sets=SETS, target="gene_*", prediction="said", split="split")
        scores = {one.name: (one.value, one.reached) for one in found.side("unseen").scores}
        rules = {one.name: (one.told, one.r2) for one in found.rules}
        r2 = found.side("unseen").score("R²")
        reached = None if r2 is None else r2.reached
        said = {"verdict": found.verdict, "grade": found.grade, "reached": reached}
        return said | {"scores": scores, "rules": rules}

    return work


def make_large(path: Path, *, values: int, outputs: int) -> None:
    """A table with a row for each of values² combinations, then another one, as lists of float32."""
    rng = np.random.default_rng(1)
    kind = pa.list_(pa.float32(), outputs)
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("y", kind)])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(2):
            for a in range(values):
                flat = pa.array(rng.normal(size=values * outputs).astype(np.float32))
                lists = pa.FixedSizeListArray.from_arrays(flat, outputs)
                names = [pa.array([f"a{a:03}"] * values), pa.array([f"b{b:03}" for b in range(values)])]
                writer.write_table(pa.Table.from_arrays([*names, lists], schema=schema))


def prepare_read(path: Path) -> Callable[[], Any]:
    """Reading alone: the matrix of means."""

    def work() -> Any:
        found = recombine.read(path, factors=["a", "b"], target="y").vectors
        assert found is not None
        return {"combinations": len(found), "outputs": found.width}

    return work


WRONG = ("each pair has its own", "a few pairs by far", "a few genes are wrong")
"""How far the model is off, pair by pair."""
OUTPUTS, COVERED = 40, ("R²", "root mean square", "cosine from mean", "Pearson from control", "discrimination")


def errors(kind: str, pairs: list[tuple[int, int]], genes: int, rng: np.random.Generator) -> np.ndarray:
    """By how much the model misses each pair."""
    if kind == "a few genes are wrong":
        missed = rng.normal(size=(genes, OUTPUTS)) * (np.arange(genes) < genes / 6)[:, None]
        return np.asarray(missed[np.array(pairs)].sum(axis=1))
    own = rng.normal(size=(len(pairs), OUTPUTS))
    return np.asarray(own * (0.6 if kind == WRONG[0] else 0.3 * (1 + 6 * (rng.random(len(pairs)) < 0.08))[:, None]))


def coverage(kind: str, *, tested: int, worlds: int, genes: int = 25, rows: int = 5) -> dict[str, float]:
    """How often the 95 % interval of each score holds that of all pairs that could have been tested."""
    held: dict[str, list[bool]] = {name: [] for name in COVERED}
    pairs = [(a, b) for a in range(genes) for b in range(a + 1, genes)]
    for seed in range(worlds):
        rng = np.random.default_rng([seed, tested, len(kind)])
        effects = rng.normal(size=(genes, OUTPUTS)) * (rng.random((genes, OUTPUTS)) < 0.3)
        said = effects[np.array(pairs)].sum(axis=1)
        truth = said + errors(kind, pairs, genes, rng)
        order = rng.permutation(len(pairs))
        trained, rest = order[:60], order[60:]
        mean, control = truth[trained].mean(axis=0), np.zeros((len(rest), OUTPUTS))
        measured = truth[rest, None] + rng.normal(size=(len(rest), rows, OUTPUTS))
        y, p = measured.mean(axis=1), said[rest]
        own = compare(y, p, mean=mean, control=control)
        some = slice(0, tested)  # the order was drawn
        mine, constant = (
            compare(y[some], one[some], mean=mean, control=control[some]) for one in (p, np.broadcast_to(mean, p.shape))
        )
        first, second = measured[some, : -(-rows // 2)].mean(axis=1), measured[some, -(-rows // 2) :].mean(axis=1)
        ceiling = replicate_ceiling(first, second, np.full(tested, float(rows)), mean=mean, control=control[some])
        every = {one.name: one.value or 0.0 for one in summarised(own, constant, ceiling, IntervalSettings(draws=200))}
        # ranks are among those that were tested, so that their truth is one of as many
        every["discrimination"] = np.mean(
            [
                discrimination(y[chosen], p[chosen]).mean()
                for chosen in (rng.choice(len(rest), tested, replace=False) for _ in range(40))
            ]
        )
        for one in summarised(mine, constant, ceiling, IntervalSettings(seed=seed)):
            if one.name in held and one.low is not None and one.high is not None:
                held[one.name].append(one.low <= every[one.name] <= one.high)
    return {name: float(np.mean(one)) if one else float("nan") for name, one in held.items()}


def print_coverage(worlds: int) -> dict[str, Any]:
    """Coverage in every kind of world, for few and for more tested pairs."""
    found = {(kind, tested): coverage(kind, tested=tested, worlds=worlds) for kind in WRONG for tested in (10, 26, 80)}
    rows = [(f"{kind}, {tested} tested", *one.values()) for (kind, tested), one in found.items()]
    table([f"held in {worlds} worlds", *COVERED], rows)
    return {f"{kind}, {tested} tested": one for (kind, tested), one in found.items()}


def main(given: argparse.Namespace) -> None:
    """Make the tables, measure, print."""
    if given.coverage:
        write("vectors_coverage", given, print_coverage(5 if given.smoke else 200))
        return
    genes, doubles, outputs = (20, 30, 200) if given.smoke else (GENES, DOUBLES, given.outputs)
    cells, values = (6, 12) if given.smoke else (given.cells, 100)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        screen, large = Path(folder) / "screen.parquet", Path(folder) / "large.parquet"
        shape = {"genes": genes, "doubles": doubles, "outputs": outputs, "cells": cells}
        planted = make_screen(screen, **shape, interaction=given.interaction)
        make_large(large, values=values, outputs=outputs)
        figures = {"planted": planted, **shape}
        subjects = {
            "audit": (prepare_audit, screen),
            "evaluate": (prepare_evaluation, screen),
            f"read {values**2:,} x {outputs:,}": (prepare_read, large),
        }
        for name, (prepare, path) in subjects.items():
            run = in_child(prepare, path)
            size = path.stat().st_size / 2**30
            figures[name] = {"seconds": run.seconds, "cpu": run.cpu, "gib": run.peak_bytes / 2**30, "file_gib": size}
            figures[name] |= {"answer": run.answer}
    table(
        ["", "seconds", "processor", "peak GiB", "file GiB"],
        [
            (name, *(float(one[key]) for key in ("seconds", "cpu", "gib", "file_gib")))
            for name, one in figures.items()
            if isinstance(one, dict)
        ],
    )
    print(f"planted: effects explain {planted:.3f} of what held-out doubles differ by, without noise")
    print(f"evaluate says that {figures['evaluate']['answer']['reached']:.3f} of what can be was reached")
    for name in ("audit", "evaluate"):
        answer = figures[name]["answer"]
        print(f"\n{name} ({answer['grade']}): {answer['verdict']}")
        print(
            "  rules (told, R²): "
            + ", ".join(f"{rule} {told} {r2:.3f}" for rule, (told, r2) in answer["rules"].items())
        )
    write("vectors", given, figures)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--outputs", type=int, default=5_000)
    parser.add_argument("--cells", type=int, default=40, help="rows of each combination")
    parser.add_argument("--coverage", action="store_true", help="how often intervals hold, and nothing else")
    parser.add_argument("--interaction", type=float, default=0.2, help="variance of a pair's own, in effects of a gene")
    main(parser.parse_args())
