"""What a plan would buy, as pictures with one sentence each: benefit against budget, and a replay of the past."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recombine.output.headline import NO_BREAK, decimal, enumerate_words, percent, shorten, value, whole
from recombine.output.pictures import LEFT, RIGHT, TOP, WIDTH, Axes, Label, Mark, Plot, around, widened

Data = Mapping[str, Any]
DRAWN_STEPS = 80  # more dots than these would hide the line; they can still be pointed at
MOST_VALUES = 12
MOST_EXAMPLES = 10


@dataclass(frozen=True)
class BlockedList:
    """What no candidate can reach, and the values that it hangs on."""

    sentence: str
    values: Sequence[tuple[str, str]]
    names: Sequence[str]
    examples: Sequence[Sequence[Any]]
    more: str


def curve(data: Data) -> Plot | None:
    """Benefit against budget: today, every step of the plan, and the goal as a line."""
    points = [one for one in data.get("curve") or [] if one["value"] is not None]
    if not points or len(data["curve"]) < 2 or not data["curve"][-1]["spent"]:
        return None
    measure = data["measure"]
    full = measure.get("full")
    known = [*(one["value"] for one in points), *([] if full is None else [full])]
    axes = Axes((0.0, data["curve"][-1]["spent"]), around(known, 0.12))
    goal = None if full is None else axes.level(full, "goal")
    return axes.plot(
        "cost spent" if costed(data) else "combinations collected",
        measure["name"],
        paths=[goal, axes.path([(one["spent"], one["value"]) for one in points], "curve")],
        marks=[*(_step(one, data, axes) for one in points if one["lines"]), _today(data, axes)],
        labels=[*_goal_label(data, axes), _today_label(data, axes)],
        sentence=" ".join(filter(None, (_bought(data, points), _half(data, points), _read_it(data, axes)))),
        x_spoken=_count,
        y_spoken=amounts(data),
    )


def replay(found: Data | None) -> Plot | None:
    """The plan's order against random ones, on combinations that the table already has."""
    kept = [] if not found else [line for line in _replayed(found) if None not in line]
    if not found or len({line[0] for line in kept}) < 2:
        return None
    across, planned, random, low, high = zip(*kept, strict=True)
    shares = found["measure"].startswith("share")
    within = around([*planned, *low, *high])
    axes = Axes((min(across), max(across)), widened(within) if shares else within)
    spoken = _share if shares else decimal
    marks = [
        axes.mark(
            x,
            y,
            "step",
            f"after {whole(x)}: {spoken(y)} in the plan’s order, {spoken(mean)} in a random one "
            f"({spoken(least)} to {spoken(most)})",
        )
        for x, y, mean, least, most in kept
    ]
    return axes.plot(
        "combinations collected",
        found["measure"],
        paths=[
            axes.path(list(zip(across, random, strict=True)), "random"),
            axes.path(list(zip(across, planned, strict=True)), "curve"),
        ],
        bands=[axes.band(across, low, high, "random")],
        marks=marks,
        sentence=found.get("said") or "",
        x_spoken=_count,
        y_spoken=spoken,
    )


def replay_words(found: Data) -> str:
    """How the replay was done."""
    return (
        f"The plan began with {whole(found['start'])} of the seen combinations and chose from the other "
        f"{whole(found['pool'])}; {whole(found['draws'])} random orders did the same."
    )


def blocked(found: Data | None) -> BlockedList | None:
    """What stays out of reach, whatever is collected."""
    if not found or not found.get("count"):
        return None
    values = [(value(name), _some(given)) for name, given in (found.get("values") or {}).items() if given]
    examples = list(found.get("examples") or [])[:MOST_EXAMPLES]
    names = list(dict.fromkeys(name for one in examples for name in one))
    rest = found["count"] - len(examples)
    return BlockedList(
        found.get("said") or f"{whole(found['count'])} {found.get('what', 'combinations')} stay out of reach.",
        values,
        names,
        [[one.get(name) for name in names] for one in examples],
        f"and {whole(rest)} more" if examples and rest > 0 else "",
    )


def costed(data: Data) -> bool:
    """Whether combinations have costs of their own; otherwise each costs one."""
    return bool((data.get("settings") or {}).get("costs")) or any(one["cost"] != 1 for one in data.get("lines") or [])


def amounts(data: Data) -> Callable[[float | None], str]:
    """How this plan's measure is written: counts whole, measurements to three digits."""
    return whole if data["measure"]["better"] == "higher" else decimal


def _step(one: Data, data: Data, axes: Axes) -> Mark:
    kind = "step" if len(data["curve"]) <= DRAWN_STEPS else "dense"
    cost = f" (cost {whole(one['spent'])})" if costed(data) else ""
    what = f"after {_combinations(one['lines'])}{cost}: {data['measure']['name']} {amounts(data)(one['value'])}"
    return axes.mark(one["spent"], one["value"], kind, what)


def _today(data: Data, axes: Axes) -> Mark:
    today = data["measure"].get("today")
    if today is None:
        return Mark(LEFT, TOP, "beyond", f"today: {data['measure']['name']} without bound")
    return axes.mark(0.0, today, "now", f"today: {data['measure']['name']} {amounts(data)(today)}")


def _today_label(data: Data, axes: Axes) -> Label:
    today = data["measure"].get("today")
    if today is None:
        return Label(LEFT + 10, TOP + 14, "today: without bound")
    below = 18 if data["measure"]["better"] == "higher" else -10
    return Label(LEFT + 8, axes.up(today) + below, f"today {amounts(data)(today)}")


def _goal_label(data: Data, axes: Axes) -> list[Label]:
    """Above the goal's line, at the end where the curve is farther from it."""
    full = data["measure"].get("full")
    if full is None:
        return []
    if data["measure"]["better"] == "higher":
        return [Label(LEFT + 8, axes.up(full) - 6, f"all {whole(full)}")]
    today, last = data["measure"].get("today"), data["curve"][-1]["value"]
    if today is None or last is None or abs(today - full) > abs(last - full):
        return [Label(LEFT + 8, axes.up(full) - 6, f"goal {decimal(full)}")]
    return [Label(WIDTH - RIGHT - 6, axes.up(full) - 6, f"goal {decimal(full)}", "end")]


def _bought(data: Data, points: Sequence[Data]) -> str:
    measure, spoken, last = data["measure"], amounts(data), points[-1]
    cost = f" (cost {whole(data['spent'])})" if costed(data) else ""
    start = "no bound" if measure.get("today") is None else spoken(measure["today"])
    of = f" of {whole(measure['full'])}" if measure["better"] == "higher" and measure.get("full") is not None else ""
    head = f"{_combinations(data['line_count'])}{cost} would take the {measure['name']} from {start} to "
    return f"{head}{spoken(last['value'])}{of}."


def _half(data: Data, points: Sequence[Data]) -> str:
    """How soon half of it is bought, which is known only where every line is on the curve."""
    gain = points[-1]["value"] - points[0]["value"]
    if points[0]["lines"] or data["line_count"] < 4 or len(data["curve"]) != data["line_count"] + 1 or not gain:
        return ""
    half = next(one for one in points if (one["value"] - points[0]["value"]) / gain >= 0.5)
    first = "the first" if half["lines"] == 1 else f"the first {whole(half['lines'])}"
    return f"At least half of that is bought by {first}."


def _read_it(data: Data, axes: Axes) -> str:
    full, higher = data["measure"].get("full"), data["measure"]["better"] == "higher"
    goal = "" if full is None else f" The dotted line is {'all that there is' if higher else 'the goal'}."
    thinned = len(data["curve"]) < data["line_count"] + 1 and data["curve"][0]["value"] is not None
    few = f" {whole(len(data['curve']))} points of the curve are drawn." if thinned else ""
    cut = " The vertical axis does not begin at 0." if axes.y[0] > 0 else ""
    return f"{'Higher' if higher else 'Lower'} is better.{goal}{few}{cut}"


def _replayed(found: Data) -> list[tuple[Any, ...]]:
    return list(zip(*(found[name] for name in ("collected", "planned", "random", "low", "high")), strict=True))


def _some(given: Sequence[Any]) -> str:
    shown = [shorten(value(one)) for one in given[:MOST_VALUES]]
    rest = len(given) - len(shown)
    return enumerate_words([*shown, f"{whole(rest)} more"] if rest else shown)


def _combinations(number: int) -> str:
    return f"{whole(number)} combination{'' if number == 1 else 's'}"


def _count(number: float) -> str:
    """A place on an axis of counts: nothing stands between two of them."""
    return whole(number) if float(number).is_integer() else ""


def _share(number: float) -> str:
    return percent(number).replace(NO_BREAK, " ")
