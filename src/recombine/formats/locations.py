"""Where a table lies, as a code host names it: a path from where the command ran, or an address."""

import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from recombine.redaction import redacted

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")  # of two letters or more: one is a disk of Windows


def relative_path(source: str) -> str | None:
    """The path of a table within the current folder; None for what lies elsewhere.

    >>> relative_path("data/my table.csv"), relative_path("s3://bucket/table.csv")
    ('data/my table.csv', None)
    """
    if _ADDRESS.match(source):
        return None
    here = Path.cwd()
    try:
        return PurePosixPath((here / source).resolve().relative_to(here.resolve())).as_posix()
    except (ValueError, OSError, RuntimeError):  # it lies above, or its links go in a circle
        return None


def address(source: str) -> str:
    """The same as a URI: relative where it lies here, whole where it does not, and without passwords.

    >>> address("data/my table.csv"), address("s3://bucket/table.csv")
    ('data/my%20table.csv', 's3://bucket/table.csv')
    """
    within = relative_path(source)
    if within is not None:
        return quote(os.fsencode(within))  # a name need not be text
    if _ADDRESS.match(source):
        return quote(redacted(source), safe=":/?#[]@!$&'()*+,;=%")
    return Path(source).absolute().as_uri()
