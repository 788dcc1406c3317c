"""Pictures and arrays from files that may hold anything: what they are is checked before they are decoded.

Pillow opens what a file holds, whatever its name says, and hands PostScript to Ghostscript, another program. So only
formats that Pillow decodes itself are opened. How large a picture is stands in its first bytes: one that would fill the
memory is refused by these, whether they tell the truth or not.
"""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SourceError
from recombine.base.plugins import needed

ENDINGS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""How the names of pictures end, and what Pillow calls their formats."""
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
MOST_PIXELS = 2**26
"""Of a picture: 8,192 × 8,192, which are 200 MB in memory. A network or a kernel looks at far smaller ones."""


def read_picture(content: Path | bytes, *, name: str) -> Any:
    """A picture of Pillow's, decoded; `name` is what a sentence calls it."""
    image = needed("PIL.Image", "inputs that are pictures", extra="examples")
    held = content if isinstance(content, Path) else io.BytesIO(content)
    try:
        # Pillow warns of size, where our limit is stricter, and of odd metadata.
        with warnings.catch_warnings(action="ignore"), image.open(held, formats=FORMATS) as opened:
            _check_size(opened, name)
            opened.load()
            return opened.copy()
    except SourceError:
        raise
    except image.DecompressionBombError as error:
        raise _too_large(name, str(error)) from error
    except Exception as error:  # decoders raise whatever they stumble over: SyntaxError, struct.error, IndexError
        known = f"Pillow reads none of {', '.join(FORMATS)} in it"
        unknown = isinstance(error, image.UnidentifiedImageError)
        why = known if unknown else getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise SourceError(
            f"cannot read the picture {name}",
            why=why.splitlines()[0],
            instead="give whole PNG, JPEG, BMP, GIF, WebP or TIFF files; a column names them from the table's folder",
        ) from error


def _check_size(opened: Any, name: str) -> None:
    width, height = opened.size
    if width * height > MOST_PIXELS:
        raise _too_large(name, f"it says that it has {width:,} × {height:,} pixels")


def _too_large(name: str, why: str) -> SourceError:
    return SourceError(
        f"the picture {name} is too large",
        why=f"{why}; at most {MOST_PIXELS:,} pixels are decoded",
        instead="make it smaller first, or leave it out",
    )


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array in a .npy file, mapped: rows of numbers, at least one of each."""
    try:
        with np.errstate(over="ignore"):  # of a size that no file has, which is refused
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise TypeError("it is an archive of several arrays")
    except Exception as error:  # a header is Python's own syntax, and what is wrong in it is raised as anything
        raise SourceError(
            f"cannot read '{path}'",
            why=getattr(error, "strerror", None) or (str(error) or type(error).__name__).splitlines()[0],
            instead="write it with numpy.save, as an array of numbers",
        ) from error
    if array.ndim == 0 or min(array.shape) < 1:
        raise SourceError(
            f"'{path}' holds an array of shape {array.shape}",
            why="there is no number in it for each row of the table",
            instead="write it with numpy.save, as an array of numbers whose first axis is the row",
        )
    return array
