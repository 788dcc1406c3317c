"""An audit as one HTML page that needs nothing but itself.

The verdict, the numbers and the lists are plain HTML and need no script. Only the map does: it is drawn on a
canvas by 42 kB of our own script, because no charting library draws seen, determined, undetermined,
novel and impossible cells with fills, tints, hatch and dots, at 278,000 cells, in less than 100 kB of code.
"""

from typing import Any

from recombine.base.grades import Expected, earned
from recombine.base.records import Record
from recombine.numerics.simple_rules import ADDITIVE
from recombine.output import audit_pictures, headline, map_packing, page_frame
from recombine.output.page_lists import Data, PageList, combination_list, listed, shown_of
from recombine.verbs.audit.rule_choice import rule_words


@page_frame.page_of("audit", called="an audit", command="audit")
def audit_page(record: Record) -> str:
    """The complete page of an audit's record.

    >>> from recombine.base.records import Provenance
    >>> counts = dict.fromkeys(("space", "impossible", "seen", "determined", "undetermined", "novel"), 0)
    >>> data = {"verdict": "Nothing was seen.", "grade": "not enough evidence", "rows": 0, "counts": counts}
    >>> page = audit_page(Record("audit", data, {}, Provenance(source="shoes.csv")))
    >>> "Nothing was seen." in page
    True
    """
    data = record.data
    maps = data.get("maps") or []
    cells = map_packing.cells_of_maps(maps, record.tables.get("maps"))
    doubtful, answers = _doubtful(data), _shown_answers(data)
    return page_frame.render(
        "audit.html.j2",
        record,
        styles=["page.css"],
        scripts=["mapview.js", "map.js"],
        payload=map_packing.maps_payload(maps, cells)
        | {"doubtful": doubtful, "answer": answers, "answer_share": answers.startswith("share of ")},
        answers=answers,
        doubtful=doubtful,
        determined_if=_determined_if(data, doubtful=doubtful),
        lists=action_lists(data),
        pairs=[_pair(one, part) for one, part in zip(maps, cells, strict=True)],
        space=audit_pictures.space(data.get("likely") or data["counts"]),
        factors=audit_pictures.factors(data.get("factors") or []),
        coverage=audit_pictures.coverage(data.get("coverage") or []),
        leverage=audit_pictures.leverage(data.get("leverage")),
        leverage_unknown=audit_pictures.unknown_leverages(data.get("leverage")),
        islands=audit_pictures.islands(data.get("islands") or []),
        dependence=audit_pictures.dependence(data.get("dependence") or []),
        redundancy=audit_pictures.redundancy(data.get("redundancy")),
    )


def _doubtful(data: Data) -> bool:
    """Whether that the factors add up was tested and not borne out: what follows from it is then painted so."""
    expected, doubts = data.get("expected"), ("weak", "failing")
    return expected is not None and data["grade"] in doubts and earned(Expected(**expected)) in doubts


def _shown_answers(data: Data) -> str:
    """What the answers on the map are; empty where no target was named."""
    title = data.get("map_answers")
    return headline.shorten(headline.value(title)) if title else ""


def _determined_if(data: Data, *, doubtful: bool) -> str:
    """On what it hangs that a combination is determined, for the legend."""
    if doubtful:
        return "ruled: only if the factors add up, which the test did not bear out"
    chosen = (data.get("additive") or {}).get("chosen", ADDITIVE)
    return (
        "if the factors add up"
        if chosen == ADDITIVE
        else f"if the factors add up; here {rule_words(chosen)} did better"
    )


def action_lists(data: Data) -> list[PageList]:
    """The lists that one acts on: what is thin, weak or undetermined, and values that never occur or meet."""
    leverage, counts = data.get("leverage") or {}, data.get("likely") or data["counts"]
    return [
        *combination_list(
            data.get("thin") or [],
            {"count": "rows", "expected": "rows if independent"},
            title="Hardly seen",
            file="thin.csv",
            lead=lambda shown: (
                f"{shown_of(shown, counts.get('thin', shown))} thin combinations, first those that fall most "
                "short of the rows that they would have if the factors were independent."
            ),
        ),
        *combination_list(
            leverage.get("weakest") or [],
            {"leverage": "leverage"},
            title="Worked out most weakly",
            file="weakest.csv",
            lead=lambda shown: (
                f"{shown_of(shown, leverage.get('of', shown))} determined combinations, the highest leverage first. "
                "An example of one at the top tells more than an example of one at the bottom."
            ),
        ),
        *combination_list(
            data.get("undetermined_examples") or [],
            {},
            title="Not determined",
            file="undetermined.csv",
            lead=lambda shown: (
                f"{shown_of(shown, counts['undetermined'])} combinations whose answer nothing seen fixes."
            ),
        ),
        *_missing(data),
        *_never_meeting(data),
    ]


def _never_meeting(data: Data) -> list[PageList]:
    found = data.get("uncovered") or []
    suspected = [(one["factors"], one["values"]) for one in (data.get("zeros") or {}).get("pairs") or []]
    pairs = next((one for one in data.get("coverage") or [] if one["order"] == 2), None)
    columns = ["value", "rows", "never with", "its rows", "rows if independent", "PMI below", "perhaps impossible"]
    rows = [
        [f"{a}={u}", m, f"{b}={v}", n, one["expected"], one.get("pmi_below"), "yes" if suspect else ""]
        for one in found[: listed(len(columns))]
        for (a, b), (u, v), (m, n) in [(one["factors"], one["values"], one.get("counts") or (None, None))]
        for suspect in [(one["factors"], one["values"]) in suspected]
    ]
    lead = (
        f"{shown_of(len(rows), len(found) if pairs is None else pairs['possible'] - pairs['seen'])} pairs, first those "
        "that one would expect most often. PMI is log₂ of rows together by rows if independent: with no row it lies "
        "below what a single one would make it. Those that perhaps cannot occur are declared with --impossible; "
        "`recombine audit … --impossible-out FILE` writes them as it reads them."
    )
    made = PageList("Pairs of values that never meet", "never-meeting.csv", lead, columns, rows, numeric=[1, 3, 4, 5])
    return [made] if rows else []


def _missing(data: Data) -> list[PageList]:
    factors = data.get("factors") or []
    rows = [[one["name"], missing] for one in factors for missing in one.get("never_seen") or []]
    total = sum(one["values"] - one["seen"] for one in factors)
    lead = f"{shown_of(len(rows), total)} declared values that no row holds. Nothing is promised for them."
    return [PageList("Values never seen", "values-never-seen.csv", lead, ["factor", "value"], rows)] if rows else []


def _pair(one: Data, cells: map_packing.MapCells) -> dict[str, Any]:
    """What is said in words of one map: its factors, its states, and whether it was cut."""
    names = [headline.value(name) for name in one["factors"]]
    sides = (("row_values", "rows_total"), ("column_values", "columns_total"))
    cut = [
        f"the first {headline.whole(len(one[shown]))} of {headline.whole(one[total])} values of {name}"
        for name, (shown, total) in zip(names, sides, strict=True)
        if len(one[shown]) < one[total]
    ]
    title = " × ".join(headline.shorten(name) for name in names)
    return {"title": title, "cut": " and ".join(cut)} | cells.tally()
