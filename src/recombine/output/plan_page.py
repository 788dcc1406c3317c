"""A plan as one HTML page that needs nothing but itself.

What the budget buys is drawn first, then the list that somebody takes along to collect; all of it without a script.
"""

from collections.abc import Sequence

import pyarrow as pa

from recombine.base.records import Record
from recombine.output import page_frame, plan_pictures
from recombine.output.page_lists import Data, PageList, Rows, bounded, listed, names_of, shown_of, within

DOWNLOADED, DOWNLOADED_SIGNS = 5_000, 600_000


@page_frame.page_of("plan", called="a plan", command="plan")
def plan_page(record: Record) -> str:
    """The complete page of a plan's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "Nothing is missing.", "grade": "complete", "rows": 3, "combinations": 3, "space": 3}
    >>> data |= {"goal": "pairs", "measure": {"name": "pairs covered", "today": 3, "better": "higher", "full": 3}}
    >>> "Nothing is missing." in plan_page(Record("plan", data, {}, Provenance(source="clothes.csv")))
    True
    """
    data = record.data
    replayed = data.get("replay")
    return page_frame.render(
        "plan.html.j2",
        record,
        styles=["page.css", "plots.css", "plan.css"],
        scripts=["ready.js"],
        payload={},
        lists=collecting(data, record.tables.get("lines")),
        curve=plan_pictures.curve(data),
        replay=plan_pictures.replay(replayed),
        replay_words=plan_pictures.replay_words(replayed) if replayed else "",
        blocked=plan_pictures.blocked(data.get("blocked")),
        reasons=[one for one in data.get("reasons") or [] if one != (replayed or {}).get("said")],
    )


def collecting(data: Data, lines: pa.Table | None) -> list[PageList]:
    """The ordered list of what to collect; its download holds every column, and far more lines."""
    found = list(data.get("lines") or [])
    if not found:
        return []
    names, costed = names_of(found), plan_pictures.costed(data)
    found = found[: listed(len(names) + 6)]
    numbers = [*(("cost", "spent") if costed else ()), "gain", "after"]
    titles = [*numbers[:-1], data["measure"]["name"]]
    rows = [
        [place, *(one["combination"].get(name) for name in names), *(one.get(key) for key in numbers), one.get("buys")]
        for place, one in enumerate(found, start=1)
    ]
    total = data.get("line_count", len(found))
    download = None if lines is None else _download(lines)
    last = len(names) + 1 + len(numbers)
    shown = PageList(
        "In this order",
        "plan.csv",
        _lead(len(found), total, 0 if download is None else len(download[1])),
        ["#", *names, *titles, "what it buys"],
        rows,
        numeric=[0, *range(len(names) + 1, last)],
        plain=[last],
        download=download,
    )
    return [shown if download else bounded(shown)]


def _lead(shown: int, total: int, downloaded: int) -> str:
    head = f"{shown_of(shown, total)} combination{'s' * (total != 1)}, in the order in which to collect them."
    if downloaded and downloaded != shown:
        head += f" The download holds {'all' if downloaded == total else 'the first'} {downloaded:,}."
    return head + (" The saved plan holds them all." if max(shown, downloaded) < total else "")


def _download(lines: pa.Table) -> tuple[Sequence[str], Rows]:
    columns = lines.slice(0, DOWNLOADED).to_pydict()
    rows = [[place, *row] for place, row in enumerate(zip(*columns.values(), strict=True), start=1)]
    return ["#", *columns], within(rows, DOWNLOADED_SIGNS)
