"""A rehearsal as one HTML page: the score to expect, the rounds, how alike held-out and unseen combinations are."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.records import Record
from recombine.output import page_frame
from recombine.output.headline import decimal, percent, value, whole
from recombine.output.page_frame import Data
from recombine.output.page_lists import PageList, table_list
from recombine.output.pictures import Bar, Bars

_FAR = 4.0  # units: a gap that fills its bar
_ALIKE = 0.5
_NAMES = {
    "open": "answer left open by the others (share)",
    "doubt": "doubt (0 firm, 1 open)",
    "fewest": "combinations with its rarest value (doublings)",
    "most": "combinations with its commonest value (doublings)",
    "near": "combinations that differ in one factor (doublings)",
    "strange": "pairs of values never seen together (doublings)",
    "others": "an element seen with others only",
    "conflict": "distance between what single values suggest",
    "best": "right answer suggested by the best single value",
    "worst": "right answer suggested by the worst single value",
}

_TITLES = {
    "squared_error": "squared error",
    "weight": "counts as",
    "open": "left open",
    "fewest": "rarest value",
    "most": "commonest value",
    "near": "near ones",
    "strange": "strange pairs",
    "others": "with others only",
    "best": "best value",
    "worst": "worst value",
}
"""The trials' columns in a heading, where there is little room."""


@page_frame.page_of("rehearsal", called="a rehearsal", command="rehearse")
def rehearsal_page(record: Record) -> str:
    """The complete page of a rehearsal's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "No score is forecast.", "grade": "untested", "rows": 3, "combinations": 3, "score": "R²"}
    >>> data |= {"rounds": [], "gaps": [], "reasons": [], "learner": "relu:2", "unseen": 1, "expected": None}
    >>> "No score is forecast." in rehearsal_page(Record("rehearsal", data, {}, Provenance(source="shoes.csv")))
    True
    """
    data = record.data
    return page_frame.render(
        "rehearsal.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["ready.js"],
        payload={},
        lists=_trials(record.tables.get("trials")),
        rounds=round_bars(data),
        gaps=_gap_bars(data["gaps"]),
        numbers=[(_called(one["name"]), decimal(one["held_out"]), decimal(one["unseen"])) for one in data["gaps"]],
    )


def _called(name: str) -> str:
    return _NAMES.get(name, name)


def round_bars(data: Data) -> Bars:
    """The score of each round."""
    bars = [
        Bar(
            f"round {number}",
            100 * min(max(one["score"] or 0.0, 0.0), 1.0),
            _score(one["score"], data["score"]),
            f"{whole(one['held_out'])} held out {value(one['way'])}",
        )
        for number, one in enumerate(data["rounds"], start=1)
    ]
    said = "the share of right answers" if data["score"] == "accuracy" else "R²"
    return Bars(bars, f"Each round: trained anew without what is held out; {said} on that.")


def _score(score: float | None, name: str) -> str:
    if score is None:
        return "not known"
    return percent(score) if name == "accuracy" else f"R² {decimal(score)}"


def _gap_bars(gaps: Sequence[Data]) -> Bars:
    """How far apart held-out and unseen combinations are in each number, the furthest first."""
    ranked = sorted(gaps, key=lambda one: -abs(one["units"]))
    bars = [
        Bar(
            _called(one["name"]),
            100 * min(abs(one["units"]) / _FAR, 1.0),
            "alike" if abs(one["units"]) < _ALIKE else f"{decimal(abs(one['units']))} units",
        )
        for one in ranked
    ]
    return Bars(bars, "How far the unseen combinations lie from the held-out ones as they count, on average.")


def _trials(table: pa.Table | None) -> list[PageList]:
    """Every held-out combination, what counts most first; rounds are counted from 1, as in the picture."""
    if table is None or "weight" not in table.column_names:
        return []
    ordered = table.sort_by([("weight", "descending")])
    columns = []
    for name, column in zip(ordered.column_names, ordered.columns, strict=True):
        rounded = pc.round(column, 3) if pa.types.is_floating(column.type) else column
        columns.append(pc.add(column, 1) if name == "round" else rounded)
    titled = pa.Table.from_arrays(columns, names=[_TITLES.get(name, name) for name in ordered.column_names])
    title = "Held-out combinations, those that count most first"
    return [table_list(titled, title=title, file="trials.csv")]
