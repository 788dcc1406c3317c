"""The claims of *Gradient Descent Resists Compositionality*, and a few questions of ours beside them.

Thresholds were written before the runs were looked at. The paper prints no number, so most are 0: an ordering that the
whole interval over seed pairs has to show.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from recombine_studies.claims import (
    DIFFERENCE,
    GAP_DIFFERENCE,
    SHARE,
    UNBOUNDED,
    Bounds,
    Check,
    Comparison,
    over_seeds,
    share_of,
    supposing,
)
from recombine_studies.redundancy.grids import DIGITS, SCAN, TOY
from recombine_studies.redundancy.measures import (
    BySeed,
    at_step,
    gaps,
    influences,
    lasts,
    less,
    numbers,
    speeds,
    steps_of,
    syntax_gaps,
)
from recombine_studies.study import Evidence

LEARNED = 0.9
"""Of the training set: a network that has not learned it falls from nothing."""
RIGHT = 0.95
"""Of the test square: from here on a network of the toy counts as compositional."""


def _ahead(name: str, one: BySeed, other: BySeed, *, bounds: Bounds, threshold: float = 0.0) -> Comparison:
    """The paired difference of two settings."""
    return over_seeds(name, numbers(less(one, other)), ">", threshold, bounds)


def faster(grid: str, others: Mapping[str, str], evidence: Evidence) -> list[Comparison]:
    """How much faster A learns than other settings; `others` has the setting behind each comparison's name."""
    first = speeds(evidence, grid, "A")
    return [_ahead(name, first, speeds(evidence, grid, other), bounds=DIFFERENCE) for name, other in others.items()]


def falls_further(grid: str, others: Mapping[str, Sequence[str]], evidence: Evidence) -> list[Comparison]:
    """How much further A falls than other settings; each is a setting, and the part that is asked where not `test`."""
    first, trained = gaps(evidence, grid, "A"), numbers(lasts(evidence, grid, "A", "train"))
    found = [_ahead(name, first, gaps(evidence, grid, *other), bounds=GAP_DIFFERENCE) for name, other in others.items()]
    return [supposing(one, "training accuracy in A", trained, ">=", LEARNED) for one in found]


def digits_noise(evidence: Evidence) -> Sequence[Comparison]:
    """The same against the control whose test pairs are as unseen as those of A."""
    return [
        *faster(DIGITS, {"speed, A less B-noise": "B-noise"}, evidence),
        *falls_further(DIGITS, {"gap, A less B-noise": ("B-noise",)}, evidence),
    ]


def scan_syntax(evidence: Evidence) -> Sequence[Comparison]:
    """The syntax alone falls further in A."""
    return [
        _ahead("A less B-all", *(syntax_gaps(evidence, setting) for setting in ("A", "B-all")), bounds=GAP_DIFFERENCE)
    ]


def toy_gap(evidence: Evidence) -> Sequence[Comparison]:
    """The reference figures of the toy."""
    first, second = (gaps(evidence, TOY, setting) for setting in ("A", "B"))
    return [
        _ahead("gap, A less B", first, second, bounds=GAP_DIFFERENCE, threshold=0.1),
        over_seeds("test accuracy in A", numbers(lasts(evidence, TOY, "A", "test")), "<", 0.88, SHARE),
        over_seeds("test accuracy in B", numbers(lasts(evidence, TOY, "B", "test")), ">", RIGHT, SHARE),
    ]


def toy_seeds(evidence: Evidence) -> Sequence[Comparison]:
    """How many seeds of A come out compositional."""
    found = numbers(lasts(evidence, TOY, "A", "test"))
    name = f"share of seeds that get {RIGHT:.0%} of the test square right"
    return [share_of(name, sum(score >= RIGHT for score in found), len(found), "<=", 0.05)]


def toy_stable(evidence: Evidence) -> Sequence[Comparison]:
    """Whether the boundary stays where the first step put it."""
    first, last = at_step(evidence, TOY, "A", "test", 1), lasts(evidence, TOY, "A", "test")
    moved = [abs(value) for value in numbers(less(last, first))]
    return [over_seeds("share of the test square that changes sides after step 1", moved, "<=", 0.1, SHARE)]


def first_step(evidence: Evidence) -> Sequence[Comparison]:
    """One update draws the scores to where the second input points: in A, and in A more than in B."""
    found = []
    for grid in (TOY, DIGITS):
        begun = influences(evidence, grid, "A", "pull", 0)
        gained = {name: less(influences(evidence, grid, name, "pull", 1), begun) for name in ("A", "B")}
        found += [
            over_seeds(f"{grid}: gained in A", numbers(gained["A"]), ">", 0.0, UNBOUNDED),
            _ahead(f"{grid}: A less B", gained["A"], gained["B"], bounds=UNBOUNDED),
        ]
    return found


def hanging(evidence: Evidence) -> Sequence[Comparison]:
    """Swapping the second input changes more answers in A than in B, at every step."""
    return [
        _ahead(
            f"{grid}, step {step}",
            *(influences(evidence, grid, setting, "swap", step) for setting in ("A", "B")),
            bounds=DIFFERENCE,
        )
        for grid in (TOY, DIGITS)
        for step in steps_of(evidence, grid)
    ]


def informed(evidence: Evidence) -> Sequence[Comparison]:
    """The second label tells something of the answer, at every step of A."""
    return [
        over_seeds(f"{grid}, step {step}", numbers(influences(evidence, grid, "A", "bits", step)), ">", 0.0, UNBOUNDED)
        for grid in (TOY, DIGITS)
        for step in steps_of(evidence, grid)
    ]


def growing(evidence: Evidence) -> Sequence[Comparison]:
    """Swaps and information at the end, less those after the first step."""
    found = []
    for grid in (TOY, DIGITS):
        last = max(steps_of(evidence, grid), default=0)
        for name, bounds in (("swap", DIFFERENCE), ("bits", UNBOUNDED)):
            ends = (influences(evidence, grid, "A", name, step) for step in (last, 1))
            found.append(_ahead(f"{grid}, {name}", *ends, bounds=bounds))
    return found


CHECKS: Mapping[str, Check] = {
    "digits train faster": partial(faster, DIGITS, {"A less B": "B"}),
    "digits gap": partial(falls_further, DIGITS, {"A less B": ("B",)}),
    "digits against noise": digits_noise,
    "SCAN trains faster": partial(faster, SCAN, {"A less B-all": "B-all", "A less B-jump": "B-jump"}),
    "SCAN gap": partial(
        falls_further,
        SCAN,
        {"A less B-all": ("B-all",), "A less B-jump, its test changed too": ("B-jump", "replaced")},
    ),
    "SCAN with the published test": partial(falls_further, SCAN, {"A less B-jump": ("B-jump",)}),
    "SCAN syntax": scan_syntax,
    "toy trains faster": partial(faster, TOY, {"A less B": "B"}),
    "toy gap": toy_gap,
    "toy seeds": toy_seeds,
    "toy boundary stays": toy_stable,
    "the first step": first_step,
    "answers hang on the second input": hanging,
    "information of the second label": informed,
    "influence grows": growing,
}
