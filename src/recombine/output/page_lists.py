"""A table of a result as a list of its page: sortable, and whole as a download."""

from typing import Any

import pyarrow as pa

from recombine.output import page_frame
from recombine.output.page_frame import shown_of

_DOWNLOADED = 5_000


def whole_table(name: str, table: pa.Table) -> dict[str, Any]:
    """A table of the result, as many lines as a page holds."""
    shown = page_frame.listed(max(1, table.num_columns))
    rows = [list(row.values()) for row in table.slice(0, _DOWNLOADED).to_pylist()]
    numbers = (pa.types.is_integer, pa.types.is_floating)
    numeric = [k for k, field in enumerate(table.schema) if any(is_one(field.type) for is_one in numbers)]
    listed = {
        "title": name.replace("_", " ").capitalize(),
        "file": f"{name}.csv",
        "lead": f"{shown_of(min(shown, len(rows)), table.num_rows)} shown.",
        "columns": table.column_names,
        "numeric": numeric,
        "plain": [k for k in range(table.num_columns) if k not in numeric],
        "rows": rows[:shown],
        "download": {"columns": table.column_names, "rows": page_frame.within(rows)},
    }
    return page_frame.bounded(listed)
