"""The reasons behind a verdict as small pictures, each with one sentence.

A picture here is only positions and words; the template draws it, so it needs no script and prints well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from recombine.output.headline import decimal, enumerate_words, percent, share, shorten, value, whole
from recombine.output.pictures import Bar, BarPiece, Bars, Shade, ShadedTable, Tick, stacked

Data = Mapping[str, Any]
ORDERS = {1: "single values", 2: "pairs", 3: "triples"}
MOST_SHORTCUTS = 10
CLOSE = 12.0  # percent of an axis: nearer labels run into each other
MOST_ISLANDS = 12


@dataclass(frozen=True)
class HistogramColumn:
    """One column of a histogram, in percent of the drawing."""

    left: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class HistogramPicture:
    """How many worked-out answers have which leverage."""

    columns: Sequence[HistogramColumn]
    ticks: Sequence[Tick]
    one: float | None
    highest: str
    sentence: str


@dataclass(frozen=True)
class FactorRow:
    """What there is to know of one factor."""

    name: str
    fill: float
    text: str
    note: str
    commonest: Sequence[Bar]
    rarest: Sequence[Bar]


def space(counts: Mapping[str, int]) -> Sequence[BarPiece]:
    """What could occur as one stacked bar, in the order from best to worst; the impossible is counted but not drawn."""
    thin = counts.get("thin", 0)  # of the seen ones; a word that older results do not have
    drawn = {"seen": counts["seen"] - thin, "thin": thin}
    drawn |= {state: counts[state] for state in ("determined", "undetermined", "novel")}
    impossible = BarPiece("impossible", whole(counts["impossible"]), percent(0.0), 100.0, 0.0)
    return [*stacked(drawn, counts["space"]), impossible]


def factors(listed: Sequence[Data]) -> Sequence[FactorRow]:
    """A bar for each factor: how many of its values were seen, and which are common and rare."""
    return [_factor(one) for one in listed]


def coverage(orders: Sequence[Data]) -> Bars | None:
    """How much of the space was seen, counted by single values, by pairs, and so on."""
    if not orders:
        return None
    bars = [
        Bar(
            _order(one["order"]).capitalize(),
            100 * _within(one["share"]),
            f"{whole(one['seen'])} of {whole(one['possible'])}",
            percent(one["share"]),
        )
        for one in orders
    ]
    said = [f"{_all_or_share(one['share'])} the {_order(one['order'])}" for one in orders[:3]]
    sentence = f"{enumerate_words(said)} that could occur were seen."
    return Bars(bars, sentence[0].upper() + sentence[1:])


def leverage(measured: Data | None) -> HistogramPicture | None:
    """How firmly the unseen combinations are fixed by the seen ones."""
    if not measured or not measured.get("histogram") or not measured["known"]:
        return None
    edges, counts = measured["histogram"]["edges"], measured["histogram"]["counts"]
    if len(edges) < 2 or edges[0] == edges[-1]:
        return None
    steps = [right - left for left, right in pairwise(edges)]
    logarithmic = edges[0] > 0 and max(steps) > 1.01 * min(steps)  # as the edges were cut
    bend = math.log if logarithmic else float
    within = (bend(edges[0]), bend(edges[-1]))

    def place(edge: float) -> float:
        return 100 * (bend(edge) - within[0]) / (within[1] - within[0])

    tallest = max(counts) or 1
    columns = [
        HistogramColumn(
            place(left),
            place(right) - place(left),
            100 * count / tallest,
            f"{whole(count)} with leverage {decimal(left)} to {decimal(right)}",
        )
        for (left, right), count in zip(pairwise(edges), counts, strict=True)
    ]
    picked = _few(edges)
    if len(picked) > 2 and place(picked[-1]) - place(picked[-2]) < CLOSE:
        picked = [*picked[:-2], picked[-1]]
    ticks = [Tick(place(edge), text) for edge, text in zip(picked, _told_apart(picked), strict=True)]
    one = place(1.0) if edges[0] <= 1.0 <= edges[-1] else None
    return HistogramPicture(columns, ticks, one, whole(tallest), _leverage_sentence(measured))


def islands(found: Sequence[Data]) -> Bars | None:
    """The groups of values that no seen combination links, largest first."""
    if not found:
        return None
    if len(found) == 1:
        return Bars([], _islands_sentence(1))
    rows = sum(one["rows"] for one in found)
    bars = [
        Bar(
            f"Island {place}",
            100 * share(one["rows"], rows),
            f"{_counted(one['combinations'], 'combination')} in {_counted(one['rows'], 'row')}",
            _members(one),
        )
        for place, one in enumerate(found[:MOST_ISLANDS], start=1)
    ]
    return Bars(bars, _islands_sentence(len(found)))


def dependence(pairs: Sequence[Data]) -> ShadedTable | None:
    """How strongly each two factors depend on each other, chance taken away."""
    if not pairs:
        return None
    names = list(dict.fromkeys(name for pair in pairs for name in pair["factors"]))
    tied = {}
    for pair in pairs:
        first, second = pair["factors"]
        tied[first, second] = tied[second, first] = _shade(pair)
    written = [shorten(value(name), 24) for name in names]
    cells = [[tied.get((row, column)) for column in names] for row in names]
    return ShadedTable(written, list(zip(written, cells, strict=True)), _dependence_sentence(pairs))


def redundancy(found: Data | None) -> Bars | None:
    """How much of the target a few factors tell by themselves: where a shortcut would be."""
    if not found:
        return None
    if not found["parts"]:
        return Bars([], found.get("nothing") or "There is nothing for the factors to tell.")
    parts = sorted(found["parts"], key=lambda part: (len(part["factors"]), -(part["told"] or 0)))
    shown: list[Data] = []
    for size in sorted({len(part["factors"]) for part in parts}):
        shown += [part for part in parts if len(part["factors"]) == size][:MOST_SHORTCUTS]
    bars = [
        Bar(
            " + ".join(shorten(value(name), 24) for name in part["factors"]),
            100 * _within(part["told"]),
            percent(part["told"]),
            _score_note(part, found),
        )
        for part in shown
    ]
    cut = "" if len(shown) == len(parts) else f" Shown: the {len(shown)} most telling of {len(parts)}."
    return Bars(bars, _redundancy_sentence(parts[0], found) + cut)


def _factor(one: Data) -> FactorRow:
    values, seen = one["values"], one["seen"]
    if seen == values:
        text = f"{whole(values)} values, all seen" if one["declared"] else f"{whole(values)} values"
    else:
        text = f"{whole(seen)} of {whole(values)} values seen"
    notes = []
    if one.get("effective") is not None:
        notes.append(f"as varied as {decimal(one['effective'])} equally common values")
    if one.get("missing_rows"):
        notes.append(f"empty in {whole(one['missing_rows'])} rows")
    top = max((entry["count"] for entry in one["commonest"]), default=0)
    rare, common = (_entries(one[end][:3], top) for end in ("rarest", "commonest"))
    shown = {bar.label for bar in common}
    return FactorRow(
        value(one["name"]),
        100 * share(seen, values),
        text,
        "; ".join(notes),
        common,
        [bar for bar in rare if bar.label not in shown],
    )


def _counted(number: float, noun: str) -> str:
    return f"{whole(number)} {noun}{'' if number == 1 else 's'}"


def _entries(entries: Sequence[Data], top: int) -> list[Bar]:
    return [Bar(value(one["value"]), 100 * share(one["count"], top), whole(one["count"])) for one in entries]


def _order(order: int) -> str:
    return ORDERS.get(order, f"combinations of {order}")


def _all_or_share(part: float | None) -> str:
    return "all of" if part == 1 else "none of" if part == 0 else f"{percent(part)} of"


def _told_apart(numbers: Sequence[float]) -> list[str]:
    """Numbers with as many digits as tell one from the next.

    >>> _told_apart([1.0, 1.002, 1.004]), _told_apart([0.1, 2.0])
    (['1', '1.002', '1.004'], ['0.1', '2'])
    """
    for digits in range(3, 9):
        texts = [decimal(number) if digits == 3 else f"{number:.{digits}g}" for number in numbers]
        if len(set(texts)) == len(texts):
            return texts
    return [decimal(number) for number in numbers]


def _few(edges: Sequence[float], most: int = 6) -> Sequence[float]:
    step = max(1, math.ceil((len(edges) - 1) / (most - 1)))
    picked = list(edges[::step])
    return picked if picked[-1] == edges[-1] else [*picked[: -1 if len(picked) >= most else None], edges[-1]]


def _leverage_sentence(measured: Data) -> str:
    known, of = measured["known"], measured["of"]
    head = (
        f"Half of the worked-out answers have a leverage of at most {decimal(measured['median'])}, "
        f"one in ten more than {decimal(measured['p90'])}; the worst is {decimal(measured['worst'])}. "
        f"{whole(measured['weak'])} count as weak."
    )
    if measured.get("unknown"):  # a word that older results do not have
        head = f"{head} {unknown_leverages(measured)}"
    if measured["sampled"]:
        return f"{head} Measured on a sample of {whole(known)} of {whole(of)} combinations."
    return head if known == of else f"{head} Known for {whole(known)} of {whole(of)} combinations."


def unknown_leverages(measured: Data | None) -> str | None:
    """How many leverages were asked for and are not known; nothing where all are."""
    lost = (measured or {}).get("unknown")
    if not lost:
        return None
    return f"For {whole(lost)} of those tried the leverage is not known: they count as neither firm nor weak."


def _members(island: Data) -> str:
    parts = []
    for name, size in island["sizes"].items():
        values = island["values"].get(name, [])[:6]
        more = f" and {whole(size - len(values))} more" if size > len(values) else ""
        listed = ", ".join(shorten(value(one), 24) for one in values)
        parts.append(f"{whole(size)} of {shorten(value(name), 24)}: {listed}{more}")
    return "; ".join(parts)


def _islands_sentence(number: int) -> str:
    if number == 1:
        return "The seen combinations hang together: any two values are linked through some of them."
    rest = f" The {MOST_ISLANDS} largest are drawn." if number > MOST_ISLANDS else ""
    return (
        f"The seen combinations fall into {whole(number)} islands that share no value. "
        f"Nothing seen links one to another, so a combination across two islands cannot be worked out.{rest}"
    )


def _shade(pair: Data) -> Shade:
    first, second = (shorten(value(name), 60) for name in pair["factors"])
    strength = pair["cramers_v"]
    title = (
        f"{first} and {second}: Cramér's V {decimal(strength)}, "
        f"normalised mutual information {decimal(pair['nmi'])} (chance left in)"
    )
    return Shade(strength, "–" if strength is None else f"{strength:.2f}", title)


def _dependence_sentence(pairs: Sequence[Data]) -> str:
    known = [pair for pair in pairs if pair["cramers_v"] is not None]
    if not known:
        return "A factor with a single value neither tells nor is told anything."
    most = max(known, key=lambda pair: pair["cramers_v"])
    first, second = (shorten(value(name)) for name in most["factors"])
    head = "The two factors are" if len(pairs) == 1 else f"The most dependent two are {first} and {second},"
    return (
        f"{head} tied with Cramér's V {decimal(most['cramers_v'])} (0 is independent, 1 is the same). "
        "Each cell is the V of its two factors, with what chance alone would give taken away."
    )


def _score_note(part: Data, found: Data) -> str:
    left_out = part.get("score_left_out")
    if part.get("score") is None:
        return ""
    if found["kind"] == "label":
        tail = "" if left_out is None else f", {percent(left_out)} with the row itself left out"
        return f"gets {percent(part['score'])} right{tail}"
    tail = "" if left_out is None else f", {decimal(left_out)} with the row itself left out"
    return f"R² {decimal(part['score'])}{tail}"


def _redundancy_sentence(best: Data, found: Data) -> str:
    name, target = (shorten(value(text)) for text in (" + ".join(best["factors"]), found["target"]))
    unit = "what there is to know of" if found["kind"] == "label" else "the variance of"
    head = f"{name} alone tells {percent(best['told'])} of {unit} {target}"
    if found["kind"] == "label" and best.get("score") is not None and found.get("baseline") is not None:
        usual = percent(found["baseline"])
        right = percent(best.get("score_left_out", best["score"]))
        head += f" and gets {right} right, where the commonest answer gets {usual}"
    return f"{head}. A model can lean on a long bar as a shortcut instead of learning the combination."


def _within(number: float | None) -> float:
    return 0.0 if number is None or math.isnan(number) else min(1.0, max(0.0, number))
