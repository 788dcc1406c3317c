"""A prediction as one HTML page that needs nothing but itself.

The verdict, the plots and the lists are plain HTML and SVG. Only the grid and the panel under it need the script: a
click on a combination takes its prediction apart into what each conjunction adds, which is all that a kernel-like
learner can do.
"""

from typing import Any

from recombine.base.records import Record
from recombine.output import combination_cube, example_pictures, headline, page_frame, prediction_pictures
from recombine.output.combination_cube import Cube
from recombine.output.page_lists import Data, PageList, combination_list, shown_of

_LOOKED_AT = 200
SIGNS = {"leak": "L", "shortcut": "S", "can't": "×", "unsure": "?", "not determined": "–"}


@page_frame.page_of("prediction", called="a prediction", command="predict")
def prediction_page(record: Record) -> str:
    """The complete page of a prediction's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "Nothing can be said.", "grade": "not enough evidence", "rows": 0, "combinations": 0}
    >>> data |= {"space": 0, "target": {"name": "price", "kind": "number", "classes": []}, "counts": {}}
    >>> page = prediction_page(Record("prediction", data, {}, Provenance(source="clothes.csv")))
    >>> "Nothing can be said." in page
    True
    """
    data = record.data
    drawn = combination_cube.cube_of(data.get("grid") or {}, record.tables)
    places = [None if drawn is None else drawn.place(one["combination"]) for one in worst(data)]
    return page_frame.render(
        "prediction.html.j2",
        record,
        styles=["page.css", "plots.css", "prediction.css"],
        scripts=["mapview.js", "grid.js"],
        payload={} if drawn is None else combination_cube.cube_payload(drawn) | _spoken(data, drawn, places),
        lists=[*action_lists(data, places), *example_pictures.listed(record)],
        heat=example_pictures.heat_map(record),
        grid=None if drawn is None else _grid(data, drawn),
        signs=SIGNS,
        counts=prediction_pictures.verdicts(data["counts"]),
        slope=prediction_pictures.slope(data.get("slope")),
        curve=prediction_pictures.curve(data.get("slope")),
        needed=prediction_pictures.needed(data.get("slope")),
        track=prediction_pictures.track(data.get("backtest")),
        salience=prediction_pictures.salience(data.get("salience")),
        backtest_command=_with_backtest(record.provenance.command),
        untestable=_untestable(data.get("expected")),
    )


def worst(data: Data) -> list[Data]:
    """The combinations that one should look at first."""
    return list(data.get("worst") or [])[:_LOOKED_AT]


def action_lists(data: Data, places: list[int | None]) -> list[PageList]:
    """The list that one acts on: where the learner is expected to fail, the worst first."""
    troubled = sum(number for name, number in data["counts"].items() if name not in ("seen", "fine"))
    measures = ("verdict", "prediction", "truth", "why")
    return combination_list(
        worst(data),
        {name: name for name in measures},
        title="Where it is expected to fail",
        file="worst.csv",
        lead=lambda shown: (
            f"{shown_of(shown, troubled)} combination{'s' * (troubled != 1)}, the worst first. Click one to see it "
            "taken apart above."
        ),
        worded=("verdict", "why") if data["target"]["kind"] == "number" else measures,
        shares=("prediction", "truth") if data["target"].get("share") else (),
        cells=places,
    )


def _spoken(data: Data, drawn: Cube, places: list[int | None]) -> dict[str, Any]:
    """What the script says of a cell besides its numbers: names, and the sentences of the worst ones."""
    target = data["target"]
    classes = [headline.shorten(headline.value(name), 80) for name in target["classes"]]
    whys = {place: one.get("why") or "" for one, place in zip(worst(data), places, strict=True) if place is not None}
    return {
        "target": headline.shorten(headline.value(target["name"]), 80),
        "kind": target["kind"],
        "share": bool(target.get("share")),
        "classes": classes,
        "scores": classes if len(drawn.grid["constant"]) > 1 else [],
        "whys": [[place, headline.shorten(why, 600)] for place, why in whys.items()],
        "start": next((place for place in places if place is not None), None),
    }


def _grid(data: Data, drawn: Cube) -> dict[str, Any]:
    """What is said in words of the grid: its pairs of factors, its modes, and whether it was cut."""
    factors = drawn.grid["factors"]
    names = [headline.shorten(headline.value(one["name"])) for one in factors]
    cut = [
        f"the {headline.whole(len(one['values']))} commonest of {headline.whole(one['total'])} values of {name}"
        for one, name in zip(factors, names, strict=True)
        if len(one["values"]) < one["total"]
    ]
    places = range(len(names))
    return {
        "names": names,
        "pairs": [(a, b, f"{names[a]} × {names[b]}") for a in places for b in places if a < b],
        "modes": [mode for mode in ("prediction", "error", "verdict", "uncertainty") if _has(mode, drawn)],
        "cut": " and ".join(cut),
        "kind": _kind(data, drawn),
        "classes": [headline.shorten(headline.value(name), 24) for name in data["target"]["classes"]],
    }


def _has(mode: str, drawn: Cube) -> bool:
    wanted = {"error": "truth", "uncertainty": "sd"}.get(mode)
    return wanted is None or bool((drawn.fields[wanted] == drawn.fields[wanted]).any())


def _kind(data: Data, drawn: Cube) -> str:
    if data["target"]["kind"] == "number":
        return "number"
    return "many" if len(drawn.grid["constant"]) > 1 else "two"


def _untestable(expected: Data | None) -> str:
    """Why no combination could be held out; nothing where nobody tried."""
    reason = (expected or {}).get("reason") or ""
    return "" if reason in ("", "no back-test was run") else headline.shorten(headline.value(reason), 300)


def _with_backtest(command: str | None) -> str:
    return f"{command} --backtest" if command else "recombine predict … --backtest"
