"""A study as one HTML page: each claim beside what was measured, the figures with every seed, every run as a list."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from recombine.base.grades import Grade
from recombine.base.records import Record
from recombine.base.words import measure, span
from recombine.output import page_frame
from recombine.output.figure_layout import drawn
from recombine.output.headline import Headline, whole
from recombine.output.notebook_view import first_image
from recombine.output.page import Page
from recombine.output.page_frame import Data
from recombine.output.page_lists import table_list
from recombine_studies.claims import asked

_LISTED = {"claims": "Claims", "described": "What the paper describes", "runs": "Runs"}
"""The tables that a page lists; what steps measured is in figures and in files."""
_PACKAGE = "recombine_studies"
MEANING: Mapping[Grade, str] = {
    "sound": "every claim holds here, in every comparison",
    "plausible": "every claim that could be tested holds here, at least in part",
    "weak": "some claims hold here, and some do not or are mixed",
    "failing": "no claim holds here",
    "untested": "not enough evidence to say",
}
"""The scale of grades for a paper's claims, each checked against a threshold of its own."""


@page_frame.page_of("study", called="a study", command="study run NAME")
def study_page(record: Record) -> str:
    """The complete page of a study's record."""
    data = record.data
    return page_frame.render(
        "study.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["ready.js"],
        package=_PACKAGE,
        own_headline=_headline(data),
        meaning=MEANING,
        payload={},
        lists=[
            table_list(_varying(record.tables[name]), title=title, file=f"{name}.csv", plain=True)
            for name, title in _LISTED.items()
            if name in record.tables and len(record.tables[name]) > 1
        ],
        figures=[drawn(figure) for figure in data["figures"]],
        claims=[_claim(one) for one in data["findings"]],
        time=span(data["seconds"]),
    )


def _varying(table: pa.Table) -> pa.Table:
    """The columns in which rows differ; the others are in the Parquet file, and say nothing here.

    >>> _varying(pa.table({"seed": [0, 1], "task": ["sums", "sums"]})).column_names
    ['seed']
    """
    return table.select([name for name in table.column_names if len({str(one) for one in table[name].to_pylist()}) > 1])


def _claim(finding: Data) -> Mapping[str, Any]:
    return {**finding, "comparisons": [compared(one) for one in finding["comparisons"]]}


def compared(one: Data) -> str:
    """A comparison in words: its number, its interval, the seeds, and the threshold.

    >>> compared({"name": "R²", "value": 0.9, "low": 0.88, "high": 0.92, "n": 3, "rule": ">=", "threshold": 0.8})
    'R² 0.9 (0.88 to 0.92, n = 3; asked ≥ 0.8)'
    """
    wanted = f"asked {asked(one['rule'], one['threshold'])}"
    if one.get("lacks"):
        return f"{one['name']}: not applicable, {one['lacks']}"
    if one["value"] is None:
        return f"{one['name']} not known ({wanted})"
    seeds = f", n = {one['n']}" if one["n"] > 1 else ""
    sure = "" if one["low"] is None or one["low"] == one["high"] else f"{measure(one['low'])} to {measure(one['high'])}"
    return f"{one['name']} {measure(one['value'])} ({f'{sure}{seeds}; ' if sure else ''}{wanted})"


def _headline(data: Data) -> Headline:
    findings = data["findings"]
    held = sum(one["outcome"] == "holds" for one in findings)
    partly = sum(one["outcome"] == "holds in part" for one in findings)
    notes = [f"{whole(partly)} more in part"] if partly else []
    return Headline(f"{whole(held)} of {whole(len(findings))}", f"claims hold here, of {data['paper']}", notes)


PAGE = Page(study_page, first_image, MEANING)
