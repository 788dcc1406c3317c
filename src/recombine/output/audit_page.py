"""An audit as one HTML page that needs nothing but itself.

The verdict, the numbers and the lists are plain HTML and need no script. Only the map does: it is drawn on a
canvas by 42 kB of our own script, because no charting library draws seen, determined, undetermined,
novel and impossible cells with fills, tints, hatch and dots, at 278,000 cells, in less than 100 kB of code.
"""

from typing import Any

from recombine.base.grades import Expected, earned
from recombine.base.records import Record
from recombine.output import audit_pictures, headline, map_packing, page_frame
from recombine.output.page_frame import LISTED, Data, names_of, shown_of


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
    doubtful = _doubtful(data)
    return page_frame.render(
        "audit.html.j2",
        record,
        styles=["page.css"],
        scripts=["mapview.js", "map.js"],
        payload=map_packing.maps_payload(maps, cells) | {"doubtful": doubtful},
        doubtful=doubtful,
        lists=action_lists(data),
        pairs=[_pair(one, part) for one, part in zip(maps, cells, strict=True)],
        space=audit_pictures.space(data["counts"]),
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


def action_lists(data: Data) -> list[dict[str, Any]]:
    """The lists that one acts on: what is thin, weak or undetermined, and values that never occur or meet."""
    lists = (_thin(data), _weakest(data), _undetermined(data), _missing(data), _never_meeting(data))
    return [one for one in lists if one["rows"]]


def _thin(data: Data) -> dict[str, Any]:
    found = data.get("thin") or []
    names = names_of(found)
    rows = [
        [*(one["combination"].get(name) for name in names), one["count"], one["expected"]] for one in found[:LISTED]
    ]
    return {
        "title": "Hardly seen",
        "file": "thin.csv",
        "lead": f"{shown_of(len(rows), data['counts'].get('thin', len(rows)))} thin combinations, first those that "
        "fall most short of the rows that they would have if the factors were independent.",
        "columns": [*names, "rows", "rows if independent"],
        "numeric": [len(names), len(names) + 1],
        "rows": rows,
    }


def _never_meeting(data: Data) -> dict[str, Any]:
    found = (data.get("zeros") or {}).get("pairs") or []
    rows = [
        [f"{a}={u}", f"{b}={v}", one["expected"]]
        for one in found[:LISTED]
        for (a, b), (u, v) in [(one["factors"], one["values"])]
    ]
    return {
        "title": "Pairs of values that never meet",
        "file": "never-meeting.csv",
        "lead": f"{shown_of(len(rows), len(found))} pairs that chance would have made meet. If they cannot occur, "
        "declare them with --impossible; `recombine audit … --impossible-out FILE` writes them as it reads them.",
        "columns": ["value", "never with", "combinations by chance"],
        "numeric": [2],
        "rows": rows,
    }


def _weakest(data: Data) -> dict[str, Any]:
    found = (data.get("leverage") or {}).get("weakest") or []
    names = names_of(found)
    rows = [[*(one["combination"].get(name) for name in names), one["leverage"]] for one in found[:LISTED]]
    total = (data.get("leverage") or {}).get("of", len(rows))
    return {
        "title": "Worked out most weakly",
        "file": "weakest.csv",
        "lead": f"{shown_of(len(rows), total)} determined combinations, the highest leverage first. "
        "An example of one at the top tells more than an example of one at the bottom.",
        "columns": [*names, "leverage"],
        "numeric": [len(names)],
        "rows": rows,
    }


def _undetermined(data: Data) -> dict[str, Any]:
    found = data.get("undetermined_examples") or []
    names = names_of(found)
    rows = [[one["combination"].get(name) for name in names] for one in found[:LISTED]]
    total = data["counts"]["undetermined"]
    return {
        "title": "Not determined",
        "file": "undetermined.csv",
        "lead": f"{shown_of(len(rows), total)} combinations whose answer nothing seen fixes.",
        "columns": names,
        "numeric": [],
        "rows": rows,
    }


def _missing(data: Data) -> dict[str, Any]:
    listed = data.get("factors") or []
    rows = [[one["name"], missing] for one in listed for missing in one.get("never_seen") or []]
    total = sum(one["values"] - one["seen"] for one in listed)
    return {
        "title": "Values never seen",
        "file": "values-never-seen.csv",
        "lead": f"{shown_of(len(rows), total)} declared values that no row holds. Nothing is promised for them.",
        "columns": ["factor", "value"],
        "numeric": [],
        "rows": rows,
    }


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
