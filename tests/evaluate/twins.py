"""Slow and plain twins of what the evaluation computes cleverly, and small tables of predictions."""

from typing import Any

import numpy as np
import pandas as pd

from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.verbs.evaluate.outcomes import Outcomes, Score


def predictions(seed: int = 0, rows: int = 600, *, unseen_right: float = 0.5) -> pd.DataFrame:
    """Labels, numbers and probabilities of a model that is worse on the combinations held out."""
    rng = np.random.default_rng(seed)
    colour, shape = rng.integers(0, 6, rows), rng.integers(0, 5, rows)
    held = (colour + 2 * shape) % 4 == 0
    truth = (colour + shape) % 3
    right = rng.random(rows) < np.where(held, unseen_right, 0.95)
    said = np.where(right, truth, (truth + 1) % 3)
    shares = rng.dirichlet([2, 2, 2], rows)
    value = colour - shape + rng.normal(size=rows)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "colour": np.array(list("roygbv"))[colour],
            "shape": np.array(["disc", "cube", "cone", "ring", "star"])[shape],
            "split": np.where(held | (rng.random(rows) < 0.3), "test", "train"),
            "label": np.array(["x", "y", "z"])[truth],
            "said": np.array(["x", "y", "z"])[said],
            "said_b": np.array(["x", "y", "z"])[np.where(rng.random(rows) < 0.8, truth, (truth + 2) % 3)],
            "value": value,
            "guess": value + rng.normal(size=rows) * np.where(held, 2.0, 0.5),
            "guess_b": value + rng.normal(size=rows),
            "p_x": shares[:, 0],
            "p_y": shares[:, 1],
            "p_z": shares[:, 2],
            "yes": truth == 0,
            "p_yes": np.clip(shares[:, 0], 1e-6, 1 - 1e-6),
        }
    )


def test_sides(frame: pd.DataFrame, factors: list[str]) -> dict[str, pd.DataFrame]:
    """The tested rows, by whether their combination and their values occur in training: row by row."""
    train, test = frame[frame.split == "train"], frame[frame.split == "test"]
    combinations = set(map(tuple, train[factors].to_numpy()))
    values = [set(train[factor]) for factor in factors]
    seen = np.array([tuple(row) in combinations for row in test[factors].to_numpy()], dtype=bool)
    novel = np.array(
        [any(v not in known for v, known in zip(row, values, strict=True)) for row in test[factors].to_numpy()],
        dtype=bool,
    )
    return {"all": test, "seen": test[seen], "unseen": test[~seen & ~novel], "novel": test[novel]}


test_sides.__test__ = False  # type: ignore[attr-defined]


def outcomes(
    codes: Any, rows: Any, total: Any, squares: Any = None, *, sizes: Any = None, score: Any = None
) -> Outcomes:
    """Outcomes without training, from the sums alone; combinations as they are listed, which must be in order."""
    codes = np.asarray(codes, dtype=np.int32)
    sizes = sizes or tuple(int(column.max()) + 1 for column in codes.T)
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    rows, total = np.asarray(rows, dtype=float), np.asarray(total, dtype=float)
    nothing = np.zeros(0, dtype=np.int64)
    return Outcomes(
        tested=Support(space, np.asfortranarray(codes), rows, rows=int(rows.sum())),
        training=None,
        kind="score",
        classes=(),
        combination=nothing,
        truth=nothing,
        said=nothing,
        count=np.zeros(0),
        total=total,
        squares=total if squares is None else np.asarray(squares, dtype=float),
        prediction_total=None,
        score=score or Score("accuracy", "higher"),
    )


def left_out(codes: Any, sizes: Any, weights: Any, score: Any, noise: Any) -> tuple[np.ndarray, np.ndarray]:
    """For each combination a fit of all others by main effects, refitted each time: value and variance there."""
    design = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    full = np.linalg.matrix_rank(design)
    value, variance = np.full(len(codes), np.nan), np.full(len(codes), np.nan)
    for c in range(len(codes)):
        others = np.arange(len(codes)) != c
        part = design[others]
        if np.linalg.matrix_rank(part) < full:
            continue
        hat = design[c] @ np.linalg.pinv(part.T @ (weights[others, None] * part)) @ part.T * weights[others]
        value[c], variance[c] = hat @ score[others], (hat**2) @ noise[others]
    return value, variance


def bootstrap_t(rows: Any, total: Any, drawn: Any) -> tuple[np.ndarray, np.ndarray]:
    """The ratio and its standard error for each draw of combinations, a draw at a time."""
    values, errors = [], []
    for places in drawn:
        n, t = rows[places], total[places]
        ratio = t.sum() / n.sum()
        values.append(ratio)
        errors.append(np.sqrt(np.sum((t - ratio * n) ** 2) * len(n) / (len(n) - 1)) / n.sum())
    return np.array(values), np.array(errors)
