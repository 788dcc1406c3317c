"""Predictions over many factors: the verb beside the bare dense kernel.

    python benchmarks/wide.py                 5,000 seen combinations of 8 factors with 5 values
    python benchmarks/wide.py --seen 10000 --factors 12
    python benchmarks/wide.py --smoke         small, for the tests

The bare kernel is what anybody would write with NumPy and SciPy who knows the weights: match counts by a product of
one-hot codes, a table of the kernel's values, Cholesky. `solve` stops there. `all` does what the verb does besides: the
answers left out one by one (the inverse), the learner that memorises nothing (another Cholesky), answers and variances
of as many unseen combinations as the verb lists. Each runs in a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

import recombine
from recombine.verbs.predict.kernel.network_kernels import kappa, order_weights
from recombine.verbs.predict.prediction import compared


def table(seen: int, factors: int, values: int) -> dict[str, Any]:
    """Made-up combinations whose answers are single values and pairs added up, with noise."""
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, values, (2 * seen, factors)), axis=0)
    codes = rng.permutation(codes)[:seen]
    effects = rng.normal(size=(factors, values))
    pair = rng.normal(size=(values, values))
    answer = (
        effects[np.arange(factors), codes].sum(axis=1) + pair[codes[:, 0], codes[:, 1]] + rng.normal(size=len(codes))
    )
    return {f"f{k}": column.tolist() for k, column in enumerate(codes.T)} | {"y": answer.tolist()}


def support_of(seen: int, factors: int, values: int) -> recombine.Support:
    """The same, read."""
    return recombine.read(table(seen, factors, values), factors=[f"f{k}" for k in range(factors)], target="y")


def verb(support: recombine.Support) -> Any:
    """The whole prediction."""
    return recombine.predict(support)


def bare(support: recombine.Support, *, everything: bool) -> Any:
    """The kernel, written out by hand."""
    codes, answers = support.codes, support.target.mean
    values = kappa("relu", 3, codes.shape[1])
    one_hot = np.concatenate(
        [np.eye(size, dtype=np.float32)[c] for c, size in zip(codes.T, support.space.sizes, strict=True)], 1
    )
    root = cholesky(values[(one_hot @ one_hot.T).astype(np.intp)], lower=True, overwrite_a=True, check_finite=False)
    dual = cho_solve((root, True), answers)
    if not everything:
        return dual
    inverse = solve_triangular(root, np.eye(len(codes)), lower=True, overwrite_b=True, check_finite=False)
    left_out = answers - dual / np.einsum("ij,ij->j", inverse, inverse)
    lower = values[(one_hot @ one_hot.T).astype(np.intp)]
    lower[np.diag_indices(len(lower))] -= 0.999 * order_weights("relu", 3, codes.shape[1])[-1]
    cholesky(lower, lower=True, overwrite_a=True, check_finite=False)
    drawn = np.random.default_rng(1).integers(0, min(support.space.sizes), (_rows(support), codes.shape[1]))
    asked = np.concatenate(
        [np.eye(size, dtype=np.float32)[c] for c, size in zip(drawn.T, support.space.sizes, strict=True)], 1
    )
    between = values[(one_hot @ asked.T).astype(np.intp)]
    half = solve_triangular(root, between, lower=True, check_finite=False)
    return left_out, dual @ between, values[-1] - np.einsum("ij,ij->j", half, half)


class _Seen:
    """As much of a learner as the number of listed combinations depends on."""

    def __init__(self, support: recombine.Support) -> None:
        self.support = support


def _rows(support: recombine.Support) -> int:
    return compared(_Seen(support))  # type: ignore[arg-type]


def measure(what: str, seen: int, factors: int, values: int) -> dict[str, float]:
    """Seconds and the most memory, in this process."""
    support = support_of(seen, factors, values)
    before, start = time.process_time(), time.perf_counter()
    if what == "verb":
        verb(support)
    else:
        bare(support, everything=what == "all")
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - before,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    """Measure each in a process of its own, and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seen", type=int, default=5_000)
    parser.add_argument("--factors", type=int, default=8)
    parser.add_argument("--values", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="small, for the tests")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    seen = 400 if asked.smoke else asked.seen
    if asked.only:
        print(json.dumps(measure(asked.only, seen, asked.factors, asked.values)))
        return
    found = {}
    for what in ("solve", "all", "verb"):
        words = [sys.executable, str(Path(__file__)), "--only", what, "--seen", str(seen)]
        words += ["--factors", str(asked.factors), "--values", str(asked.values)]
        found[what] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    print(f"{seen:,} seen combinations of {asked.factors} factors with {asked.values} values")
    for what, name in (("solve", "bare kernel, Cholesky"), ("all", "bare kernel, all of it"), ("verb", "predict")):
        one = found[what]
        ratios = ", ".join(f"{found['verb']['cpu'] / found[w]['cpu']:.2f} of {w}" for w in ("solve", "all"))
        print(
            f"  {name:24} {one['seconds']:7.1f} s  {one['cpu']:7.1f} s CPU  {one['gigabytes']:5.2f} GB"
            + (f"   {ratios}" if what == "verb" else "")
        )


if __name__ == "__main__":
    main()
