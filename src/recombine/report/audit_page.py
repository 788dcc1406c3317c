"""An audit as one HTML page that needs nothing but itself.

The verdict, the numbers and the lists are plain HTML and need no script. Only the map does: it is drawn on a
canvas by 37 kB of our own script, because no charting library draws seen, determined, undetermined,
novel and impossible cells with fills, tints, hatch and dots, at 278,000 cells, in less than 100 kB of code.

Every text that came from a user's table is escaped, set as text and never as markup; the page's policy
allows exactly the one script that stands in it, and no request at all.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from recombine.errors import RecordError
from recombine.records import Record
from recombine.report import packing, pictures, wording

LISTED = 200
CSV_LIMIT = 32_767  # what a cell of a spreadsheet can hold
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

Data = Mapping[str, Any]


def audit_page(record: Record) -> str:
    """The complete page of an audit's record.

    >>> from recombine.records import Provenance
    >>> counts = dict.fromkeys(("space", "impossible", "seen", "determined", "undetermined", "novel"), 0)
    >>> data = {"verdict": "Nothing was seen.", "grade": "not enough evidence", "rows": 0, "counts": counts}
    >>> page = audit_page(Record("audit", data, {}, Provenance(source="shoes.csv")))
    >>> "Nothing was seen." in page
    True
    """
    if record.kind != "audit":
        raise RecordError(
            f"a record of kind '{record.kind}' has no audit page",
            why="only the record of an audit can be drawn as one",
            instead="give the record that `recombine audit … --out FOLDER` saved",
        )
    data = record.data
    maps = data.get("maps") or []
    cells = packing.cells_of_maps(maps, record.tables.get("maps"))
    lists = action_lists(data)
    script = _asset("page.js") + _asset("map.js")
    return _template().render(
        data=data,
        made=record.provenance,
        table=_table_name(record.provenance.source),
        day=_day(record.provenance.created),
        settings=_settings(record.provenance.settings),
        pairs=[_pair(one, part) for one, part in zip(maps, cells, strict=True)],
        space=pictures.space(data["counts"]),
        factors=pictures.factors(data.get("factors") or []),
        coverage=pictures.coverage(data.get("coverage") or []),
        leverage=pictures.leverage(data.get("leverage")),
        islands=pictures.islands(data.get("islands") or []),
        dependence=pictures.dependence(data.get("dependence") or []),
        redundancy=pictures.redundancy(data.get("redundancy")),
        lists=lists,
        payload=safe_json(packing.maps_payload(maps, cells) | {"lists": [_csv(one) for one in lists]}),
        style=_asset("page.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _table_name(source: str) -> str:
    """What to call the table: a file by its name, anything else as it was given.

    >>> _table_name("/data/2026/shoes.csv"), _table_name("postgresql://host/shop orders")
    ('shoes.csv', 'postgresql://host/shop orders')
    """
    return source if "://" in source else source.rstrip("/").rpartition("/")[2] or source


def safe_json(payload: Any) -> str:
    """JSON that can stand inside a script element whatever its strings hold.

    >>> safe_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, escape in UNSAFE.items():
        text = text.replace(sign, escape)
    return text


def action_lists(data: Data) -> list[dict[str, Any]]:
    """The lists that one acts on: the weakest, the undetermined, the values never seen."""
    return [one for one in (_weakest(data), _undetermined(data), _missing(data)) if one["rows"]]


def _weakest(data: Data) -> dict[str, Any]:
    found = (data.get("leverage") or {}).get("weakest") or []
    names = _names(found)
    rows = [[*(one["combination"].get(name) for name in names), one["leverage"]] for one in found[:LISTED]]
    total = (data.get("leverage") or {}).get("of", len(rows))
    return {
        "title": "Worked out most weakly",
        "file": "weakest.csv",
        "lead": f"{_of(len(rows), total)} determined combinations, the highest leverage first. "
        "An example of one at the top tells more than an example of one at the bottom.",
        "columns": [*names, "leverage"],
        "numeric": 1,
        "rows": rows,
    }


def _undetermined(data: Data) -> dict[str, Any]:
    found = data.get("undetermined_examples") or []
    names = _names(found)
    rows = [[one["combination"].get(name) for name in names] for one in found[:LISTED]]
    total = data["counts"]["undetermined"]
    return {
        "title": "Not determined",
        "file": "undetermined.csv",
        "lead": f"{_of(len(rows), total)} combinations whose answer nothing seen fixes.",
        "columns": names,
        "numeric": 0,
        "rows": rows,
    }


def _missing(data: Data) -> dict[str, Any]:
    listed = data.get("factors") or []
    rows = [[one["name"], missing] for one in listed for missing in one.get("never_seen") or []]
    total = sum(one["values"] - one["seen"] for one in listed)
    return {
        "title": "Values never seen",
        "file": "values-never-seen.csv",
        "lead": f"{_of(len(rows), total)} declared values that no row holds. Nothing is promised for them.",
        "columns": ["factor", "value"],
        "numeric": 0,
        "rows": rows,
    }


def _names(found: Sequence[Data]) -> list[str]:
    return list(dict.fromkeys(name for one in found for name in one["combination"]))


def _of(shown: int, total: int) -> str:
    return wording.whole(shown) if shown >= total else f"{wording.whole(shown)} of {wording.whole(total)}"


def _csv(one: Mapping[str, Any]) -> dict[str, Any]:
    """A list for download: whole values, each written once."""
    rows = [[_full(cell) for cell in row] for row in one["rows"]]
    pool = {text: place for place, text in enumerate(dict.fromkeys(c for r in rows for c in r))}
    return {
        "file": one["file"],
        "columns": [str(name) for name in one["columns"]],
        "pool": list(pool),
        "rows": [[pool[cell] for cell in row] for row in rows],
    }


def _full(raw: Any) -> str:
    return "" if raw is None else wording.shorten(str(raw), CSV_LIMIT)


def _pair(one: Data, cells: packing.Cells) -> dict[str, Any]:
    """What is said in words of one map: its factors, its states, and whether it was cut."""
    names = [wording.value(name) for name in one["factors"]]
    sides = (("row_values", "rows_total"), ("column_values", "columns_total"))
    cut = [
        f"the first {wording.whole(len(one[shown]))} of {wording.whole(one[total])} values of {name}"
        for name, (shown, total) in zip(names, sides, strict=True)
        if len(one[shown]) < one[total]
    ]
    title = " × ".join(wording.shorten(name) for name in names)
    return {"title": title, "cut": " and ".join(cut)} | cells.tally()


def _settings(settings: Data) -> list[tuple[str, str]]:
    return [(name, json.dumps(given, ensure_ascii=False, default=str)) for name, given in settings.items()]


def _day(created: str) -> str:
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    return f"{moment.day} {moment:%B %Y}"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("recombine.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("whole", "decimal", "percent", "shorten", "value"):
        environment.filters[name] = getattr(wording, name)
    return environment.get_template("audit.html.j2")


@cache
def _asset(name: str) -> str:
    return (files("recombine.report") / "assets" / name).read_text(encoding="utf-8").replace("\r\n", "\n")
