"""A study as one HTML page: each claim beside what was measured, the figures with every seed, every run as a list."""

from collections.abc import Mapping
from typing import Any

from recombine.grades import OF_STUDIES
from recombine.records import Record
from recombine.report import frame
from recombine.report.figures import drawn
from recombine.report.frame import Data
from recombine.report.lists import whole_table
from recombine.words import measure, span


@frame.page_of("study", called="a study", command="study run NAME")
def study_page(record: Record) -> str:
    """The complete page of a study's record."""
    data = record.data
    return frame.render(
        "study.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["page.js", "save.js", "ready.js"],
        why=OF_STUDIES,
        payload={},
        lists=[whole_table(name, table) for name, table in record.tables.items() if len(table)],
        figures=[drawn(figure) for figure in data["figures"]],
        claims=[_claim(one) for one in data["findings"]],
        time=span(data["seconds"]),
    )


def _claim(finding: Data) -> Mapping[str, Any]:
    return {**finding, "comparisons": [compared(one) for one in finding["comparisons"]]}


def compared(one: Data) -> str:
    """A comparison in words: its number, its interval, the seeds, and the threshold.

    >>> compared({"name": "R²", "value": 0.9, "low": 0.88, "high": 0.92, "n": 3, "rule": ">=", "threshold": 0.8})
    'R² 0.9 (0.88 to 0.92, 3 seeds; asked ≥ 0.8)'
    """
    rule = {">=": "≥", "<=": "≤"}.get(one["rule"], one["rule"])
    asked = f"asked {rule} {measure(one['threshold'])}"
    if one["value"] is None:
        return f"{one['name']} not known ({asked})"
    seeds = f", {one['n']} seeds" if one["n"] > 1 else ""
    sure = "" if one["low"] is None or one["low"] == one["high"] else f"{measure(one['low'])} to {measure(one['high'])}"
    return f"{one['name']} {measure(one['value'])} ({f'{sure}{seeds}; ' if sure else ''}{asked})"
