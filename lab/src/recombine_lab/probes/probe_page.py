"""A probe as one HTML page: the outcome, matrices, curves from layer to layer, fields, and every measure as a list.

What is drawn is in the record (`output/figures.py`); `output/figure_layout.py` turns it into places and colours.
"""

from collections.abc import Mapping

from recombine.base.grades import Grade
from recombine.base.records import Record
from recombine.output import page_frame
from recombine.output.figure_layout import drawn
from recombine.output.headline import Headline, decimal
from recombine.output.notebook_view import first_figure
from recombine.output.page import Page
from recombine.output.page_frame import Data
from recombine.output.page_lists import table_list

_PACKAGE = "recombine_lab.probes"
_ABOUT = {
    "support": "Every measure speaks of the components' outputs, by the Jacobian of the composition with respect to"
    " them.",
    "geometry": "Each measure stands beside the same measure of things that cannot compose: a table of unrelated"
    " vectors, random features, the same features with shuffled factors, the network before training.",
    "influence": "What an answer hangs on: inputs are swapped, permuted and followed by derivatives.",
    "subnetworks": "Masks are searched on one component alone and judged by what is lost when they are taken out."
    " The same search, with the same budget, is run on controls in which nothing can be found.",
}

MEANING: Mapping[Grade, str] = {
    "sound": "measured, and beyond every control with its whole interval",
    "plausible": "beyond its controls, if something holds that was not tested here",
    "weak": "measured, and not beyond every control",
    "failing": "measured, and the answer is no",
    "untested": "not enough evidence to say",
}
"""The scale of grades where nothing is forecast and nothing held out, but measured beside controls."""


@page_frame.page_of("probe", called="a probe", command="probe")
def probe_page(record: Record) -> str:
    """The complete page of a probe's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "Nothing was found.", "grade": "untested", "rows": 3, "probe": "geometry"}
    >>> data |= {"outcome": "unclear", "figures": [], "reasons": [], "numbers": {}}
    >>> "Nothing was found." in probe_page(Record("probe", data, {}, Provenance(source="network")))
    True
    """
    data = record.data
    return page_frame.render(
        "probe.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["ready.js"],
        package=_PACKAGE,
        own_headline=_headline(data),
        meaning=MEANING,
        payload={},
        lists=[
            table_list(table, title=name.replace("_", " ").capitalize(), file=f"{name}.csv", plain=True)
            for name, table in record.tables.items()
            if len(table)
        ],
        figures=[drawn(figure) for figure in data["figures"]],
        about=_ABOUT.get(data["probe"], ""),
    )


def _headline(data: Data) -> Headline:
    numbers = [f"{name} {decimal(number)}" for name, number in data["numbers"].items() if number is not None]
    return Headline(str(data["outcome"]).capitalize(), f"is what the probe of {data['probe']} says", numbers[:3])


PAGE = Page(probe_page, first_figure, MEANING)
