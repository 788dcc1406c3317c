"""Records judged: how many intervals held, how wide they were, which grades came true, which statements were false."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidence.trials import Record

Cell = str | int | float
SOUND, TOO_LOW = 0.8, 0.6
"""A *sound* that reaches less than 0.8 was too bold, below 0.6 it was wrong."""
UNTESTED_KIND = re.compile("no tested combination was missing")
"""The number is an *if*: none that was tested was missing what these are missing."""
CHOSEN = re.compile(r"Careful: .*?(chosen by their answer|easy ones were collected)")
"""A sign that the seen ones were chosen by their answer; a clause that only names the assumption is none."""


@dataclass(frozen=True)
class Ends:
    """One interval beside the truth."""

    truth: float
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low


def intervals(record: Record) -> dict[str, Ends]:
    """Those of a record that exist, and whose truth is known."""
    given = record.get("intervals") or {"": record.get("interval") or [None]}
    return {name: Ends(*ends) for name, ends in given.items() if None not in ends}


def warns_untested(record: Record) -> bool:
    return bool(UNTESTED_KIND.search(_words(record)))


def warns_chosen(record: Record) -> bool:
    return bool(CHOSEN.search(_words(record)))


def _words(record: Record) -> str:
    return " ".join([record.get("verdict", ""), *record.get("reasons", ())])


def range_of(hits: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: what luck in the number of tables leaves open."""
    if not of:
        return 0.0, 1.0
    share, z = hits / of, 1.96
    middle, reach = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - reach) / (1 + z * z / of), (middle + reach) / (1 + z * z / of)


def share_words(hits: int, of: int) -> str:
    """A share with its Monte-Carlo range.

    >>> share_words(95, 100)
    '95 (89–98)'
    """
    if not of:
        return "–"
    low, high = range_of(hits, of)
    return f"{100 * hits / of:.0f} ({100 * low:.0f}–{100 * high:.0f})"


@dataclass(frozen=True)
class Held:
    """A kind of interval in one family."""

    name: str
    tables: int
    said: int
    held: int
    too_high: int  # truth below the low end: what was promised did not come true
    width: float
    mean_said: float
    mean_true: float
    untested_kind: int  # sentences that make the number an *if*
    chosen: int  # sentences that warn of the choice by the answer
    held_or_warned: int
    errors: int
    sealed: bool

    def line(self, before: "Held | None", ratio: float | None) -> list[Cell]:
        held = share_words(self.held, self.said)
        then = "" if before is None else share_words(before.held, before.said)
        times = "" if ratio is None else f"{ratio:.2f}"
        warned = f"{self.untested_kind}/{self.chosen}" if self.untested_kind or self.chosen else ""
        either = share_words(self.held_or_warned, self.said) if warned else ""
        numbers = [f"{one:.2f}" for one in (self.width, self.mean_said, self.mean_true)]
        counted = f"{self.said}/{self.tables}" + (f" ({self.errors} errors)" if self.errors else "")
        return [self.name, counted, held, self.too_high, *numbers, warned, either, then, times]


HELD_HEADER = (
    *(
        "intervals of 95 %",
        "said",
        "held %",
        "too high",
        "width",
        "mean said",
        "mean true",
        "if/chosen",
        "held or warned",
    ),
    *("held before %", "width ×"),
)


def held_lines(records: Sequence[Record], sealed: frozenset[str]) -> list[Held]:
    """One for each kind of interval of each family that has one."""
    found = []
    for name, mine in _by_name(records).items():
        if not any(record.keys() & {"interval", "intervals"} for record in mine):
            continue
        kinds = dict.fromkeys(kind for record in mine for kind in (record.get("intervals") or {"": None}))
        found += [_held(f"{name}{f', {kind}' if kind else ''}", mine, kind, name in sealed) for kind in kinds]
    return found


def _held(name: str, records: Sequence[Record], kind: str, sealed: bool) -> Held:
    both = [(record, intervals(record)[kind]) for record in records if kind in intervals(record)]
    ends = [one for _, one in both]
    clipped = [np.clip([one.value, one.truth], -1, None) for one in ends]  # an R² of minus 100 would be all of a mean
    means = np.mean(clipped, axis=0) if ends else np.full(2, np.nan)
    warned = [(warns_untested(record), warns_chosen(record)) for record, _ in both]
    return Held(
        name=name,
        tables=len(records),
        said=len(ends),
        held=sum(one.holds for one in ends),
        too_high=sum(one.truth < one.low for one in ends),
        width=float(np.median([one.width for one in ends])) if ends else float("nan"),
        mean_said=float(means[0]),
        mean_true=float(means[1]),
        untested_kind=sum(one for one, _ in warned),
        chosen=sum(two for _, two in warned),
        held_or_warned=sum(one.holds or any(words) for one, words in zip(ends, warned, strict=True)),
        errors=sum("error" in record for record in records),
        sealed=sealed,
    )


def width_ratios(now: Sequence[Record], before: Sequence[Record]) -> dict[str, float]:
    """By how much intervals of the same tables are wider than they were: the median, by family and kind."""
    old = {(one["verb"], one["family"], one["number"]): intervals(one) for one in before}
    found: dict[str, list[float]] = {}
    for record in now:
        then = old.get((record["verb"], record["family"], record["number"]), {})
        for kind, ends in intervals(record).items():
            if kind in then and then[kind].width > 0:
                name = f"{record['verb']}: {record['family']}{f', {kind}' if kind else ''}"
                found.setdefault(name, []).append(ends.width / then[kind].width)
    return {name: float(np.median(ratios)) for name, ratios in found.items()}


def _by_name(records: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(f"{record['verb']}: {record['family']}", []).append(record)
    return found


GRADES = ("sound", "plausible", "weak", "failing", "untested")
GRADE_HEADER = ("grades by truth", *GRADES, "sound < .6", "sound < .8", "true ≥ .8", "failing of these")


def grade_lines(records: Sequence[Record]) -> list[list[Cell]]:
    """How grades came true.

    A *sound* is held to the score on the combinations that it speaks of. A *failing* is false if at least half of the
    unseen combinations follow from the seen ones, the rule truly gets 0.8 or more there, and one answer for all is not
    truly better: then nothing is wrong that the grade could mean.
    """
    graded = [one for one in records if one["verb"] in ("audit", "rehearse") and "grade" in one]
    lines = [_grades(name, mine) for name, mine in _by_name(graded).items()]
    return [*lines, *(_grades(f"all of {verb}", [r for r in graded if r["verb"] == verb]) for verb in _verbs(graded))]


def _verbs(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(one["verb"] for one in records))


def _grades(name: str, records: Sequence[Record]) -> list[Cell]:
    counts = Counter(one["grade"] for one in records)
    sound = [one["interval"][0] for one in records if one["grade"] == "sound" and one["interval"][0] is not None]
    good = [one for one in records if _truly_good(one)]
    failing = sum(one["grade"] == "failing" for one in good)
    low = [sum(truth < limit for truth in sound) for limit in (TOO_LOW, SOUND)]
    return [name, *(counts[grade] for grade in GRADES), *low, len(good), failing]


def _truly_good(record: Record) -> bool:
    true = record.get("true")
    constant = record.get("true_constant")
    if true is None or true < SOUND or record.get("determined", 1.0) < 0.5:
        return False
    return constant is None or true >= constant


STATEMENT_HEADER = ("statements", "tables", "false %", "found %", "")


def statement_lines(records: Sequence[Record]) -> list[list[Cell]]:
    """False statements where nothing is to be found, and how often what was planted is found."""
    kinds: Mapping[str, Callable[[str, list[Record]], list[Cell]]] = {
        "worst group": _group_line,
        "deviates": _deviation_line,
        "causes": _cause_line,
        "diff": _diff_line,
    }
    told = [one for one in records if one["verb"] in kinds and "error" not in one]
    return [kinds[mine[0]["verb"]](name, mine) for name, mine in _by_name(told).items()]


def _group_line(name: str, records: list[Record]) -> list[Cell]:
    """False: the interval lies below the true score of the group that is named."""
    ends = [(record, intervals(record).get("")) for record in records]
    false = sum(one is not None and one.high < one.truth for _, one in ends)
    found = sum(one is not None and record["right_one"] and one.high < record["others"] for record, one in ends)
    power = share_words(found, len(records)) if records[0]["planted"] else ""
    return [name, len(records), share_words(false, len(records)), power, "named worse than it is; the bad one told"]


def _deviation_line(name: str, records: list[Record]) -> list[Cell]:
    """False where nothing deviates: anything is named. Else the share of the named that do not deviate."""
    planted = sum(one["planted"] for one in records)
    if not planted:
        false = share_words(sum(one["named"] > 0 for one in records), len(records))
        return [name, len(records), false, "", "tables in which any is named"]
    named = sum(one["named"] for one in records)
    false = share_words(sum(one["false"] for one in records), named)
    found = share_words(sum(one["hits"] for one in records), planted)
    return [name, len(records), false, found, "of the named; of the planted"]


def _cause_line(name: str, records: list[Record]) -> list[Cell]:
    """False: a factor is named that no answer follows. Hard values of `a` do change answers: there only `b` is."""
    hard = name.endswith("hard_a")
    false = [one for one in records if one["hangs_on"] not in (None, one["followed"], "a" if hard else None)]
    named = Counter(one["hangs_on"] or "neither" for one in records)
    leading = Counter(one["leading"] or "none" for one in records)
    followed = records[0]["followed"]
    found = share_words(sum(one["hangs_on"] == followed for one in records), len(records)) if followed else ""
    told = f"swap {_counts(named)}; errors put down to {_counts(leading)}"
    return [name, len(records), share_words(len(false), len(records)), found, told]


def _diff_line(name: str, records: list[Record]) -> list[Cell]:
    """The gate: *failing* where only the noise was drawn anew is a false alarm."""
    failing = share_words(sum(one["grade"] == "failing" for one in records), len(records))
    fell = sum("fell from" in one["verdict"] for one in records)
    told = f"{_counts(Counter(one['grade'] for one in records))}; the grade fell in {fell}"
    return [name, len(records), *(("", failing) if records[0]["worse"] else (failing, "")), told]


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counter.most_common())


def plain(lines: Sequence[Held]) -> list[dict[str, Any]]:
    return [vars(one) | {"share": one.held / one.said if one.said else None} for one in lines]
