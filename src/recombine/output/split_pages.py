"""A lint and a split as one HTML page each: the answer, the sides, a line for each check, and the culprits."""

from collections.abc import Sequence

from recombine.base.records import Record
from recombine.output import page_frame
from recombine.output.headline import whole
from recombine.output.page_frame import Data
from recombine.output.page_lists import PageList, table_list
from recombine.output.pictures import Bar, Bars


@page_frame.page_of("lint", called="a lint", command="lint")
def lint_page(record: Record) -> str:
    """The complete page of a lint's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "There is no test side.", "grade": "untested", "rows": 0, "combinations": 0}
    >>> data |= {"sides": [], "checks": [], "expect": "combinations"}
    >>> "There is no test side." in lint_page(Record("lint", data, {}, Provenance(source="shoes.csv")))
    True
    """
    data = record.data
    checks = [(one["name"], one["verdict"], one["sentence"]) for one in data["checks"]]
    return _page(record, "Lint of", checks, [_culprits(one, record.tables) for one in data["checks"]])


@page_frame.page_of("split", called="a split", command="split")
def split_page(record: Record) -> str:
    """The complete page of a split's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "2 of 4 are held out.", "grade": "sound", "rows": 4, "combinations": 4}
    >>> data |= {"sides": [], "invariants": []}
    >>> "2 of 4 are held out." in split_page(Record("split", data, {}, Provenance(source="shoes.csv")))
    True
    """
    words = {True: "pass", False: "fail", None: "not asked"}
    checks = [(one["name"], words[one["holds"]], one["sentence"]) for one in record.data["invariants"]]
    table = record.tables.get("assignment")
    title = "Every combination and its side"
    listed = None if table is None else table_list(table, title=title, file="assignment.csv")
    return _page(record, "Split of", checks, [listed])


def _page(record: Record, title: str, checks: Sequence[tuple[str, str, str]], lists: Sequence[PageList | None]) -> str:
    return page_frame.render(
        "split.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["ready.js"],
        payload={},
        lists=[one for one in lists if one],
        title=title,
        sides=side_bars(record.data["sides"], record.data.get("rungs", ())),
        checks=checks,
    )


def side_bars(sides: Sequence[Data], rungs: Sequence[Data] = ()) -> Bars:
    """How much of the rows each side has, and each kind of held-out sets, where these have names."""
    total = sum(one["rows"] for one in sides) or 1
    bars = [
        Bar(
            one["name"],
            100 * one["rows"] / total,
            f"{whole(one['rows'])} rows, {whole(one['combinations'])} combinations",
        )
        for one in (*sides, *rungs)
    ]
    return Bars(bars, "The share of the rows on each side.")


def _culprits(check: Data, tables: Data) -> PageList | None:
    table = tables.get(f"culprits_{check['name']}")
    if table is None:
        return None
    return table_list(table, title=f"Culprits: {check['name']}", file=f"{check['name']}.csv", total=check["culprits"])
