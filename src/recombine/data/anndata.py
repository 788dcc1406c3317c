"""AnnData files: cells with a table of what was done to them (`obs`), and a matrix with a row for each cell.

`.h5ad` is read through h5py, a `.zarr` folder through zarr; anndata itself is not needed. A table is `obs` alone, so
that `X` may be as large as it likes. `X`, `raw`, `layer:NAME` and `obsm:NAME` are arrays beside it, read in blocks.

How a column of `obs` was written by which version, all of which are read:

| by | categories | missing numbers |
|---|---|---|
| 0.8 and later | a group of `codes` and `categories` | a group of `values` and `mask` |
| 0.7 | a column of codes with a reference to `__categories` | |
| before | a field of one compound table; the names in `uns/NAME_categories` | |
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, RecombineError, SourceError
from recombine.base.words import listing
from recombine.data.engine_errors import first_line
from recombine.data.perturbation_columns import recognise
from recombine.data.readers import Convention, Reader
from recombine.data.stored_arrays import StoredArray
from recombine.numerics.groups import stretches

_HDF5 = b"\x89HDF\r\n\x1a\n"


def _holds(path: Path) -> bool:
    return path.is_dir() if path.suffix.lower() == ".zarr" else path.is_file()


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The root of a file or folder, while it is read; what is wrong with it is said in words."""
    try:
        if path.is_dir():
            import zarr  # noqa: PLC0415 - an extra

            yield zarr.open_group(str(path), mode="r")
        else:
            import h5py  # noqa: PLC0415 - an extra

            with h5py.File(path, "r") as file:
                yield file
    except (RecombineError, ImportError):
        raise
    except Exception as error:
        raise SourceError(f"cannot read '{path}'", why=_why(path, error), instead=_remedy(path)) from error


def _is_other(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_HDF5)) != _HDF5


def _why(path: Path, error: Exception) -> str:
    if path.is_file() and _is_other(path):
        return "it does not begin as HDF5 files do" if path.stat().st_size else "it has 0 bytes"
    return f"it is cut short or damaged, or written in a way that is not known here ({first_line(error)})"


def _remedy(path: Path) -> str:
    if path.is_file() and _is_other(path):
        return "give a file that anndata's write_h5ad wrote; a download may have left a page or a pointer in its place"
    return "copy or download it again; or write it anew with anndata: adata.write_h5ad('again.h5ad')"


def _attribute(node: Any, name: str) -> Any:
    found = node.attrs.get(name)
    return found.decode() if isinstance(found, bytes) else found


def _is_group(node: Any) -> bool:
    return hasattr(node, "keys")


def _obs(root: Any, path: Path) -> dict[str, Callable[[], pa.Array]]:
    """The columns of `obs`, each to be read when it is asked for; the names of the cells stand last."""
    if "obs" not in root:
        several = "mod" in root
        raise SourceError(
            f"'{path}' holds no table 'obs'",
            why="it holds several AnnData (mod)" if several else f"it holds {listing(list(root)[:8]) or 'nothing'}",
            instead="write one of them: mdata['rna'].write_h5ad('rna.h5ad')" if several else "give an AnnData file",
        )
    obs = root["obs"]
    if not _is_group(obs):
        return {name: partial(_of_compound, root, obs, name) for name in obs.dtype.names or ()}
    index = str(_attribute(obs, "_index") or "_index")
    order = obs.attrs.get("column-order")
    names = [one.decode() if isinstance(one, bytes) else str(one) for one in (obs.keys() if order is None else order)]
    held = [name for name in dict.fromkeys([*names, index]) if name in obs and not name.startswith("__")]
    return {name: partial(_column, obs, name) for name in held}


def _column(obs: Any, name: str) -> pa.Array:
    node = obs[name]
    if not _is_group(node):
        refers = node.attrs.get("categories")
        if refers is None:
            return _plain(node[...], name)
        return _categorical(node[...], _plain((obs if isinstance(refers, str) else obs.file)[refers][...], name))
    if "codes" in node:
        return _categorical(node["codes"][...], _plain(node["categories"][...], name))
    if "values" in node:
        values = _plain(node["values"][...], name)
        return pa.array(values.to_pylist(), values.type, mask=node["mask"][...]) if "mask" in node else values
    raise _unknown(name, _attribute(node, "encoding-type") or "a group")


def _of_compound(root: Any, obs: Any, name: str) -> pa.Array:
    values, names = obs[name], f"uns/{name}_categories"
    return _categorical(values, _plain(root[names][...], name)) if names in root else _plain(values, name)


def _unknown(name: str, kind: Any) -> ColumnError:
    return ColumnError(
        f"the column {name!r} is stored as {kind}",
        why="only text, numbers, yes or no and categories are values",
        instead="name another column, or turn it into text before the file is written",
    )


def _categorical(codes: Any, categories: pa.Array) -> pa.Array:
    codes = np.asarray(codes)
    found = pa.array(codes.astype(np.int32), mask=codes < 0)
    if not pa.types.is_string(categories.type):
        return categories.take(found)
    return pa.DictionaryArray.from_arrays(found, categories)


def _plain(values: Any, name: str) -> pa.Array:
    values = np.asarray(values)
    kind = values.dtype.kind
    if values.ndim != 1 or kind in "cVmM":
        raise _unknown(name, f"an array of {values.ndim} dimensions and type {values.dtype}")
    if kind in "biuf":
        wide = values.astype(np.float32) if values.dtype.itemsize == 2 and kind == "f" else values
        return pa.array(wide.astype(wide.dtype.newbyteorder("="), copy=False))
    items = values.tolist()
    if any(isinstance(one, bytes) for one in items):
        return pa.array(items, pa.binary()).cast(pa.string())
    return pa.array([None if one is None else str(one) for one in items], pa.string())


def _read(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """`obs`, or some of its columns; one that is no column of values is left out unless it is asked for."""
    with _opened(path) as root:
        held, found = _obs(root, path), {}
        for name, read in held.items():
            if columns is None or name in columns:
                try:
                    found[name] = read()
                except ColumnError:
                    if columns is not None:
                        raise
        if not found and held:  # a question without a column that is there: a later one says which there are
            found = {name: read() for name, read in list(held.items())[-1:]}
        lengths = {len(column) for column in found.values()}
        if len(lengths) != 1:
            raise SourceError(
                f"'{path}' has a table 'obs' {'whose columns differ in length' if lengths else 'without a column'}",
                why="each cell has one value in each column",
                instead="write the file again with anndata",
            )
        return pa.table(found)


def _recognise(path: Path) -> Convention | None:
    with _opened(path) as root:
        held = _obs(root, path)
        return recognise(held, lambda name: pc.unique(held[name]()).to_pylist())


def _arrays(path: Path) -> Mapping[str, StoredArray]:
    """The matrices with a row for each cell, by the name that a target gives them."""
    with _opened(path) as root:
        places = {"X": "X", "raw": "raw/X"}
        for prefix, group in (("layer", "layers"), ("obsm", "obsm")):
            places |= {f"{prefix}:{name}": f"{group}/{name}" for name in root.get(group, ())}
        shapes = {name: _shape(root, place) for name, place in places.items()}
        return {
            name: StoredArray(
                name,
                shape,
                by_column=_format(root[places[name]]) == "csc",
                names=partial(_outputs, path, places[name], shape[1]),
                blocks=partial(_blocks, path, places[name]),
            )
            for name, shape in shapes.items()
            if shape is not None
        }


def _shape(root: Any, place: str) -> tuple[int, int] | None:
    if place not in root:
        return None
    node = root[place]
    found = node.attrs.get("shape", node.attrs.get("h5sparse_shape")) if _is_group(node) else node.shape
    return (int(found[0]), int(found[1])) if found is not None and len(found) == 2 else None


def _format(node: Any) -> str:
    """How a matrix is stored: dense, csr or csc."""
    if not _is_group(node):
        return "dense"
    said = _attribute(node, "encoding-type") or _attribute(node, "h5sparse_format") or ""
    return str(said).removesuffix("_matrix")


def _outputs(path: Path, place: str, width: int) -> tuple[str, ...]:
    """What the columns of a matrix are called: the genes of `var`, or numbers."""
    table = "raw/var" if place == "raw/X" else "var"
    with _opened(path) as root:
        if place.startswith("obsm/") or table not in root:
            return tuple(map(str, range(width)))
        var = root[table]
        if not _is_group(var):
            index = _plain(var[var.dtype.names[0]], "var")
        else:
            index = _column(var, str(_attribute(var, "_index") or "_index"))
        return tuple(index.to_pylist()) if len(index) == width else tuple(map(str, range(width)))


def _blocks(path: Path, place: str, start: int, stop: int, entries: int) -> Iterator[tuple[slice, Any]]:
    """Rows (or, of CSC, columns) from `start` to `stop`: at most `entries` numbers at a time, one row at least."""
    with _opened(path) as root:
        node = root[place]
        kind = _format(node)
        if kind == "dense":
            chunk = (getattr(node, "chunks", None) or (1,))[0]  # a chunk that is cut is decompressed twice
            rows = max(entries // max(node.shape[1], 1) // chunk, 1) * chunk
            read = _in_turns(node, min(rows, stop - start))
            for first in range(start, stop, rows):
                yield slice(first, min(first + rows, stop)), read(first, min(first + rows, stop))
        elif kind in ("csr", "csc"):
            yield from _sparse_blocks(node, kind, (start, stop), entries)
        else:
            raise _unknown(place, kind)


def _sparse_blocks(node: Any, kind: str, ends: tuple[int, int], entries: int) -> Iterator[tuple[slice, Any]]:
    from scipy import sparse  # noqa: PLC0415 - loaded where vectors are read

    shape = [int(one) for one in node.attrs.get("shape", node.attrs.get("h5sparse_shape"))]
    make, across = (sparse.csr_array, shape[1]) if kind == "csr" else (sparse.csc_array, shape[0])
    bounds = np.asarray(node["indptr"][...], dtype=np.int64)
    if len(bounds) != shape[kind == "csc"] + 1 or (np.diff(bounds) < 0).any() or bounds[-1] > node["data"].shape[0]:
        raise ValueError(f"its matrix {kind} has ends of rows that do not fit it")
    start, stop = ends
    inside = bounds[start : stop + 1]
    most = min(max(entries, int(np.diff(inside).max(initial=0))), int(inside[-1] - inside[0]))
    read_data, read_indices = (_in_turns(node[name], most) for name in ("data", "indices"))
    for first, after in stretches(inside, entries):
        low, high = inside[first], inside[after]
        data, indices = read_data(low, high), read_indices(low, high)
        # what is wrong here would be written outside of an array
        if len(indices) and not 0 <= indices.min() <= indices.max() < across:
            raise ValueError(f"its matrix {kind} has entries outside of its {shape[0]:,} by {shape[1]:,}")
        size = (after - first, across) if kind == "csr" else (across, after - first)
        own = (inside[first : after + 1] - low).astype(np.int32)
        yield slice(start + first, start + after), make((data, indices, own), shape=size)


def _in_turns(node: Any, most: int) -> Callable[[int, int], Any]:
    """How lines of an array are read, `most` at a time: in turns into one of two places.

    Memory that is new costs as much as what is read into it, and of blocks two are looked at: one is added up while
    the next one is read.
    """
    if not hasattr(node, "read_direct"):  # zarr
        return lambda low, high: node[low:high]
    places = cycle([np.empty((most, *node.shape[1:]), dtype=node.dtype) for _ in range(2)])

    def read(low: int, high: int) -> Any:
        found = next(places)[: high - low]
        if high > low:
            node.read_direct(found, np.s_[low:high])
        return found

    return read


READER = Reader(
    "AnnData",
    _holds,
    _read,
    install="pip install 'recombine[anndata]'",
    arrays=_arrays,
    recognise=_recognise,
)
