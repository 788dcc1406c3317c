"""What a prediction rests on, as small pictures with one sentence each: its slope, its track record, its salience."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from recombine.output.combination_cube import VERDICTS
from recombine.output.headline import decimal, enumerate_words, percent, shorten, value, whole
from recombine.output.pictures import (
    Axes,
    Bar,
    BarPiece,
    Bars,
    Dot,
    Dots,
    Label,
    Mark,
    Plot,
    around,
    bounds,
    dots_on,
    stacked,
    widened,
)

Data = Mapping[str, Any]
MOST_WEIGHTS = 24
WANTED_SLOPES = (0.8, 0.9, 0.95)
GOLDEN = 0.618034  # spreads points evenly, the same way each time
NEAR = 8.0  # marks nearer than this lie over each other


@dataclass(frozen=True)
class Track:
    """How the same method fared on combinations that were seen and held out."""

    methods: Dots
    calibration: Plot | None
    points: Plot | None
    rungs: Sequence[Sequence[str]]
    rung_names: Sequence[str]
    sentence: str


@dataclass(frozen=True)
class NeedBar:
    """How many examples a value of one factor has and needs."""

    factor: str
    now: str
    slope: str
    wanted: Sequence[str]


def verdicts(counts: Mapping[str, int]) -> Sequence[BarPiece]:
    """What was predicted as one stacked bar, by verdict."""
    return stacked({name: counts.get(name, 0) for name in (*VERDICTS[:8], *counts)}, sum(counts.values()))


def slope(found: Data | None) -> Plot | None:
    """Predictions against what they should be: on the diagonal when nothing shrinks them."""
    points = [point for point in (found or {}).get("points") or [] if isfinite(point[0]) and isfinite(point[1])]
    if not found or not points:
        return None
    few = len({x for x, _, _ in points}) <= 5 < len(points)
    x, y = around([p[0] for p in points], 0.25 if few else 0.06), around([p[1] for p in points])
    axes = Axes(x, y)
    jitter = (x[1] - x[0]) * 0.08 if few else 0.0
    marks = [
        axes.mark(
            px + jitter * ((place * GOLDEN) % 1 - 0.5),
            py,
            VERDICTS[int(code)],
            f"{VERDICTS[int(code)]}: predicted {decimal(py)}, {_expected(found)} {decimal(px)}",
        )
        for place, (px, py, code) in enumerate(points)
    ]
    fitted = None if found.get("value") is None else axes.line(found["value"], found.get("offset") or 0.0, "fitted")
    spread = " Points are spread sideways so that they can be told apart." if few else ""
    paths = [axes.line(1.0, 0.0, "diagonal"), fitted]
    return axes.plot(_expected(found), "prediction", paths=paths, marks=marks, sentence=_slope_sentence(found) + spread)


def curve(found: Data | None) -> Plot | None:
    """The slope against the number of examples that each value has."""
    points = [(p, m) for p, m in (found or {}).get("curve") or [] if p and p > 0 and m is not None]
    if not found or len({p for p, _ in points}) < 2:
        return None
    now = [one for one in found.get("needed") or [] if one.get("now") and one.get("slope_now") is not None]
    across = [p for p, _ in points] + [one["now"] for one in now]
    up = [m for _, m in points] + [one["slope_now"] for one in now]
    axes = Axes((min(across), max(across)), (min(0.0, *up), max(1.02, *up)), logarithmic=max(across) > 8 * min(across))
    goals = [axes.level(goal, "goal") for goal in WANTED_SLOPES]
    marks = [
        axes.mark(
            one["now"],
            one["slope_now"],
            "now",
            f"{value(one['factor'])}: {decimal(one['now'])} examples per value, slope {decimal(one['slope_now'])}",
        )
        for one in now
    ]
    labels = _apart(
        [
            Label(x + (9 if x < 330 else -9), y + 14, _together(names, len(now)), "start" if x < 330 else "end")
            for (x, y), names in _by_place(marks, [value(one["factor"]) for one in now]).items()
        ]
    )
    return axes.plot(
        "seen combinations per value",
        "slope",
        paths=[*goals, axes.path(points, "curve")],
        marks=marks,
        labels=labels,
        sentence="How much of a value's effect is carried over, by how many seen combinations the value is in. "
        "The dotted lines are .8, .9 and .95; a dot is where a factor stands now."
        + (
            " The formula is that for two factors: with more it is a rough guide."
            if any(one.get("rough", len(now) > 2) for one in now)
            else ""
        ),
    )


def needed(found: Data | None) -> Sequence[NeedBar]:
    """What each factor's values would need for a slope of .8, .9 and .95."""
    rows = []
    for one in (found or {}).get("needed") or []:
        wanted = {round(goal, 4): number for goal, number in one.get("for") or []}
        texts = [_number_needed(wanted.get(goal), one.get("now")) for goal in WANTED_SLOPES]
        rows.append(NeedBar(value(one["factor"]), decimal(one.get("now")), decimal(one.get("slope_now")), texts))
    return rows


def track(found: Data | None) -> Track | None:
    """The track record: what would have been said of combinations that are known, and what they are."""
    if not found or not found.get("methods"):
        return None
    names = [one["name"] for one in found["methods"]]
    fmt = _score_format(found)
    rungs = [
        [value(one["rung"]), whole(one["tested"]), *(fmt(one.get(name)) for name in names)]
        for one in found.get("rungs") or []
    ]
    return Track(
        _methods(found), _calibration(found), _held_out(found), rungs, [value(n) for n in names], track_sentence(found)
    )


def track_sentence(found: Data) -> str:
    """Whether the forecast beats its baselines, with the interval; what cannot be told apart is said to be so."""
    own, *others = found["methods"]
    fmt = _score_format(found)
    head = (
        f"On {whole(found['tested'])} seen combinations that were held out "
        f"({percent(found['share'])} at a time, {_times(found['repeats'])}), "
        f"the {own['name']}’s {found['score']} is {fmt(own['score'])}{_interval(own, fmt)}."
    )
    groups: dict[str, list[str]] = {"beats": [], "cannot be told apart from": [], "is beaten by": []}
    for one in others:
        if one.get("difference"):
            groups[_compared(one, found)].append(f"{one['name']} ({_difference(one, found)})")
    said = [f"{verb} {enumerate_words(names)}" for verb, names in groups.items() if names]
    return head + (f" It {'; it '.join(said)}." if said else "")


def salience(found: Data | None) -> Bars | None:
    """How much weight each set of factors has, the largest first."""
    if not found or not found.get("weights"):
        return None
    listed = [one for one in found["weights"] if one["weight"] is None or one["weight"] != 0 or not one["factors"]]
    ranked = sorted(listed, key=lambda one: (bool(one["factors"]), len(one["factors"]), -abs(one["weight"] or 0)))
    shown = ranked if len(ranked) <= MOST_WEIGHTS else _largest(ranked)
    top = max((abs(one["weight"]) for one in shown if one["weight"] is not None), default=0) or 1
    bars = [
        Bar(
            " + ".join(shorten(value(name), 24) for name in one["factors"]) or "constant",
            0.0 if one["weight"] is None else 100 * abs(one["weight"]) / top,
            "free" if one["weight"] is None else decimal(one["weight"]),
        )
        for one in shown
    ]
    cut = "" if len(shown) == len(listed) else f" Shown: the {len(shown)} largest of {whole(len(listed))}."
    return Bars(
        bars,
        "How strongly two combinations resemble each other because they share these values. The weight of the full "
        f"combination is what can be memorised of it and helps no other.{cut}",
    )


def _largest(ranked: Sequence[Data]) -> list[Data]:
    kept = sorted(ranked, key=lambda one: -abs(one["weight"] or 0) if one["factors"] else float("-inf"))[:MOST_WEIGHTS]
    return [one for one in ranked if one in kept]


def _expected(found: Data) -> str:
    return "truth" if found["against"] == "truth" else "answer without a leak"


def _slope_sentence(found: Data) -> str:
    if found.get("value") is None:
        return "Too few points for a slope. On the diagonal, a prediction is what it should be."
    against = "Against the truth" if found["against"] == "truth" else "Beside a learner that memorises nothing"
    size = found["value"]
    if size < 0:
        tail = "run the wrong way"
    elif size < 0.95:
        tail = f"shrink to {percent(size)} of their size"
    elif size <= 1.05:
        tail = "keep their size"
    else:
        tail = f"grow to {percent(size)} of their size"
    head = f"{against}, effects on unseen combinations {tail}."
    return f"{head} The dashed diagonal would be right."


def _number_needed(number: float | None, now: float | None) -> str:
    if number is None:
        return "out of reach"
    return "reached" if now is not None and now >= number else whole(number)


def _by_place(marks: Sequence[Mark], names: Sequence[str]) -> dict[tuple[float, float], list[str]]:
    """The names of the marks at each place; marks that lie over each other are at one."""
    found: dict[tuple[float, float], list[str]] = {}
    for mark, name in zip(marks, names, strict=True):
        near = (at for at in found if abs(at[0] - mark.x) < NEAR and abs(at[1] - mark.y) < NEAR)
        found.setdefault(next(near, (mark.x, mark.y)), []).append(name)
    return found


def _together(names: Sequence[str], of: int) -> str:
    """Some of so many factors, in the room of one name."""
    if len(names) == 1:
        return shorten(names[0], 22)
    if len(names) == of:
        return "both factors" if of == 2 else f"all {of} factors"
    rest = len(names) - 1
    return f"{shorten(names[0], 22)} and {rest} other{'s' * (rest > 1)}"


def _apart(labels: Sequence[Label], least: float = 15.0) -> list[Label]:
    """The same labels, moved down where two would lie over each other."""
    placed: list[Label] = []
    for label in sorted(labels, key=lambda one: one.y):
        near = [one.y for one in placed if abs(one.x - label.x) < 130 and label.y - one.y < least]
        placed.append(Label(label.x, max(near) + least, label.text, label.side) if near else label)
    return placed


def _methods(found: Data) -> Dots:
    fmt = _score_format(found)
    known = [one[key] for one in found["methods"] for key in ("score", "low", "high") if one.get(key) is not None]
    within = widened(bounds(known)) if found["score"] == "accuracy" else bounds(known)
    dots = [
        Dot(
            value(one["name"]),
            one["score"],
            one.get("low"),
            one.get("high"),
            f"{fmt(one['score'])}{_interval(one, fmt)}",
            _difference_note(one, found),
            own=position == 0,
        )
        for position, one in enumerate(found["methods"])
        if one.get("score") is not None
    ]
    return dots_on(within, dots, fmt, score=found["score"], better=found["better"])


def _difference_note(one: Data, found: Data) -> str:
    if not one.get("difference"):
        return ""
    compared = {
        "beats": "beaten",
        "cannot be told apart from": "not told apart",
        "is beaten by": "better than the forecast",
    }
    return f"{found['methods'][0]['name']} minus this {_difference(one, found)}: {compared[_compared(one, found)]}"


def _difference(one: Data, found: Data) -> str:
    """How much better or worse, with the interval; shares differ by points of a hundred."""
    times, unit = (100, " points") if found["score"] == "accuracy" else (1, "")
    low, middle, high = (_signed(times * number) for number in one["difference"])
    return f"{middle}{unit}, interval {low} to {high}"


def _compared(one: Data, found: Data) -> str:
    low, _, high = one["difference"]
    won, lost = (high < 0, low > 0) if found["better"] == "lower" else (low > 0, high < 0)
    return "beats" if won else "is beaten by" if lost else "cannot be told apart from"


def _calibration(found: Data) -> Plot | None:
    points = [one for one in found.get("calibration") or [] if one.get("found") is not None]
    if not points:
        return None
    axes = Axes((0.0, 1.0), (0.0, 1.0))
    said = "promised {}, found {}"
    marks = [
        axes.mark(one["nominal"], one["found"], "now", said.format(percent(one["nominal"]), percent(one["found"])))
        for one in points
    ]
    through = axes.path([(one["nominal"], one["found"]) for one in points], "fitted")
    return axes.plot(
        "promised",
        "found inside",
        paths=[axes.path([(0.0, 0.0), (1.0, 1.0)], "diagonal"), through],
        marks=marks,
        sentence=_coverage_sentence(found),
        x_spoken=percent,
        y_spoken=percent,
    )


def _coverage_sentence(found: Data) -> str:
    covered = found.get("coverage")
    if not covered:
        return (
            "How often the truth lies within the promised interval. On the diagonal, the intervals keep their promise."
        )
    between = f" ({percent(covered['low'])} to {percent(covered['high'])})" if covered.get("low") is not None else ""
    if covered.get("low") is None or covered["low"] <= covered["nominal"] <= covered["high"]:
        kept = "the intervals keep their promise as far as can be told"
    else:
        kept = (
            "the intervals are too narrow"
            if covered["high"] < covered["nominal"]
            else "the intervals are wider than they need be"
        )
    held = f"{percent(covered['found'])}{between}"
    return f"Of intervals that promise {percent(covered['nominal'])}, {held} hold the truth: {kept}."


def _held_out(found: Data) -> Plot | None:
    points = found.get("points") or []
    if not points:
        return None
    axes = Axes(around([p[0] for p in points]), around([n for p in points for n in p[1:] if n is not None]))
    marks = [
        axes.mark(
            truth,
            said,
            "tested",
            f"truth {decimal(truth)}, said {decimal(said)} ({decimal(low)} to {decimal(high)})",
            low=low,
            high=high,
        )
        for truth, said, low, high in points
    ]
    sentence = f"What was said of {whole(len(points))} held-out combinations, with intervals, against what they are."
    return axes.plot("truth", "prediction", paths=[axes.line(1.0, 0.0, "diagonal")], marks=marks, sentence=sentence)


def _score_format(found: Data) -> Any:
    return percent if found["score"] == "accuracy" else decimal


def _interval(one: Data, fmt: Any) -> str:
    return "" if one.get("low") is None else f" ({fmt(one['low'])} to {fmt(one['high'])})"


def _signed(number: float) -> str:
    text = decimal(float(f"{abs(number):.2g}"))
    return text if number == 0 else f"{'+' if number > 0 else '−'}{text}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{whole(number)} times"
