"""Scores of predicted vectors beside cell-eval's own functions, on drawn screens: the largest difference of each.

Run in an environment of its own: `pip install cell-eval`, then `PYTHONPATH=src python
benchmarks/peers/with_cell_eval.py`. The last line printed is JSON. cell-eval breaks ties in the order of sorting, ours
count half: the screens have none. Its ranks leave the perturbed gene out unless told otherwise, and it is told.
"""

import json
import logging
from importlib.metadata import version

import anndata
import numpy as np
import pandas as pd
from cell_eval._types import PerturbationAnndataPair
from cell_eval.metrics._anndata import discrimination_score, mse, pearson_delta

from recombine.numerics.vector_scores import compare

SCREENS, CELLS = 20, 400


def screen(seed: int) -> tuple[dict[str, float], int]:
    """The largest difference between each of our scores and theirs, on one drawn screen."""
    rng = np.random.default_rng(seed)
    names = np.array(["control", *(f"p{k:02}" for k in range(int(rng.integers(5, 40))))])
    width = int(rng.integers(5, 200))
    effects = rng.normal(size=(len(names), width)) * (names != "control")[:, None]
    label = np.concatenate([names, rng.choice(names, CELLS)])
    level = rng.normal(size=width) * 3
    cells = np.stack([level + effects[np.flatnonzero(names == one)[0]] for one in label])
    real = cells + rng.normal(size=cells.shape)
    said = cells * rng.uniform(0.5, 1.0) + rng.normal(size=cells.shape) * rng.choice([0.5, 4.0])
    genes = pd.DataFrame(index=[f"g{k}" for k in range(width)])
    pair = PerturbationAnndataPair(
        *(anndata.AnnData(one, obs=pd.DataFrame({"pert": label}), var=genes) for one in (real, said)),
        pert_col="pert",
        control_pert="control",
    )
    treated = names[1:]
    truth, predicted = (np.stack([one[label == name].mean(axis=0) for name in treated]) for one in (real, said))
    control = real[label == "control"].mean(axis=0)
    own = said[label == "control"].mean(axis=0)
    # cell-eval takes each table's own control off: the same as moving the predictions by the difference of the two
    moved = compare(truth, predicted - own + control, mean=truth.mean(axis=0), control=control)
    plain = compare(truth, predicted, mean=truth.mean(axis=0))
    ranks = discrimination_score(pair, metric="l2", exclude_target_gene=False)
    theirs = {"pearson_control": pearson_delta(pair), "discrimination": ranks, "error": mse(pair)}
    ours = {
        "pearson_control": moved.pearson_control,
        "discrimination": moved.discrimination,
        "error": plain.error / width,
    }
    apart = {
        name: float(np.abs(ours[name] - np.array([found[one] for one in treated])).max())
        for name, found in theirs.items()
    }
    return apart, len(treated)


logging.disable()
found = [screen(seed) for seed in range(SCREENS)]
largest = {name: max(apart[name] for apart, _ in found) for name in found[0][0]}
print(f"{SCREENS} screens, {sum(count for _, count in found)} perturbations, cell-eval {version('cell-eval')}")
print(json.dumps(largest))
