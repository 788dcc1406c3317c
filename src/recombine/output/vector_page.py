"""An evaluation of vectors as one HTML page: how far each score lies between the mean and what noise allows, the simple
rules beside it, and every combination and output.
"""

from recombine.base.records import Record
from recombine.output import page_frame
from recombine.output.headline import decimal, percent, value
from recombine.output.page_frame import Data
from recombine.output.page_lists import PageList, table_list
from recombine.output.pictures import Bar, Bars

_RULES = (
    ("r2", "R²"),
    ("rms", "root mean square"),
    ("cosine_control", "cosine from control"),
    ("pearson_control", "Pearson from control"),
    ("cosine_mean", "cosine from mean"),
    ("discrimination", "discrimination"),
)


@page_frame.page_of("vector_evaluation", called="an evaluation of vectors", command="evaluate")
def vector_page(record: Record) -> str:
    """The complete page of an evaluation of vectors.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "Not enough evidence.", "grade": "untested", "rows": 3, "combinations": 3, "trained": 2}
    >>> data |= {"sides": [], "rules": [], "reasons": [], "expected": None}
    >>> "Not enough evidence." in vector_page(Record("vector_evaluation", data, {}, Provenance(source="screen.csv")))
    True
    """
    data = record.data
    shown = [(key, title) for key, title in _RULES if any(one[key] is not None for one in data["rules"])]
    return page_frame.render(
        "vector_evaluation.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["ready.js"],
        payload={},
        lists=_lists(record),
        reach=reach_bars(data),
        sides=[(value(side["name"]), [_score_row(one) for one in side["scores"]]) for side in data["sides"]],
        rule_titles=[title for _, title in shown],
        rules=[(value(one["name"]), one["told"], [decimal(one[key]) for key, _ in shown]) for one in data["rules"]],
    )


def _score_row(one: Data) -> tuple[str, str, str, str, str, str]:
    around = "none" if one["low"] is None else f"{decimal(one['low'])} to {decimal(one['high'])}"
    ends = (decimal(one["negative"]), decimal(one["positive"]))
    return value(one["name"]), decimal(one["value"]), around, *ends, percent(one["reached"])


def reach_bars(data: Data) -> Bars:
    """Of each score on unseen combinations, how much of the way from the mean to what noise allows was gone."""
    scores = [one for side in data["sides"] if side["name"] == "unseen" for one in side["scores"]]
    bars = [
        Bar(
            value(one["name"]), 100 * min(max(one["reached"], 0.0), 1.0), percent(one["reached"]), decimal(one["value"])
        )
        for one in scores
        if one["reached"] is not None
    ]
    return Bars(bars, "Unseen combinations: of the way from what the mean gets to what the noise of the rows allows.")


def _lists(record: Record) -> list[PageList]:
    tables = record.tables
    titles = {"combinations": "Every tested combination", "outputs": "Every output, on unseen combinations"}
    return [
        table_list(tables[name], title=title, file=f"{name}.csv") for name, title in titles.items() if name in tables
    ]
