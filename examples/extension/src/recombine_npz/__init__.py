"""NumPy's `.npz` archives as tables: every array is a column, and all have one length."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from recombine import RecombineError
from recombine.data.readers import Reader


def holds(path: Path) -> bool:
    """Known by the name: this is asked of every file whose ending recombine does not know."""
    return path.suffix == ".npz"


def read(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """The columns that are asked for; all of them where one is not there, so that the nearest name is suggested."""
    with np.load(path, allow_pickle=False) as archive:
        asked = archive.files if columns is None or not set(columns) <= set(archive.files) else columns
        return pa.table({name: archive[name] for name in asked})


READER = Reader("NumPy", holds, read)


def columns(file: Annotated[Path, typer.Argument(help="An .npz archive.")]) -> None:
    """Name the columns of an archive."""
    try:
        names = read(file, None).column_names
    except Exception as error:  # what a reader raises is told in words by the verbs, and here by us
        why = str(error).partition("\n")[0]
        raise RecombineError(f"cannot read '{file}'", why=why, instead="name an .npz archive") from error
    typer.echo("\n".join(names))
