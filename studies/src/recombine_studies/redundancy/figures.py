"""The figures: every seed's gap, the paper's figures 3, 5 and 6 drawn again, and what answers hang on by step.

What a reader is told beside the claims: what follows, what limits it, and what is not as published.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from recombine.base.words import amount, interval_words, listing, measure, percent
from recombine.output.figures import Cells, Curve, Curves, Field, Figure, Strip, Strips
from recombine_studies.claims import GAP_DIFFERENCE, SHARE, over_seeds
from recombine_studies.redundancy.claims import RIGHT
from recombine_studies.redundancy.grids import DIGITS, SCAN, TOY
from recombine_studies.redundancy.measures import (
    BOUNDARIES,
    BySeed,
    at_step,
    curves,
    gaps,
    influences,
    lasts,
    less,
    numbers,
    speeds,
    steps_of,
    syntax_gaps,
)
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence

_ALL: tuple[tuple[str, str, str], ...] = (
    *((TOY, setting, "test") for setting in ("A", "B")),
    *((DIGITS, setting, "test") for setting in ("A", "B", "B-noise")),
    *((SCAN, setting, "test") for setting in ("A", "B-all", "B-jump")),
    (SCAN, "B-jump", "replaced"),
)
_NAMES = {TOY: "toy", DIGITS: "pairs of digits", SCAN: "SCAN"}
_ACROSS = 6
"""Panels in a row."""


def figures(evidence: Evidence) -> Sequence[Figure]:
    """All of them."""
    return [
        _gaps(evidence),
        _training(evidence, DIGITS, ("A", "B", "B-noise"), "Figure 3a: pairs of digits"),
        _training(evidence, SCAN, ("A", "B-all", "B-jump"), "Figure 3b: SCAN"),
        _by_step(evidence),
        _by_seed(evidence),
        _hanging(evidence),
    ]


def mean_of(found: BySeed) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in found.values() if math.isfinite(value)]
    return fmean(known) if known else None


def _said(value: float | None) -> str:
    return "not known" if value is None else measure(value)


def _gaps(evidence: Evidence) -> Strips:
    drawn = []
    for grid, setting, part in _ALL:
        found = gaps(evidence, grid, setting, part)
        name = f"{_NAMES[grid]}, {setting}" + (", test changed too" if part == "replaced" else "")
        drawn.append(Strip(name, tuple(_known(value) for value in numbers(found)), _NAMES[grid]))
    sizes = listing([f"{_said(mean_of(gaps(evidence, grid, 'A')))} ({_NAMES[grid]})" for grid in (TOY, DIGITS, SCAN)])
    sentence = (
        f"Every seed is a point. The mean gap in A is {sizes}; below it are the settings without the information."
    )
    return Strips("Training accuracy less test accuracy after the last step", sentence, "gap", tuple(drawn), 0.0)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _training(evidence: Evidence, grid: str, settings: Sequence[str], title: str) -> Curves:
    """Training and test accuracy by step, with intervals over seeds."""
    steps = sorted({row["step"] for own in curves(evidence, grid, "A").values() for row in own})
    drawn = []
    for setting in settings:
        for part, word in (("train", "train"), ("test", "test"), ("replaced", "changed test")):
            found = [_at(evidence, grid, setting, part, step) for step in steps]
            if any(values for values in found):
                drawn.append(_curve(f"{word} {setting}", found, control=setting == settings[-1]))
    ends = [
        f"{_said(mean_of(lasts(evidence, grid, setting, 'train')))} and"
        f" {_said(mean_of(lasts(evidence, grid, setting, 'test')))} in {setting}"
        for setting in settings
    ]
    seeds = amount(len(curves(evidence, grid, "A")), "seed")
    sentence = (
        f"Mean over {seeds} with its 95 % interval. Training and test accuracy end at {listing(ends)}, which is drawn"
        " dashed."
    )
    return Curves(title, sentence, "step", "accuracy", tuple(map(str, steps)), tuple(drawn))


def _at(evidence: Evidence, grid: str, setting: str, part: str, step: int) -> list[float]:
    rows = [row for own in curves(evidence, grid, setting).values() for row in own if row["step"] == step]
    return Rows(rows).numbers(part)


def _curve(name: str, found: Sequence[Sequence[float]], *, control: bool) -> Curve:
    """Means by place, with Student's intervals where there are seeds enough."""
    told = [over_seeds(name, values, ">", 0.0, SHARE) for values in found]
    banded = any(one.low is not None for one in told)
    low, high = (tuple(one.low for one in told), tuple(one.high for one in told)) if banded else ((), ())
    return Curve(name, tuple(one.value for one in told), low, high, control)


def _by_step(evidence: Evidence) -> Field:
    """Figure 5, with B below it."""
    rows = evidence.of(BOUNDARIES).chosen(lambda row: row["seed"] == 0)
    steps = sorted({row["step"] for row in rows})
    chosen = steps if len(steps) <= _ACROSS else [*steps[: _ACROSS - 1], steps[-1]]
    panels = [[_panel(rows, setting, step) for step in chosen] for setting in ("A", "B")]
    right = [
        f"{percent(_corner(panel))} of it after step {step}" if step else f"{percent(_corner(panel))} of it before"
        for step, panel in zip(chosen, panels[0], strict=True)
        if panel
    ]
    sentence = (
        "The class that the network of the first seed gives at each point; dark is class 1, and the upper right quarter"
        f" of each panel is the test square. Above A, below B. In A the network gets {listing(right)} right."
    )
    across = f"x1 from -1 to 1 in each panel; from left to right after steps {listing([str(step) for step in chosen])}"
    return _mosaic("Figure 5: the toy's decision boundary by step", sentence, across, panels)


def _by_seed(evidence: Evidence) -> Field:
    """Figure 6: the first seeds, not chosen ones."""
    rows = evidence.of(BOUNDARIES).chosen(lambda row: row["setting"] == "A")
    last = max(rows.column("step"), default=0)
    seeds = sorted({row["seed"] for row in rows if row["step"] == last})
    found = [_panel(rows.chosen(lambda row, seed=seed: row["seed"] == seed), "A", last) for seed in seeds]  # type: ignore[misc]
    panels = [found[start : start + _ACROSS] for start in range(0, len(found), _ACROSS)]
    right = numbers(lasts(evidence, TOY, "A", "test"))
    passed = sum(value >= RIGHT for value in right)
    sentence = (
        f"The first {amount(len(seeds), 'seed')} in A after step {last:,}, as they came. Of all"
        f" {amount(len(right), 'seed')}, {passed} get {RIGHT:.0%} of the test square (upper right) right."
    )
    return _mosaic("Figure 6: the toy's decision boundaries by seed", sentence, "x1 from -1 to 1 in each panel", panels)


def _panel(rows: Rows, setting: str, step: int) -> Cells | None:
    found = [row["cells"] for row in rows if row["setting"] == setting and row["step"] == step]
    if not found:
        return None
    side = math.isqrt(len(found[0]))
    return tuple(tuple(found[0][start : start + side]) for start in range(0, side * side, side))


def _corner(panel: Cells) -> float:
    """The share of the upper right quarter that has class 1."""
    half = len(panel) // 2
    return fmean(float(cell or 0.0) for row in panel[:half] for cell in row[-half:])


def _mosaic(title: str, sentence: str, across: str, panels: Sequence[Sequence[Cells | None]]) -> Field:
    """Panels beside and below each other, with an empty line between them."""
    wide = max((len(row) for row in panels), default=0)
    cells = tuple(mosaic([[*row, *[None] * (wide - len(row))] for row in panels]))
    return Field(title, sentence, across, "x2 from -1 to 1", (0.0, float(wide)), (0.0, float(len(panels))), cells)


def mosaic(panels: Sequence[Sequence[Cells | None]]) -> Iterator[tuple[float | None, ...]]:
    """The rows of a picture of pictures; a panel that is missing is left empty.

    >>> list(mosaic([[((1.0,),), None]]))
    [(1.0, None, None)]
    """
    side = next((len(panel) for row in panels for panel in row if panel), 0)
    empty: Cells = ((None,) * side,) * side
    for number, row in enumerate(panels):
        if number:
            yield (None,) * (len(row) * (side + 1) - 1)
        for line in range(side):
            joined: list[float | None] = []
            for place, panel in enumerate(row):
                joined += [None] if place else []
                joined += (panel or empty)[line]
            yield tuple(joined)


def _hanging(evidence: Evidence) -> Curves:
    """Swaps by step, of the toy and of digits, in A and B."""
    both = [set(steps_of(evidence, grid)[:-1]) for grid in (TOY, DIGITS)]
    shared = sorted(both[0] & both[1])
    places = ("before", *map(str, shared), "last")
    drawn = []
    for grid in (TOY, DIGITS):
        last = max(steps_of(evidence, grid), default=0)
        for setting in ("A", "B"):
            found = [numbers(influences(evidence, grid, setting, "swap", step)) for step in (0, *shared, last)]
            drawn.append(_curve(f"{_NAMES[grid]}, {setting}", found, control=setting == "B"))
    said = [f"{_change(evidence, grid)} ({_NAMES[grid]})" for grid in (TOY, DIGITS)]
    sentence = (
        "The share of answers that change when the second input comes from an example with another label; mean over"
        f" seeds with its 95 % interval. In A, from the first step to the last: {listing(said)}."
    )
    return Curves(
        "How far answers hang on the redundant input", sentence, "step", "answers changed", places, tuple(drawn)
    )


def _change(evidence: Evidence, grid: str) -> str:
    last = max(steps_of(evidence, grid), default=0)
    ends: Callable[[int], str] = lambda step: _said(mean_of(influences(evidence, grid, "A", "swap", step)))  # noqa: E731
    return f"{ends(1)} to {ends(last)}"


def remarks(evidence: Evidence) -> Sequence[str]:
    """A few paragraphs."""
    return [_follows(evidence), _readings(evidence), _fades(evidence), _hangs(evidence), _limits(evidence)]


def _told(found: BySeed) -> str:
    one = over_seeds("", numbers(found), ">", 0.0, GAP_DIFFERENCE)
    return "not known" if one.value is None else interval_words(one.value, one.low, one.high, share=False)


def _mean(found: BySeed) -> str:
    value = mean_of(found)
    return "not known" if value is None else measure(value)


def _share(found: BySeed) -> str:
    value = mean_of(found)
    return "not known" if value is None else percent(value)


def _follows(evidence: Evidence) -> str:
    gap = {name: gaps(evidence, DIGITS, name) for name in ("A", "B", "B-noise")}
    speed = {name: speeds(evidence, DIGITS, name) for name in ("A", "B", "B-noise")}
    return (
        f"Pairs of digits: A less B is {_told(less(speed['A'], speed['B']))} in training accuracy averaged over"
        f" log(step), and {_told(less(gap['A'], gap['B']))} in the gap. In B every test pair was shown, so that its gap"
        " may be small for that reason alone. With noise in place of the second digit the pairs are as unseen as in A,"
        f" and A less B-noise is {_told(less(speed['A'], speed['B-noise']))} in training and"
        f" {_told(less(gap['A'], gap['B-noise']))} in the gap; digits on the right are then new to the network, which"
        " works against B-noise."
    )


def _readings(evidence: Evidence) -> str:
    return (
        "SCAN: the two readings of B are two experiments. With all action words randomised the gap is"
        f" {_mean(gaps(evidence, SCAN, 'B-all'))}, but every test command was shown in training. With “jump” alone"
        f" changed it is {_mean(gaps(evidence, SCAN, 'B-jump', 'replaced'))} on a test that is changed likewise (also"
        f" shown), and {_mean(gaps(evidence, SCAN, 'B-jump'))} on the published test, which asks for a word that was"
        f" never seen. The gap in A is {_mean(gaps(evidence, SCAN, 'A'))}. Of the syntax alone, one action word counted"
        f" like another, A loses {_mean(syntax_gaps(evidence, 'A'))} from training to test and B-all"
        f" {_mean(syntax_gaps(evidence, 'B-all'))}. No B of SCAN takes the information away and keeps the test unseen,"
        " so that the experiment cannot tell these two causes apart."
    )


def _fades(evidence: Evidence) -> str:
    first, last = at_step(evidence, TOY, "A", "test", 1), lasts(evidence, TOY, "A", "test")
    passed = [value >= RIGHT for value in last.values()]
    gained = mean_of(less(last, first)) or 0.0
    return (
        f"The paper shows single networks of the toy. Over {len(last)} seeds in A, accuracy on the test square goes"
        f" from {_mean(first)} after one step to {_mean(last)} after the last, and {sum(passed)} of {len(passed)} seeds"
        f" end with {RIGHT:.0%} of it right; in B the mean is {_mean(lasts(evidence, TOY, 'B', 'test'))}. So more"
        f" training {'undoes a part of the lean' if gained > 0 else 'does not undo the lean'} on the redundant"
        " input; how far it goes depends on the initialisation, which is He's here and is not given in the paper."
    )


def _hangs(evidence: Evidence) -> str:
    told = []
    for grid, name in ((TOY, "the toy"), (DIGITS, "pairs of digits")):
        last = max(steps_of(evidence, grid), default=0)
        swaps = {
            at: influences(evidence, grid, *at[:1], "swap", at[1])
            for at in (("A", 0), ("A", 1), ("A", last), ("B", last))
        }
        floor = influences(evidence, grid, "A", "floor", last)
        told_bits = [_mean(influences(evidence, grid, "A", "bits", step)) for step in (0, 1, last)]
        told.append(
            f"In {name} swapping the second input changes {_share(swaps['A', 0])} of the answers before training,"
            f" {_share(swaps['A', 1])} after one step and {_share(swaps['A', last])} after the last in A"
            f" ({_share(swaps['B', last])} in B). The answer holds {listing(told_bits)} bits of the second label at"
            f" these steps ({_mean(influences(evidence, grid, 'B', 'bits', last))} at the last in B), where 95 of 100"
            f" shuffled labels stay below {_mean(floor)}."
        )
    hinted = {
        name: influences(evidence, DIGITS, name, "suggested", max(steps_of(evidence, DIGITS), default=0))
        for name in ("A", "B")
    }
    told.append(
        f"On pairs that A never shows, {_share(hinted['A'])} of its answers are a digit that the second one suggests,"
        f" and {_share(hinted['B'])} in B."
    )
    told.append(
        "Digits are asked in evenly many pictures of each pair, not in drawn ones, so that the correction of the bias"
        " takes away too much from a network that is mostly right: its bits are a lower bound."
        " Random weights hang on every input already: that a derivative or the information is not 0 says nothing of"
        " training, unless B stands beside it."
    )
    return " ".join(told)


def _limits(evidence: Evidence) -> str:
    seeds = [len(lasts(evidence, grid, "A", "test")) for grid in (TOY, DIGITS, SCAN)]
    return (
        f"Limits: {seeds[0]}, {seeds[1]} and {seeds[2]} seeds for the toy, digits and SCAN; one architecture and one"
        " initialisation each. Nothing here varies the way of training, so that “caused by gradient descent” is not"
        " tested: only that these networks, trained so, lean on what they need not. The paper prints no number to"
        " compare with. That redundant information makes the gap would be refuted by a gap in B-noise as large as in A;"
        " that gradient descent is the cause, by another way of training with the same gap."
    )
