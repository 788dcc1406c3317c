"""The one scale of grades: how far a verdict can be trusted, in the same five words for every verb.

A grade is earned by evidence and lost by it. Words for single combinations (seen, determined, leak, …) are another
matter: they say why, the grade says how far to trust it.

To add a grade: its word, meaning, colour and exit code here; every page then explains it. Then the verbs that award it:
`verdict.py` of audit, predict, evaluate and diff, `plan/plan.py`, `split/lint/lint.py` (mypy finds those that must say
a sentence for each), and the tables in `docs/results.md`.

The score that is to be expected on unseen combinations: how high, how sure, against what, and on what it rests.

Every verb that promises anything promises it in this shape, and every grade is earned here. A forecast abstains (its
value is None, with a reason) rather than promise what was not tested.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from recombine.base.words import WORSE_THAN_MEAN, percent

Grade = Literal["sound", "plausible", "weak", "failing", "untested"]
GRADES: tuple[Grade, ...] = get_args(Grade)

MEANING: Mapping[Grade, str] = {
    "sound": "tested on held-out combinations: better than one answer for all, and its low end reaches what was asked",
    "plausible": "tested, and better than the best simple rule, but its low end is below what was asked",
    "weak": "tested, and not reliably better than a simple rule",
    "failing": "tested, and worse than a simple rule",
    "untested": "not enough evidence to say",
}
"""What the grades of a score mean: of a prediction, a rehearsal and an evaluation."""
OF_AUDITS: Mapping[Grade, str] = {
    "sound": "held-out combinations bear the rule out, for nearly all that is unseen",
    "plausible": "what is unseen follows, but something that this rests on was not tested",
    "weak": "what is unseen follows only by a rule that is not reliably better than a simpler one",
    "failing": "much of what is unseen does not follow from what was seen",
    "untested": MEANING["untested"],
}
OF_PLANS: Mapping[Grade, str] = {
    "sound": "counted: the goal is met, and nothing has to be collected",
    "plausible": "once this is collected the goal is reached",
    "weak": "the goal is not reached with this budget",
    "failing": "something that the goal needs cannot be collected",
    "untested": MEANING["untested"],
}
OF_LINTS: Mapping[Grade, str] = {
    "sound": "every check passed",
    "plausible": "every check passed",
    "weak": "a check left doubt",
    "failing": "a check failed",
    "untested": "a check could not be decided",
}
OF_SPLITS: Mapping[Grade, str] = dict.fromkeys(GRADES, "what was promised was checked on the result, and holds")
OF_DIFFS: Mapping[Grade, str] = {
    "sound": "a drop of the score by more than 5 points is ruled out",
    "plausible": "nothing got worse as far as can be told",
    "weak": "single combinations got worse by more than chance, though no score did",
    "failing": "something got worse by more than chance",
    "untested": "nothing is known to be worse, but there is not enough evidence that the score is not",
}
MEANINGS: Mapping[str, Mapping[Grade, str]] = {
    "audit": OF_AUDITS,
    "diff": OF_DIFFS,
    "evaluation": MEANING,
    "lint": OF_LINTS,
    "plan": OF_PLANS,
    "prediction": MEANING,
    "rehearsal": MEANING,
    "split": OF_SPLITS,
    "stored_audit": OF_AUDITS,
    "vector_evaluation": MEANING,
}
"""What each verb awards its grades for. The one reason for a result's own grade is told by `output.grade_reasons`."""

COLOURS: Mapping[Grade, str] = {
    "sound": "green",
    "plausible": "green",
    "weak": "yellow",
    "failing": "red",
    "untested": "yellow",
}
"""Of the verdict on a terminal, where the word itself may stand far away."""

EXIT_CODES: Mapping[Grade, int] = {"sound": 0, "plausible": 0, "weak": 3, "failing": 3, "untested": 4}
"""How a command ends that is held to its grade: 0 pass, 3 fail, 4 not enough evidence."""


FEWEST_TESTED = 5
"""With fewer tested combinations nothing can be said about the next one."""
SOUND_FROM = 0.8
"""What the low end must reach for *sound*, where nobody asked for more or less."""
FAILING_BELOW = 0.5
"""More often wrong than right; of R², more missed than explained."""
MATERIAL_LOSS = 0.05
"""What a simple rule must be better by to count: five points, as between two results (`OF_DIFFS`). With enough tested
combinations the smallest loss is beyond chance, and who estimates one number more than the truth needs always loses a
little to who does not."""

MATERIAL_SHORTCUT = 0.2
"""How many more rows must be right where a factor gives the answer away than where it misleads, to come first."""
MOST_MATCHED = 0.8
"""Of the unseen rows, that a matched gap must speak for to be told as theirs: else those without a match, which are the
strange ones, could shift it by more than 20 points."""


@dataclass(frozen=True)
class Expected:
    """A score on unseen combinations, tested on others like them.

    `score` is its name: "accuracy", or "R²" (one less the squared error over that of always answering the mean of what
    was seen). The interval is for the score of the `of` unseen combinations that are like the `tested` ones, not for a
    mean that nobody will measure. `lift` is the score less that of the best simple rule, with its own interval;
    `over_constant` the same beside always giving one answer, where that is not the best rule itself.

    >>> Expected("accuracy", 0.9, 0.85, 0.94, 0.5, "majority", (0.3, 0.4, 0.5), tested=200, of=40, basis="combinations")
    ... # doctest: +ELLIPSIS
    Expected(score='accuracy', value=0.9, ...)
    """

    score: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    baseline_name: str | None = None
    lift: tuple[float, float, float] | None = None
    over_constant: tuple[float, float, float] | None = None
    tested: int = 0
    of: int = 0
    basis: str | None = None
    reason: str | None = None

    @property
    def abstains(self) -> bool:
        """Whether nothing is promised; `reason` says why."""
        return self.value is None

    @property
    def beats_constant(self) -> bool:
        """Whether it is better than one answer for all, beyond chance."""
        lift = self.over_constant or self.lift
        return lift is not None and lift[0] > 0

    @property
    def loses(self) -> bool:
        """Whether the best simple rule is better beyond chance, and by what counts; of one answer for all, by anything.

        >>> Expected("R²", 0.97, 0.9, 0.99, 0.98, "a alone", (-0.02, -0.01, -0.001), (0.8, 0.97, 1.1), 30, 9).loses
        False
        """
        if self.lift is None or self.lift[2] >= 0:
            return False
        return self.lift[1] <= -MATERIAL_LOSS or not self.beats_constant

    def is_open(self, asked: float = SOUND_FROM) -> bool:
        """Whether an R² may be worse than the mean's and as good as asked: an interval that holds both says nothing.

        >>> Expected("R²", 0.9, -110.0, 0.9997, 0.0, "mean", (0.2, 0.9, 0.99), tested=8, of=3).is_open()
        True
        """
        return self.below_mean and (self.high or 0.0) >= asked

    @property
    def below_mean(self) -> bool:
        """Whether the interval of an R² does not rule out that always answering the mean is better."""
        return self.score == "R²" and self.low is not None and self.low < 0


def earned(expected: Expected | None, *, asked: float | None = None) -> Grade:
    """The grade that a tested score earns. `asked` is the score that somebody holds it to.

    What must be beaten beyond chance is one answer for all. Adding up, one factor alone and the nearest seen are rules
    that a good model holds within itself: to be level with them is what it does where they are right, so a tie costs
    nothing where the score itself is high enough. Where one factor tells the answer, adding up all of them loses to it
    by the noise of the others' effects: a loss counts if it is beyond chance and five points (`Expected.loses`).

    An R² whose interval begins below 0 is *weak*: the mean may be as good on the unseen ones, however surely it was
    worse on those tested. If the same interval ends where it would be sound there is not enough evidence to say.

    >>> good = Expected("accuracy", 0.9, 0.85, 0.94, 0.5, "majority", (0.3, 0.4, 0.5), tested=200, of=40)
    >>> earned(good), earned(good, asked=0.9), earned(good, asked=0.95), earned(Expected("accuracy"))
    ('sound', 'plausible', 'failing', 'untested')
    >>> earned(Expected("accuracy", 0.5, 0.43, 0.57, 0.52, "majority", (-0.1, -0.02, 0.06), tested=200, of=40))
    'weak'
    """
    if expected is None or expected.lift is None or expected.abstains or expected.low is None or expected.high is None:
        return "untested"
    if expected.loses or expected.high < (FAILING_BELOW if asked is None else asked):
        return "failing"
    goal = SOUND_FROM if asked is None else asked
    if expected.is_open(goal):
        return "untested"
    if not expected.beats_constant or expected.below_mean:
        return "weak"
    if expected.low >= goal:
        return "sound"
    return "plausible" if expected.lift[0] > 0 else "weak"


def at_most(limit: Grade, grade: Grade) -> Grade:
    """A grade, held down by what its score does not know; what was not tested stays so.

    >>> at_most("weak", "sound"), at_most("plausible", "failing"), at_most("weak", "untested")
    ('weak', 'failing', 'untested')
    """
    return grade if grade == "untested" else max(limit, grade, key=GRADES.index)


def because(grade: Grade, expected: Expected | None) -> str:
    """Why a forecast has its grade, in words that hold for its own numbers.

    A verb may grade lower than the score alone earns, where it knows of something that was not tested.

    >>> good = Expected("accuracy", 0.9, 0.75, 0.94, 0.5, "majority", (0.2, 0.4, 0.5), tested=200, of=40)
    >>> because("plausible", good)
    'the low end of its interval, 75 %, is below 80 %'
    """
    if expected is None or expected.abstains or expected.low is None or expected.lift is None:
        return MEANING[grade]
    return _BECAUSE[grade](expected)


CONSTANT_NAMES = ("majority", "mean", None)


def _rule(expected: Expected) -> str:
    named = expected.baseline_name
    return "one answer for all" if named in CONSTANT_NAMES else f"the best simple rule ({named})"


def _sound(expected: Expected) -> str:
    return f"even the low end of its interval, {percent(expected.low or 0.0)}, reaches {percent(SOUND_FROM)}"


def _plausible(expected: Expected) -> str:
    assert expected.low is not None  # noqa: S101 - whoever abstains is not graded here
    assert expected.lift is not None  # noqa: S101
    if expected.lift[0] <= 0 and expected.baseline_name in CONSTANT_NAMES:
        return "only if something holds that was not tested"
    if expected.lift[0] <= 0:
        return f"no better than {_rule(expected)} beyond chance, which is itself better than one answer for all"
    if expected.low >= SOUND_FROM:
        return "as good as asked where it was tested, but it hangs on something that was not tested"
    return f"the low end of its interval, {percent(expected.low)}, is below {percent(SOUND_FROM)}"


def _weak(expected: Expected) -> str:
    assert expected.lift is not None  # noqa: S101 - as above
    if not expected.beats_constant:
        return "not better than one answer for all beyond chance"
    if expected.below_mean:
        return f"its interval begins below 0, which is {WORSE_THAN_MEAN}"
    if expected.lift[0] <= 0:
        return f"not better than {_rule(expected)} beyond chance"
    return "on what was held out a simple rule did as well"


def _failing(expected: Expected) -> str:
    assert expected.lift is not None  # noqa: S101 - as above
    if expected.loses:
        return f"worse than {_rule(expected)} beyond chance"
    more = "more is wrong than right" if expected.score == "accuracy" else "more is missed than explained"
    if (expected.high or 0.0) < FAILING_BELOW:
        return f"{more}, even at the high end of its interval"
    return "even if every example can be read it is not as good as asked"


def _unlike(expected: Expected) -> str:
    if expected.is_open():
        return f"its interval holds what is {WORSE_THAN_MEAN}, and what would be sound"
    return "most of what is unseen is not like what was tested"


_BECAUSE: Mapping[Grade, Callable[[Expected], str]] = {
    "sound": _sound,
    "plausible": _plausible,
    "weak": _weak,
    "failing": _failing,
    "untested": _unlike,
}
