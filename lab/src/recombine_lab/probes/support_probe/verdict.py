"""From measures to an outcome, a sentence and reasons.

What decides, in this order: parts of the support that nothing links, values asked about and never shown (holes,
coverage), slots that never move apart (slice variation), directions that no seen point fixes although they change what
is asked about, and slots that only an anchor would tie to each other. Full rank alone decides nothing: it is full on an
exact diagonal too, from which nothing can be learned.

What a page and a table show of the measures: the controls beside each, entry by entry, and every hole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from recombine.base.grades import Grade
from recombine.base.words import count, percent, percent_range
from recombine.output.figures import Matrix
from recombine_lab.probes.probe import MEASURED, Measure
from recombine_lab.probes.support_probe.measures import EVERY, EmptyStretch, Links, hole_in
from recombine_lab.probes.support_probe.points import Slot, SupportPoints

Outcome = Literal["sufficient", "insufficient", "unclear"]
OUTCOMES: tuple[Outcome, ...] = ("sufficient", "insufficient", "unclear")
EVEN = "evenly drawn"
DIAGONAL = "exact diagonal"
HOLE = 0.1
"""An entry without any value over more than this share of its range has a hole."""
ASKED = "hole asked about"
"""What nobody asks about says nothing against the seen points: only a hole in which points asked about lie decides."""
UNCOVERED = 0.15
"""How far coverage may lie below that of as many values drawn evenly."""
FREE, TIED = 0.4, 0.1
"""Slice variation from which on models did well in every training that was measured, and up to which nothing is to be
had. At .29 published models did well after 392,000 steps and the lab's after 1,500 did not; at .14 two of five did."""
OPEN = 0.05
"""The share of sites whose open directions may change the whole."""
WORTH, LITTLE = 0.15, 0.02
"""What an anchor may be worth, as a share of what is left open, unless next to nothing is. Chosen between a support
that does without (at most .06 in seven measured ones) and one that does not (.23)."""
COARSE = 0.25
"""A bandwidth above this share of the range says that there are too few points to see holes."""


@dataclass(frozen=True, eq=False)
class SupportMeasures:
    """All measures, by slot and name and whose they are."""

    measures: Sequence[Measure]
    slots: Sequence[str]

    def get(self, name: str, where: str, who: str = MEASURED) -> Measure:
        """One measure; one that is not known where it was not taken."""
        for one in self.measures:
            if (one.where, one.name, one.who) == (where, name, who):
                return one
        return Measure(where, name, None, who, n=0)

    def worst(self, name: str, *, highest: bool = False, who: str = MEASURED) -> Measure:
        """The slot with the lowest value, or the highest; unknown ones last."""
        found = [self.get(name, slot, who) for slot in self.slots]
        known = [one for one in found if one.value is not None]
        if not known:
            return found[0]
        return max(known, key=lambda one: (one.value or 0.0) * (1 if highest else -1))


@dataclass(frozen=True)
class SupportJudgement:
    """What is said."""

    outcome: Outcome
    grade: Grade
    sentence: str


def judged(found: SupportMeasures, *, composed: str, rows: int, holes: dict[str, str], parts: str) -> SupportJudgement:
    """The outcome, its grade, and the sentence, by the first thing that decides; `parts` names two of them."""
    start = f"With {composed} known, {count(rows)} seen points"
    across = found.get("combinations across parts", EVERY)
    if (across.value or 0.0) > LITTLE:
        return _apart(found, across, f"{start} are not enough: {_UNTOLD.get(composed, _HANDED)} {parts}")
    for judge in (_hole, _tied, _too_few, _uncovered, _half_tied, _open, _unanchored):
        said = judge(found, start, holes)
        if said is not None:
            return said
    covered, free = found.worst("coverage"), found.worst("slice variation")
    return SupportJudgement(
        "sufficient",
        "plausible",
        f"{start} are enough to fix every component, if it is smooth{_grown(found)}: {_freedom(found, free)}, and"
        f" {_share(covered)} of the values of {covered.where} that are asked about have a seen one near them,"
        f" {_beside(found, 'coverage', covered.where)}.",
    )


_UNTOLD = {"add": "the offset between", "product": "the factor between"}
_WHOLE = 10
_HANDED = "what one slot takes over from another between"


def parts_words(points: SupportPoints, linked: Links) -> str:
    """The two largest parts, by an entry in which they do not meet; by their points where there is none.

    Of a part in words: "x0 from 0 to 0.4".
    """
    largest = np.argsort(-np.bincount(linked.parts), kind="stable")[:2]
    both = [points.seen[linked.parts == one] for one in largest]
    if len(both) < 2:
        return ""
    for column, name in enumerate(points.names):
        first, second = sorted(((one[:, column].min(), one[:, column].max()) for one in both), key=lambda ends: ends[0])
        if first[1] < second[0]:
            return " and ".join(f"{name} from {low:.3g} to {high:.3g}" for low, high in (first, second))
    return f"parts of {' and '.join(count(len(one)) for one in both)} points"


def _apart(found: SupportMeasures, across: Measure, start: str) -> SupportJudgement:
    parts = int(found.get("parts", EVERY).value or 1)
    return SupportJudgement(
        "insufficient",
        "failing",
        f"{start} is not identified. No seen point links these parts ({parts} in all), and {_share(across)} of the"
        " combinations asked about put values of different parts together.",
    )


def _grown(found: SupportMeasures) -> str:
    """How far an error can grow, in words."""
    own, even = (found.get("error growth", EVERY, who).value for who in (MEASURED, EVEN))
    if own is None or even is None:
        return ""
    beside = f"{_fold(even)} with points drawn evenly"
    return f", and an error of the fit grows at most {_fold(own)} on new combinations ({beside})"


def _fold(factor: float) -> str:
    return f"{factor:,.0f}-fold" if factor >= _WHOLE else f"{factor:.2g}-fold"


def _too_few(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    coarse, free = found.worst("bandwidth", highest=True), found.worst("slice variation")
    unknown = [slot for slot in found.slots if found.get("slice variation", slot).value is None]
    if unknown and (found.get("coverage", unknown[0]).value or 0.0) <= 0:
        return None  # nothing asked about was seen at all: that is a hole, and judged as one
    apart = coarse.value or 0.0
    if unknown or apart > COARSE:
        why = f"drawn evenly, so few would still lie {percent(apart)} of the range apart in {coarse.where}"
        if unknown:
            why = f"none could be held against others with nearly the same partners of {unknown[0]}"
        freedom = "" if free.value is None else f"; as far as it goes, {_freedom(found, free)}"
        return SupportJudgement(
            "unclear", "untested", f"{start} are too few to say whether they fix the components: {why}{freedom}."
        )
    return None


def _hole(found: SupportMeasures, start: str, holes: dict[str, str]) -> SupportJudgement | None:
    if not _holed(found):
        return None
    hole = found.worst(ASKED, highest=True)
    even = found.get("hole", hole.where, EVEN).value or 0.0
    return SupportJudgement(
        "insufficient",
        "failing",
        f"{start} are not enough: {hole.where} was never seen with {holes.get(hole.where, 'some values')}, a hole of"
        f" {percent(hole.value or 0.0)} of that entry's range (as many points drawn evenly: {percent(even)}).",
    )


def _holed(found: SupportMeasures) -> bool:
    """Whether something is asked about where nothing was seen."""
    hole = found.worst(ASKED, highest=True)
    return (hole.value or 0.0) > largest_allowed(found, hole.where)


def largest_allowed(found: SupportMeasures, where: str) -> float:
    """How long a stretch of an entry may be empty: as many points drawn evenly leave stretches empty too."""
    return max(HOLE, 2 * (found.get("hole", where, EVEN).value or 0.0))


def _uncovered(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    for slot in found.slots:
        own, even = found.get("coverage", slot), found.get("coverage", slot, EVEN)
        if own.high is not None and own.high < (even.value or 0.0) - UNCOVERED:
            return SupportJudgement(
                "insufficient",
                "failing",
                f"{start} are not enough: only {_share(own)} of the values of {slot} that are asked about have a seen"
                f" one near them ({_beside(found, 'coverage', slot)}).",
            )
    return None


def _tied(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    free = found.worst("slice variation, worst direction")
    usual = found.get("slice variation", free.where)
    # One direction that never varies by itself is as bad as all of them.
    least = min((one.high for one in (usual, free) if one.high is not None), default=1.0)
    if least >= TIED:
        return None
    if (usual.high or 0.0) < TIED:
        said = f"no slot moves by itself: {_freedom(found, usual)}"
    else:
        said = (
            f"one direction of {free.where} never moves by itself: there it keeps {_share(free)} of its spread while"
            f" the others stand nearly still ({_control(found, free, EVEN)}); in all, {_freedom(found, usual)}"
        )
    return SupportJudgement("insufficient", "failing", f"{start} are not enough: {said}.")


def _half_tied(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    usual = found.worst("slice variation")
    if (usual.low or 0.0) < FREE:
        return SupportJudgement(
            "unclear",
            "weak",
            f"{start} may or may not be enough: {_freedom(found, usual)}, which is between {percent(TIED)}, where"
            f" nothing is to be had, and {percent(FREE)}, from where models did well in every training measured.",
        )
    return None


def _open(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    changes = found.worst("open directions that change the whole", highest=True)
    if changes.value is None or changes.value <= OPEN:
        return None
    left, even, tied = (found.get("left open", EVERY, who).value for who in (MEASURED, EVEN, DIAGONAL))
    said = (
        f"{changes.where} has directions that no seen point fixes and that would change {_share(changes)} of the places"
        f" asked about ({_beside(found, changes.name, changes.where)})"
    )
    far = left is not None and even is not None and tied is not None and left >= (even + tied) / 2
    if far:
        return SupportJudgement("insufficient", "failing", f"{start} are not enough: {said}.")
    return SupportJudgement("unclear", "weak", f"{start} may or may not be enough: {said}.")


def _unanchored(found: SupportMeasures, start: str, _: dict[str, str]) -> SupportJudgement | None:
    """Whether much would be fixed by knowing the components at one seen point, which no data can tell."""
    left, anchored = (found.get(name, EVERY) for name in ("left open", "left open, with an anchor"))
    if left.value is None or anchored.value is None or left.value < LITTLE:
        return None
    worth = 1 - anchored.value / left.value
    if worth < WORTH:
        return None
    return SupportJudgement(
        "unclear",
        "weak",
        f"{start} may or may not be enough: they do not tie the slots to each other; {percent(worth)} of what they"
        f" leave open ({_share(left)}) would be fixed by knowing the components at one seen point, which no data"
        " show.",
    )


def _freedom(found: SupportMeasures, one: Measure) -> str:
    """How freely a slot varies, with its interval and both controls."""
    if one.value is None:
        return f"nobody knows how freely {one.where} varies"
    beside = [_interval(one)] if _interval(one) else []
    beside += [_control(found, one, who) for who in (DIAGONAL, EVEN)]
    told = f" ({'; '.join(beside)})" if beside else ""
    return f"{one.where} keeps {percent(one.value)} of its spread while the others stand nearly still{told}"


def _control(found: SupportMeasures, one: Measure, who: str) -> str:
    """The same number of a control."""
    other = found.get(one.name, one.where, who).value
    return f"{who} {'not known' if other is None else percent(other)}"


def _share(one: Measure) -> str:
    if one.value is None:
        return "an unknown share"
    around = _interval(one)
    return f"{percent(one.value)} ({around})" if around else percent(one.value)


def _interval(one: Measure) -> str:
    """The interval in words; nothing where both ends are one number."""
    if one.low is None or one.high is None:
        return ""
    ends = percent_range(one.low, one.high)
    return f"95 % interval {ends}" if " to " in ends else ""


def _beside(found: SupportMeasures, name: str, where: str) -> str:
    even = found.get(name, where, EVEN).value
    return "no control" if even is None else f"{percent(even)} with points drawn evenly"


# -- reasons ---------------------------------------------------------------------------------------------------------


def reasons(
    found: SupportMeasures, *, kind: str, query_is: str, sketched: bool, extra: Sequence[str]
) -> tuple[str, ...]:
    """Which numbers decide, what they hang on, and what was not tested."""
    said = [_rank_words(found, sketched), _open_words(found), _growth_words(found), _WHOSE[kind]]
    said.append(f"Asked about: {query_is}.")
    said += list(extra)
    said.append(
        "Not tested: that the composition is the right one, that components are smooth, that a model fits what it was"
        " shown, and that it has the components right at one seen point."
    )
    return tuple(one for one in said if one)


_FULL = 0.999
_WHOSE = {
    "true": "Jacobians are those at the true components.",
    "learned": "Jacobians are those at the learned components: what is said of them holds as far as these are right.",
    "random": "No components were given: Jacobians are those at random smooth ones and speak of the composition.",
}


def _growth_words(found: SupportMeasures) -> str:
    own, fixed = (found.get(name, EVERY).value for name in ("error growth", "connectivity"))
    if own is None or not fixed:
        return ""
    parts = int(found.get("parts", EVERY).value or 1)
    where = "the seen points hang together" if parts == 1 else f"within each of {parts} parts"
    return (
        f"Connectivity: {where}; to first order, and where components hardly change between neighbouring values, an"
        f" error of the fit grows at most {_fold(own)} on new combinations, and {_fold(fixed**-0.5)} in a component, of"
        " which slots may hand to each other what hardly shows."
    )


def _rank_words(found: SupportMeasures, sketched: bool) -> str:
    own, tied = found.worst("full rank, sum"), found.worst("full rank, sum", who=DIAGONAL)
    stack = found.worst("full rank, stack")
    if own.value is None:
        return "No value that is asked about has a seen one near it, so no rank was taken."
    what = "directions fixed by" if sketched else "values and places with full rank of"
    words = f"{_of(own.value)} of {what} the summed Jacobians (worst slot), {_of(stack.value)} stacked"
    if tied.value is not None:
        words += f"; {_of(tied.value)} on an exact diagonal, which fixes nothing"
    if own.value >= _FULL and (stack.value or 0.0) >= _FULL:
        return f"The rank decides nothing here: {words}. Holes, coverage and slice variation decide."
    return f"Rank: {words}. Where it is not full, it counts whether open directions change what is asked about."


def _of(share: float | None) -> str:
    return "not known" if share is None else percent(share)


def _open_words(found: SupportMeasures) -> str:
    left, even, tied = (found.get("left open", EVERY, who) for who in (MEASURED, EVEN, DIAGONAL))
    if left.value is None:
        return ""
    beside = ", ".join(f"{one.who} {percent(one.value)}" for one in (even, tied) if one.value is not None)
    anchor = found.get("left open, with an anchor", EVERY).value
    known = "" if anchor is None else f"; {percent(anchor)} if the components were known at one seen point"
    # Smooth components are carried over a hole, so that the number speaks for points which the verdict is against.
    rank = "Of all that is known before training, this number ranked measured supports best."
    blind = "It hardly sees the hole, which decides: it takes components to go on smoothly across it."
    return (
        f"If components change smoothly, the seen points leave {_share(left)} of what could change open"
        f" ({beside}){known}. {blind if _holed(found) else rank}"
    )


SHOWN = (
    "coverage",
    "hole",
    "hole asked about",
    "combinations across parts",
    "slice variation",
    "slice variation, worst direction",
    "full rank, sum",
    "full rank, stack",
    "open directions that change the whole",
    "recovery, seen values",
    "recovery, elsewhere",
    "recovery up to scale and shift, elsewhere",
)
"""The measures between 0 and 1, which a page shows as a matrix."""
OF_ALL = (
    "left open",
    "left open, with an anchor",
    "parts",
    "combinations across parts",
    "error growth",
    "connectivity",
)
"""The measures of all slots together."""
HOLES = pa.schema(
    [
        ("slot", pa.string()),
        ("entry", pa.string()),
        ("from", pa.float64()),
        ("to", pa.float64()),
        ("share", pa.float64()),
        ("levels", pa.int64()),
        ("unseen_levels", pa.int64()),
        ("asked_about", pa.bool_()),
    ]
)


def holes_of(points: SupportPoints) -> list[dict[str, Any]]:
    """The longest empty stretch of each entry, and the longest asked about where that is another; levels never seen."""
    found = []
    for slot in points.slots:
        for column in slot.columns:
            longest, asked = (hole_in(points, column, asked=only) for only in (False, True))
            found.append(_hole_row(points, slot, column, longest, asked_about=longest == asked))
            if longest != asked and asked.share > 0:
                found.append(_hole_row(points, slot, column, asked, asked_about=True))
    return found


def _hole_row(
    points: SupportPoints, slot: Slot, column: int, hole: EmptyStretch, *, asked_about: bool
) -> dict[str, Any]:
    levels = int(points.levels[column])
    return {
        "slot": slot.name,
        "entry": points.names[column],
        "from": None if levels else hole.begins,
        "to": None if levels else hole.ends,
        "share": hole.share,
        "levels": levels,
        "unseen_levels": hole.unseen_levels,
        "asked_about": asked_about or bool(levels),
    }


def hole_words(holes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The largest hole of each slot that is asked about, in words."""
    said = {}
    for one in sorted(holes, key=lambda one: one["share"]):
        if one["asked_about"]:
            said[one["slot"]] = _called(one)
    return said


def unasked_words(holes: Sequence[dict[str, Any]], found: SupportMeasures) -> list[str]:
    """Holes that would count if anything were asked about them."""
    return [
        f"Nothing is said of {_called(one)}, which was never seen and is not asked about."
        for one in holes
        if not one["asked_about"] and one["share"] > largest_allowed(found, f"{one['slot']}: {one['entry']}")
    ]


def _called(hole: dict[str, Any]) -> str:
    if hole["levels"]:
        return f"{hole['unseen_levels']} of {hole['levels']} levels of {hole['entry']}"
    return f"{hole['entry']} between {hole['from']:.3g} and {hole['to']:.3g}"


_RECOVERED = (
    "recovery, anchor",
    "recovery, seen values",
    "recovery, elsewhere",
    "recovery up to scale and shift, elsewhere",
)


def numbers_of(found: SupportMeasures) -> dict[str, float | None]:
    """The worst slot of each measure, which the sentence speaks of."""
    highest = ("hole", "hole asked about", "open directions that change the whole")
    names = [name for name in SHOWN if "recovery" not in name and name not in OF_ALL]
    slots = {name: found.worst(name, highest=name in highest).value for name in names}
    # Those that decide come first: a page's head and a terminal show no more than a few.
    numbers = {name: slots.pop(name) for name in ("slice variation", "hole", "coverage")}
    for name in OF_ALL:
        numbers[name] = found.get(name, EVERY).value
    numbers |= slots
    recovered = {name: found.worst(name).value for name in _RECOVERED}
    return numbers | {name: value for name, value in recovered.items() if value is not None}


def figures_of(found: SupportMeasures, points: SupportPoints) -> tuple[Matrix, ...]:
    """The measures between 0 and 1 beside their controls, and each entry by itself."""
    who = (MEASURED, EVEN, DIAGONAL)
    rows = [(slot, name) for slot in (EVERY, *found.slots) for name in SHOWN if found.get(name, slot).value is not None]
    beside = Matrix(
        "The seen points beside two controls",
        "Each row is a measure of a slot. A hole and open directions are bad where they are large, all others"
        " where they are small. What is alike in all three columns tells nothing.",
        tuple(f"{slot}: {name}" for slot, name in rows),
        who,
        tuple(tuple(found.get(name, slot, one).value for one in who) for slot, name in rows),
    )
    entries = [f"{slot.name}: {points.names[column]}" for slot in points.slots for column in slot.columns]
    each = Matrix(
        "Entry by entry",
        "The longest stretch of an entry without any seen value, and the share of its spread that it keeps while the"
        " other slots stand nearly still.",
        tuple(entries),
        ("hole", "slice variation"),
        tuple(tuple(found.get(name, entry).value for name in ("hole", "slice variation")) for entry in entries),
    )
    return beside, each
