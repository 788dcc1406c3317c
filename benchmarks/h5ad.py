"""Means of a matrix in an AnnData file by combination, beside a plain pass over the same file with h5py.

    python benchmarks/h5ad.py                     10^6 cells by 2,000 genes: CSR (plain and gzip), CSC, dense
    python benchmarks/h5ad.py --cells 200000      fewer cells
    python benchmarks/h5ad.py --smoke             small, for the tests

A plain pass reads every number of `X` once, block by block, and does nothing with it. Ours reads `obs`, counts the
combinations of 100 genes (alone, in 149 pairs) by four cell lines and adds up their means: all of `recombine.read`.
Cells stand in any order, which is the hardest one. Some means are held against sums made by hand while the file was
written. Subjects take turns, so the ratio is one of the same minutes.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import recombine
from measure import options, table, take_turns, write

PAIRS, LINES = 149, 4
BLOCK = 8 * 10**6


def make(path: Path, kind: str, *, cells: int, genes: int, density: float) -> None:
    """Write a screen block by block: 100 genes alone and in 149 pairs, a control, four cell lines."""
    rng = np.random.default_rng(0)
    names = [f"G{k:03}" for k in range(100)]
    pairs = [(a, b) for a in range(100) for b in range(a)][:PAIRS]
    labels = ["ctrl", *(f"{one}+ctrl" for one in names), *(f"{names[a]}+{names[b]}" for a, b in pairs)]
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
        obs.attrs["column-order"] = ["condition", "cell_line"]
        for name, values in (("condition", labels), ("cell_line", [f"line{k}" for k in range(LINES)])):
            column = obs.create_group(name)
            column.attrs["encoding-type"] = "categorical"
            column["codes"] = rng.integers(0, len(values), cells).astype(np.int16)
            column["categories"] = values
        obs.create_dataset("_index", data=[f"cell{k}" for k in range(cells)])
        if kind == "dense":
            matrix = file.create_dataset("X", (cells, genes), np.float32)
            for start in range(0, cells, 2_000):
                rows = matrix[start : start + 2_000].shape
                matrix[start : start + 2_000] = rng.gamma(1.0, size=rows).astype(np.float32)
            return
        _write_sparse(file, kind, rng, (cells, genes), density)


def _write_sparse(file: Any, kind: str, rng: Any, shape: tuple[int, int], density: float) -> None:
    """In chunks that h5py chooses, as anndata writes them; every line has entries in places of its own, sorted."""
    lines, across = shape if kind != "csc" else shape[::-1]
    each = round(across * density)
    group = file.create_group("X")
    group.attrs.update({"encoding-type": "csc_matrix" if kind == "csc" else "csr_matrix", "shape": shape})
    group["indptr"] = np.arange(lines + 1, dtype=np.int64) * each
    packed = {"compression": "gzip", "compression_opts": 4} if kind == "csr gzip" else {}
    data = group.create_dataset("data", (lines * each,), np.float32, chunks=True, maxshape=(None,), **packed)
    indices = group.create_dataset("indices", (lines * each,), np.int32, chunks=True, maxshape=(None,), **packed)
    step = max(4 * 10**6 // each, 1)
    for start in range(0, lines, step):
        stop = min(start + step, lines)
        # counts, as expression has them before it is normalised, logarithms of few different numbers after it
        data[start * each : stop * each] = np.log1p(rng.geometric(0.5, (stop - start) * each)).astype(np.float32)
        places = np.sort(rng.integers(0, across - each, (stop - start, each), dtype=np.int32), axis=1)
        indices[start * each : stop * each] = (places + np.arange(each, dtype=np.int32)).ravel()


def prepare_pass(path: Path) -> Callable[[], Any]:
    """Every number of X once."""

    def work() -> int:
        read = 0
        with h5py.File(path) as file:
            parts = [file["X"]] if isinstance(file["X"], h5py.Dataset) else [file["X/data"], file["X/indices"]]
            step = max(BLOCK // int(np.prod(parts[0].shape[1:])), 1)
            for start in range(0, len(parts[0]), step):
                read += sum(part[start : start + step].size for part in parts)
        return read

    return work


def prepare_ours(path: Path) -> Callable[[], Any]:
    """Combinations and their means; what has to be imported is."""
    recombine.read({"a": ["x", "y"], "b": ["p", "q"]}, factors=["a", "b"], target=np.eye(2))

    def work() -> Any:
        found = recombine.read(path, factors=["condition", "cell_line"], target="X")
        assert found.vectors is not None
        return {"combinations": len(found), "outputs": found.vectors.width, "mean": float(found.vectors.of([0])[0, 0])}

    return work


def by_hand(path: Path) -> float:
    """The mean of the first gene in the first combination, from the file as it lies."""
    with h5py.File(path) as file:
        mine = (file["obs/condition/codes"][:] == _first(file)) & (file["obs/cell_line/codes"][:] == 0)
        if isinstance(file["X"], h5py.Dataset):
            return float(file["X"][:, 0][mine].mean(dtype=np.float64))
        bounds, data, indices = (file["X"][name][:] for name in ("indptr", "data", "indices"))
        if file["X"].attrs["encoding-type"] == "csc_matrix":
            values = np.zeros(len(mine))
            values[indices[bounds[0] : bounds[1]]] = data[bounds[0] : bounds[1]]
            return float(values[mine].mean())
        rows = np.repeat(np.arange(len(mine)), np.diff(bounds))
        return float(np.bincount(rows[indices == 0], data[indices == 0], minlength=len(mine))[mine].mean())


def _first(file: Any) -> int:
    names = [name.decode() for name in file["obs/condition/categories"][:]]
    return names.index(min(names))


def main(given: argparse.Namespace) -> None:
    """Make each file, measure, print."""
    cells, genes = (3_000, 40) if given.smoke else (given.cells, given.genes)
    figures: dict[str, Any] = {}
    rows = []
    for kind in given.kinds.split(","):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / "screen.h5ad"
            make(path, kind, cells=cells, genes=genes, density=given.density)
            gib = path.stat().st_size / 2**30
            subjects = {"pass": (prepare_pass, path), "ours": (prepare_ours, path)}
            found = take_turns(subjects, rounds=1 if given.smoke else given.rounds)
            right = abs(found["ours"].answer["mean"] - by_hand(path)) < 1e-5
        ratio = found["ours"].median / found["pass"].median
        figures[kind] = {name: one.plain() for name, one in found.items()} | {"ratio": ratio, "right": right}
        rows.append((kind, gib, found["pass"].median, found["ours"].median, ratio, found["ours"].peak_gib, str(right)))
    table(["", "file GiB", "pass, s", "ours, s", "ratio", "peak GiB", "mean right"], rows)
    write("h5ad", given, {"cells": cells, "genes": genes} | figures)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--cells", type=int, default=10**6)
    parser.add_argument("--genes", type=int, default=2_000)
    parser.add_argument("--density", type=float, default=0.08, help="the share of numbers that are not 0")
    parser.add_argument("--kinds", default="csr,csr gzip,csc,dense")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where files are made: the dense one has 8 GB")
    main(parser.parse_args())
