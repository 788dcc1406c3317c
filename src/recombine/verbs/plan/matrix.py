"""What to collect as rows that other tools take: a spreadsheet, PICT's table, the matrix of a CI server."""

import csv
import io
import json
from typing import Literal

import pyarrow as pa

from recombine.base.words import text


def write_matrix(rows: pa.Table, form: Literal["csv", "tsv", "json"]) -> str:
    """Combinations in one of three forms; `include` is what GitHub and GitLab call the rows of a matrix.

    >>> rows = pa.table({"os": ["iOS", "Linux"], "browser": ["Safari", "Firefox"]})
    >>> print(write_matrix(rows, "csv").strip())
    os,browser
    iOS,Safari
    Linux,Firefox
    >>> print(write_matrix(rows.slice(0, 1), "json"))
    {"include": [{"os": "iOS", "browser": "Safari"}]}
    """
    cells = [{name: text(value) for name, value in row.items()} for row in rows.to_pylist()]
    if form == "json":
        return json.dumps({"include": cells}, ensure_ascii=False)
    written = io.StringIO()
    lines = csv.DictWriter(
        written, rows.column_names, dialect="excel-tab" if form == "tsv" else "excel", lineterminator="\n"
    )
    lines.writeheader()
    lines.writerows(cells)
    return written.getvalue()
