"""Splits as cell-load writes them, in a TOML: which files there are, and which perturbations are tested in which cells.

    [datasets]                       a name for a folder, file or pattern of AnnData files
    replogle = "data/replogle/"
    [training]                       every cell type of it is trained on, but those below
    replogle = "train"
    [zeroshot]                       a cell type that is tested as a whole
    "replogle.jurkat" = "test"
    [fewshot."replogle.rpe1"]        perturbations that are tested in a cell type whose others are trained on
    val = ["AARS"]
    test = ["AARS", "NUP107"]

The table has the rows of all files with the side of each, so that `recombine lint split.toml --factors gene,cell_type`
asks of it what it asks of any split. A row that is on two sides (val and test may overlap) stands there twice.
"""

import glob
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base.errors import ColumnError, SourceError
from recombine.base.words import listing
from recombine.data.anndata import READER as ANNDATA
from recombine.data.readers import Reader

_PERTURBATIONS = ("gene", "target_gene", "perturbation", "condition")
_CELLS = ("cell_type", "cell_line", "celltype", "cell_types")
_FILES = (".h5ad", ".h5")


def _read(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """All rows of all datasets, with their side in the column `split`."""
    with path.open("rb") as file:
        told = tomllib.load(file)
    if not isinstance(told.get("datasets"), dict):
        raise SourceError(
            f"'{path}' names no datasets",
            why="a TOML is read as a split of cell-load, which has a table [datasets]",
            instead='give a table, or write [datasets] with a line such as replogle = "data/replogle/"',
        )
    parts = [
        _with_sides(rows, name, told)
        for name, place in told["datasets"].items()
        for rows in _rows(path, str(place), columns)
    ]
    return pa.concat_tables(parts, promote_options="default")


def _rows(path: Path, place: str, columns: Sequence[str] | None) -> list[pa.Table]:
    """The tables of the files that a dataset names, beside the TOML or from here."""
    found = [one for root in (Path(), path.parent) for one in sorted(glob.glob(str(root / place)))]  # noqa: PTH207
    folders = [Path(one) for one in found if Path(one).is_dir()]
    files = [Path(one) for one in found if Path(one).is_file()]
    files += [one for folder in folders for one in sorted(folder.iterdir()) if one.suffix in _FILES]
    if not files:
        raise SourceError(
            f"no file '{place}', which '{path}' names",
            why="there is no such AnnData file, nor a folder that holds any",
            instead="correct the path in [datasets]",
        )
    wanted = None if columns is None else [*columns, *_PERTURBATIONS, *_CELLS]
    return [_plain(ANNDATA.read(one, wanted)) for one in dict.fromkeys(files)]


def _plain(rows: pa.Table) -> pa.Table:
    """Categories as text: those of two files differ."""
    names = [one.name for one in rows.schema if pa.types.is_dictionary(one.type)]
    for name in names:
        rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(pa.string()))
    return rows


def _with_sides(rows: pa.Table, dataset: str, told: Mapping[str, Any]) -> pa.Table:
    """The rows of a file on each side that they are on; those that nobody speaks of are left out."""
    rows = rows.drop_columns([name for name in ("split", "dataset") if name in rows.column_names])
    given, cells = (_named(rows, among) for among in (_PERTURBATIONS, _CELLS))
    sides = {side: np.zeros(len(rows), dtype=bool) for side in ("train", "val", "test")}
    for kind in np.unique(cells):
        mine, key = cells == kind, f"{dataset}.{kind}"
        whole, some = told.get("zeroshot", {}).get(key), told.get("fewshot", {}).get(key)
        if whole in sides:
            sides[whole] |= mine
            continue
        held = np.zeros(len(rows), dtype=bool)
        for side in ("val", "test"):
            chosen = mine & np.isin(given, list((some or {}).get(side, ())))
            sides[side] |= chosen
            held |= chosen
        if some is not None or dataset in told.get("training", {}):
            sides["train"] |= mine & ~held
    parts = [
        rows.filter(pa.array(on)).append_column("split", pa.array([side] * int(on.sum()), pa.string()))
        for side, on in sides.items()
    ]
    return pa.concat_tables(parts).append_column("dataset", pa.array([dataset] * sum(map(len, parts)), pa.string()))


def _named(rows: pa.Table, among: Sequence[str]) -> np.ndarray[Any, Any]:
    name = next((one for one in among if one in rows.column_names), None)
    if name is None:
        raise ColumnError(
            f"no column {listing([repr(one) for one in among])}",
            why="cell-load tells cells by a perturbation and a cell type",
            instead=f"rename the column that is meant to {among[0]!r}",
        )
    return np.array([str(value) for value in rows[name].to_pylist()])


READER = Reader("cell-load", Path.is_file, _read, install="pip install 'recombine[anndata]'")
