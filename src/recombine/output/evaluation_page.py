"""An evaluation as one HTML page that needs nothing but itself.

First what was asked: how the model does on combinations that it saw, and on those that it did not. Then where, and why.
What was not tested is drawn as untested, never as nothing.
"""

from collections.abc import Callable, Sequence

from recombine.base.records import Record
from recombine.base.words import percent_range, points_range
from recombine.output import error_pictures, headline, page_frame, score_map, score_pictures
from recombine.output.page_lists import Data, PageList, combination_list, shown_of
from recombine.output.training_history import history_list, over_training


@page_frame.page_of("evaluation", called="an evaluation", command="evaluate")
def evaluation_page(record: Record) -> str:
    """The complete page of an evaluation's record.

    >>> from recombine.base.records import Provenance
    >>> data = {"verdict": "Nothing was tested.", "grade": "not enough evidence", "rows": 0}
    >>> data |= {"score": {"name": "accuracy", "better": "higher", "share": True}}
    >>> "Nothing was tested." in evaluation_page(Record("evaluation", data, {}, Provenance(source="said.csv")))
    True
    """
    data, tables = record.data, record.tables
    maps = score_map.score_maps(data, tables)
    packed = score_map.maps_payload(maps, data)
    return page_frame.render(
        "evaluation.html.j2",
        record,
        styles=["page.css", "plots.css", "evaluation.css"],
        scripts=["mapview.js", "scoremap.js"],
        payload=packed,
        lists=[*action_lists(data), *history_list(tables.get("history"))],
        trained=over_training(tables.get("history"), data["score"]),
        tested=next((one["combinations"] for one in data.get("sides") or [] if one["name"] == "all"), 0),
        score=score_pictures.score_name(data["score"]),
        reasons=_reasons(data),
        pairs=[{"title": _pair(one), "cut": one.cut} for one in maps] if packed else [],
        pairs_left_out=_pairs_left_out(len(maps), len(data.get("factors") or [])),
        sides=score_pictures.sides(data),
        target=_target(data),
        rules=score_pictures.rules(data),
        gap=score_pictures.gap(data),
        gap_sentence=score_pictures.gap_sentence(data),
        compared=score_pictures.compared(data),
        by_factor=score_pictures.by_factor(data, tables.get("by_value")),
        factors_left_out=score_pictures.factors_left_out(data),
        volcano=error_pictures.volcano(data, tables.get("combinations")),
        causes=error_pictures.causes(data.get("anatomy")),
        swaps=error_pictures.swaps(data.get("swap")),
        additive=error_pictures.additive(data.get("additivity")),
        beside=error_pictures.beside(data.get("theory"), data["score"]),
    )


def _target(data: Data) -> str:
    """The target and what it is; nothing where rows came with a score."""
    found = data.get("target") or {}
    if not found.get("name"):
        return ""
    classes = len(found.get("classes") or ())
    many = f"a label with {headline.whole(classes)} value{'' if classes == 1 else 's'}"
    return f"{headline.value(found['name'])}, {'a number' if data.get('answers') == 'number' else many}"


_SHARES = ("score", "shrunk", "low", "high", "expected")


def action_lists(data: Data) -> list[PageList]:
    """The lists that one acts on: the worst combinations, those worse than their parts, those never tested."""
    told = data.get("training") is not None
    sides = (("unseen", False), ("seen", True)) if told else (("tested", None),)
    worst = [one for name, seen in sides for one in _worst(data, name, seen)]
    return [*worst, *_bad_groups(data), *_rates(data), *_untested(data)]


def _worst(data: Data, name: str, seen: bool | None) -> list[PageList]:
    """The worst of one side: what fails on seen combinations is mended otherwise than what fails on unseen ones."""
    found = [one for one in data.get("worst") or [] if seen is None or (one["rung"] == "seen") == seen]
    counts = {one["name"]: one["combinations"] for one in data.get("sides") or []}
    tested = counts.get("seen" if seen else "all", len(found)) - (counts.get("seen", 0) if seen is False else 0)
    missing = (data.get("untested") or {}).get("total", 0) if not seen else 0
    were = "combination was" if missing == 1 else "combinations were"
    but = f" {headline.whole(missing)} {were} never tested and may be worse." if missing else ""
    return _measured(
        f"Worst of {headline.whole(max(tested, len(found)))} {name} combinations",
        "worst.csv" if not seen else "worst_seen.csv",
        data["score"],
        found,
        (*(("rung",) if seen is False else ()), "rows", "score", "shrunk", "low", "high"),
        lambda shown: (
            f"{shown_of(shown, max(tested, shown))} tested, the worst first by the shrunk score, which does not let a "
            "few unlucky rows decide; low and high are the interval of its own rows, and allow for its being picked "
            f"from {headline.whole(counts.get('all', len(found)))}.{but}"
        ),
    )


def _over_all(group: Data, data: Data) -> dict[str, str]:
    """A value or pair beside the factors that it is pooled over."""
    return {one["name"]: group.get(one["name"], "any") for one in data["factors"]}


def _bad_groups(data: Data) -> list[PageList]:
    """Pairs of values and combinations that are worse than their parts."""
    found = (data.get("deviations") or {}).get("groups") or []
    groups = [{**one, "combination": _over_all(one["group"], data)} for one in found]
    return _measured(
        "Worse than their parts",
        "bad_groups.csv",
        data["score"],
        groups,
        ("combinations", "rows", "score", "expected", "deviation", "q"),
        lambda shown: (
            f"{shown_of(shown, len(groups))}, each over all values of the factors that it does not name, the surest "
            "first. Expected is what its values give elsewhere; q is the share of those named down to this one "
            "that may be luck."
        ),
    )


_RATES = ("accuracy", "false_positive_rate", "false_negative_rate", "selection_rate", "calibration")


def _rates(data: Data) -> list[PageList]:
    """The rates of a yes/no target in every group, each with its interval."""
    found = data.get("rates") or {}
    lines, measures = [], {"rows": "rows"}
    for name in _RATES:
        measures |= {name: name.replace("_", " "), f"{name} interval": "interval"}
    for one in found.get("groups") or []:
        line = {"combination": _over_all(one["group"], data), "rows": one["rows"]}
        for name, ends in one["rates"].items():
            spoken = points_range if name == "calibration" else percent_range
            line |= {} if ends is None else {name: ends[1], f"{name} interval": spoken(ends[0], ends[2])}
        lines.append(line)
    worded = tuple(key for key in measures if key.endswith(" interval"))
    return combination_list(
        lines,
        measures,
        title="Rates by group",
        file="rates.csv",
        worded=worded,
        shares=_RATES,
        lead=lambda shown: (
            f"{shown_of(shown, len(lines))} values and pairs of values. {found['sentence']} Calibration is how much "
            f"more often {found['positive']!r} is expected than it occurs."
        ),
    )


def _untested(data: Data) -> list[PageList]:
    found = data.get("untested") or {}
    total = found.get("total") or 0
    return _measured(
        "Never tested",
        "untested.csv",
        data["score"],
        [{**one, "in training": "yes" if one["seen"] else "no"} for one in found.get("listed") or []],
        ("in training", "rows"),
        lambda shown: (
            f"{headline.whole(total)} combinations of the space have no tested row, so nothing is known of them"
            f"{f'; {shown} are listed' if shown < total else ''}. Rows are those in training, or as many as would be "
            "expected there."
        ),
    )


def _measured(
    title: str, file: str, score: Data, found: Sequence[Data], keys: Sequence[str], lead: Callable[[int], str]
) -> list[PageList]:
    measures = {key: key for key in keys}
    shares = _SHARES if score.get("share") else ()
    worded = ("rung", "in training")
    return combination_list(found, measures, title=title, file=file, lead=lead, worded=worded, shares=shares)


def _pair(one: score_map.ScoreMap) -> str:
    return " × ".join(headline.shorten(headline.value(axis.factor)) for axis in (one.rows, one.columns))


def _pairs_left_out(drawn: int, factors: int) -> str:
    pairs = factors * (factors - 1) // 2
    return (
        f"{drawn} of {headline.whole(pairs)} pairs of factors have a map here; the saved tables hold more."
        if drawn < pairs
        else ""
    )


def _reasons(data: Data) -> list[str]:
    """The reasons that no picture says already."""
    parts = [data.get(name) or {} for name in ("anatomy", "swap", "additivity", "theory", "against")]
    said = {part.get("verdict") for part in parts}
    said |= {(data.get(name) or {}).get("sentence") for name in ("deviations", "rates")}
    return [one for one in data.get("reasons") or [] if one not in said]
