"""Scoring predictions by combination, beside what one would use instead.

The same file goes to recombine, to scikit-learn's metrics and, for the scores by group, to fairlearn's MetricFrame.
Where they overlap they must agree to 1e-12. The large tables show how the time grows with rows and with combinations.

    python benchmarks/evaluate.py
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import measure

FACTORS = ["a", "b", "c"]
Sizes = tuple[int, int, int]
Scores = dict[str, float]
_PART = 10**6


def made(folder: Path, rows: int, sizes: Sizes) -> Path:
    """Predictions of a model that is worse on the combinations that it did not see, written in parts."""
    path = folder / f"predictions-{rows}-{sizes[0]}.parquet"
    rng = np.random.default_rng(0)
    parts = (part(rng, min(_PART, rows - start), sizes) for start in range(0, rows, _PART))
    first = next(parts)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for more in parts:
            writer.write_table(more)
    return path


def part(rng: np.random.Generator, rows: int, sizes: Sizes) -> pa.Table:
    """Some rows: labels, numbers and probabilities, each with the truth."""
    codes = [rng.integers(0, size, rows) for size in sizes]
    held = (codes[0] * 7 + codes[1] * 13 + codes[2] * 29) % 5 == 0
    truth = sum(codes) % 4
    wrong = rng.random(rows) < np.where(held, 0.35, 0.05)
    number, chance = truth + rng.normal(size=rows), np.clip(rng.beta(4, 2, rows), 1e-6, 1 - 1e-6)
    columns: dict[str, Any] = {
        name: pa.array([f"{name}{value}" for value in range(size)]).take(pa.array(code))
        for name, size, code in zip(FACTORS, sizes, codes, strict=True)
    }
    return pa.table(
        columns
        | {
            "split": pa.array(["train", "test"]).take(pa.array((held | (rng.random(rows) < 0.3)).astype(int))),
            "y": truth,
            "said": np.where(wrong, (truth + 1 + rng.integers(0, 3, rows)) % 4, truth),
            "number": number,
            "guess": number + rng.normal(size=rows) * np.where(held, 1.0, 0.3),
            "yes": (rng.random(rows) < chance).astype(np.int64),
            "p_yes": chance,
        }
    )


SCORES = {
    "accuracy": ("y", "said"),
    "mse": ("number", "guess"),
    "r2": ("number", "guess"),
    "logloss": ("yes", "p_yes"),
}


def ours_by_side(path: Path) -> Callable[[], Scores]:
    """Every score on every side, by recombine."""
    import recombine

    def work() -> Scores:
        found = {}
        for score, (target, prediction) in SCORES.items():
            one = recombine.evaluate(
                path,
                factors=FACTORS,
                target=target,
                prediction=prediction,
                score=score,
                split="split",
                intervals=recombine.IntervalSettings(draws=100),
            )
            found |= {f"{score} {side}": one.side(side).score for side in ("all", "seen", "unseen")}
        return found

    return work


def theirs_by_side(path: Path) -> Callable[[], Scores]:
    """The same by scikit-learn, with the sides found by hand."""
    import pandas as pd
    from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score

    measures = {"accuracy": accuracy_score, "mse": mean_squared_error, "r2": r2_score, "logloss": log_loss}

    def work() -> Scores:
        frame = pd.read_parquet(path)
        trained = frame.loc[frame.split == "train", FACTORS].drop_duplicates().assign(seen=True)
        test = frame[frame.split == "test"].merge(trained, on=FACTORS, how="left")
        sides = {"all": test, "seen": test[test.seen.notna()], "unseen": test[test.seen.isna()]}
        return {
            f"{score} {side}": float(measures[score](rows[target], rows[prediction]))
            for score, (target, prediction) in SCORES.items()
            for side, rows in sides.items()
        }

    return work


def ours_by_group(path: Path) -> Callable[[], dict[tuple[str, ...], float]]:
    """The same part of an evaluation: every combination's accuracy, from the file."""
    from recombine.base.records import Provenance
    from recombine.data.split_sides import SplitColumn
    from recombine.data.table_query import TableQuery
    from recombine.verbs.evaluate.outcome_reader import outcomes_of
    from recombine.verbs.evaluate.prediction_query import gather
    from recombine.verbs.evaluate.scoring import PredictionQuestion

    def work() -> dict[tuple[str, ...], float]:
        asked = PredictionQuestion(
            query=TableQuery(factors=tuple(FACTORS), target="y"), prediction="said", split=SplitColumn("split")
        )
        found = outcomes_of(gather(path, asked), asked, Provenance(source=str(path))).outcomes
        labels = [f.labels for f in found.tested.space.factors]
        codes = [[names[code] for code in column] for names, column in zip(labels, found.tested.codes.T, strict=True)]
        return dict(zip(zip(*codes, strict=True), found.mean.tolist(), strict=True))

    return work


def theirs_by_group(path: Path) -> Callable[[], dict[tuple[str, ...], float]]:
    """fairlearn's accuracy by group, of the same tested rows."""
    import pandas as pd
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    frame = pd.read_parquet(path)
    test = frame[frame.split == "test"]

    def work() -> dict[tuple[str, ...], float]:
        found = MetricFrame(metrics=accuracy_score, y_true=test.y, y_pred=test.said, sensitive_features=test[FACTORS])
        return {tuple(map(str, group)): float(score) for group, score in found.by_group.dropna().items()}

    return work


def whole(path: Path, score: str, causes: bool) -> Callable[[], str]:
    """One evaluation, with or without the causes of the errors."""
    import recombine

    target, prediction = SCORES[score]
    given = {"target": target, "prediction": prediction, "score": score, "causes": causes}
    return lambda: recombine.evaluate(path, factors=FACTORS, split="split", **given).verdict


def agreement(folder: Path, *, smoke: bool) -> dict[str, float]:
    """How far recombine and scikit-learn are apart, at most, for each score."""
    path = made(folder, 20_000 if smoke else 200_000, (12, 10, 5))
    ours, theirs = (measure.in_child(work, path).answer for work in (ours_by_side, theirs_by_side))
    apart = {score: max(abs(ours[k] - theirs[k]) for k in ours if k.startswith(score)) for score in SCORES}
    measure.table(("largest difference from scikit-learn", ""), apart.items())
    assert max(apart.values()) < 1e-12
    return apart


def by_group(folder: Path, *, smoke: bool) -> dict[str, Any]:
    """fairlearn's scores by group beside an evaluation."""
    path = made(folder, 10_000 if smoke else 500_000, (8, 8, 8) if smoke else (50, 50, 50))
    ours, theirs = (measure.in_child(work, path) for work in (ours_by_group, theirs_by_group))
    assert ours.answer.keys() == theirs.answer.keys()
    apart = max(abs(ours.answer[group] - score) for group, score in theirs.answer.items())
    assert apart < 1e-12
    everything = measure.in_child(whole, path, "accuracy", False)
    lines = [
        ("MetricFrame, accuracy by group", theirs, 1.0, 1.0),
        ("recombine, accuracy by combination", ours, theirs.seconds / ours.seconds, theirs.cpu / ours.cpu),
        (
            "recombine, a whole evaluation without causes",
            everything,
            theirs.seconds / everything.seconds,
            theirs.cpu / everything.cpu,
        ),
    ]
    print(f"\n{len(ours.answer):,} cells with tested rows; scores differ by {apart:.1g}")
    measure.table(
        ("", "seconds", "CPU", "times", "times, CPU"),
        [(name, run.seconds, run.cpu, wall, cpu) for name, run, wall, cpu in lines],
    )
    print()
    return {"cells": len(ours.answer), "apart": apart} | {
        name: {"seconds": run.seconds, "cpu": run.cpu, "times": wall, "times_cpu": cpu}
        for name, run, wall, cpu in lines
    }


def growth(folder: Path, *, smoke: bool) -> list[dict[str, Any]]:
    """Time and memory as the rows and the combinations grow."""
    shapes: list[tuple[int, Sizes, str, bool]] = [(10**5, (10, 10, 10), "accuracy", True)]
    if not smoke:
        shapes += [(10**6, (40, 40, 20), "accuracy", False), (10**7, (40, 40, 20), "accuracy", False)]
        shapes += [(10**7, (40, 40, 20), "mse", False), (10**6, (100, 100, 20), "accuracy", False)]
        shapes += [(10**7, (10, 10, 10), "accuracy", True), (10**6, (40, 40, 20), "accuracy", True)]
    lines, figures = [], []
    for rows, sizes, score, causes in shapes:
        run = measure.in_child(whole, made(folder, rows, sizes), score, causes)
        name = f"{rows:,} rows, {np.prod(sizes):,} cells, {score}, {'with' if causes else 'without'} causes"
        lines.append((name, run.seconds, run.cpu, run.peak_bytes / 2**30))
        figures.append({"what": name, "seconds": run.seconds, "cpu": run.cpu, "peak_gib": run.peak_bytes / 2**30})
    measure.table(("", "seconds", "CPU seconds", "peak GiB"), lines)
    return figures


def main() -> None:
    given = measure.options(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="recombine-") as name:
        folder = Path(name)
        figures = {
            "agreement": agreement(folder, smoke=given.smoke),
            "by group": by_group(folder, smoke=given.smoke),
            "growth": growth(folder, smoke=given.smoke),
        }
    measure.write("evaluate", given, figures)


if __name__ == "__main__":
    main()
