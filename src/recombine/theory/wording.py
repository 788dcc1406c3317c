"""What a prediction says in words: one sentence first, then the reasons, then why for one combination."""

from collections.abc import Mapping
from dataclasses import dataclass

from recombine.algebra.groups import Numbers
from recombine.grades import Grade
from recombine.tables.space import text
from recombine.theory.answers import Answers
from recombine.theory.backtest import KERNEL, Backtest
from recombine.theory.diagnosis import CANNOT, LEAK, NOT_DETERMINED, NOVEL, SHORTCUT, UNSURE, Diagnosis
from recombine.theory.salience import Salience, members
from recombine.theory.slope import Slope
from recombine.words import listing, measure, percent

SCOPE = "This speaks of kernel-like learners; a network that learns features can do better."
_MOSTLY_FINE = 0.95
_HALF = 0.5
_NAMED = 2


@dataclass(frozen=True)
class Findings:
    """All that the words are made from."""

    counts: Mapping[str, int]
    listed: int
    space: int
    unanswered: int  # combinations of the table that have no answer
    truth_given: bool
    known: int
    wrong: Mapping[str, int]  # of the known ones that come out wrong, by verdict
    salience: Salience
    loss: str
    answers: Answers
    slope: Slope | None
    backtest: Backtest | None
    varies: bool = True  # whether the target differs between any two rows
    weightless: str | None = None  # a sentence about rows that stand for no example

    @property
    def asked(self) -> int:
        """Unseen combinations that a verdict other than *novel* was found for."""
        return sum(self.counts[name] for name in ("fine", "leak", "shortcut", "can't", "not determined", "unsure"))


def grade(found: Findings) -> Grade:
    """Over the unseen combinations. A forecast is sound only where a back-test beat the simple rules."""
    if not found.varies:
        return "untested"
    if not found.asked:
        return "untested" if found.counts["novel"] else "sound"
    share = found.counts["fine"] / found.asked
    if share >= _MOSTLY_FINE:
        return _tested(found.backtest)
    open_ = (found.counts["not determined"] + found.counts["unsure"]) / found.asked
    if open_ > _HALF:
        return "untested"
    return "failing" if share < _HALF else "weak"


def _tested(backtest: Backtest | None) -> Grade:
    """Whatever it thinks of itself, a forecast that loses to a simple rule is weak, and an untested one plausible."""
    if backtest is None:
        return "plausible"
    return "weak" if backtest.loses_to or not backtest.beats else "sound"


def verdict(found: Findings) -> str:
    """The answer in a sentence that a person would say."""
    first = _first(found) if found.varies else f"{found.answers.name} never varies, so there is nothing to tell."
    novel = found.counts["novel"]
    last = f" {_many(novel, 'combination holds', 'combinations hold')} a value never seen." if novel else ""
    return f"{first}{last} {SCOPE}"


def _first(found: Findings) -> str:
    if not found.listed:
        return "No combination was asked about."
    if not found.asked:
        return "Every combination of seen values was seen." if found.counts["novel"] else "Every combination was seen."
    first = _with_truth(found) if found.known else _without_truth(found)
    if found.known and found.known < found.asked:
        first += f" Of all {found.asked:,} unseen combinations, {found.counts['fine']:,} have a sound answer."
    return first


def _with_truth(found: Findings) -> str:
    wrong = sum(found.wrong.values())
    if not wrong:
        said = "all of them come out right" if found.known > 1 else "it comes out right"
        return f"Of {_many(found.known, 'unseen combination', 'unseen combinations')} with a known answer, {said}."
    return (
        f"Of {_many(found.known, 'unseen combination', 'unseen combinations')} with a known answer, "
        f"{wrong:,} would come out wrong: {_causes(found.wrong, _WRONG)}."
    )


def _without_truth(found: Findings) -> str:
    fine = found.counts["fine"]
    of = f"{fine:,} of {_many(found.asked, 'unseen combination', 'unseen combinations')}"
    rest = _causes(found.counts, ("leak", "not determined", "unsure"))
    return f"{_learner(found.salience)} would have a sound answer for {of}" + (f"; {rest}." if rest else ".")


def _learner(salience: Salience) -> str:
    made = {"fit": "A learner fitted to the data", "features": "A learner with these features"}
    return made.get(salience.name, f"A learner like {salience.name}" if ":" in salience.name else "This learner")


_WRONG = ("leak", "shortcut", "can't", "not determined", "novel")
_CAUSES = {
    "leak": ("leaks into memorised combinations", "leak into memorised combinations"),
    "shortcut": ("is led astray by a shortcut", "are led astray by a shortcut"),
    "can't": ("is out of reach of any rule of this kind", "are out of reach of any rule of this kind"),
    "not determined": ("is not determined by what was seen", "are not determined by what was seen"),
    "unsure": ("is too uncertain to say", "are too uncertain to say"),
    "novel": ("holds a value never seen", "hold a value never seen"),
}


def _causes(counts: Mapping[str, int], names: tuple[str, ...]) -> str:
    parts = [f"{counts[name]:,} {_CAUSES[name][counts[name] != 1]}" for name in names if counts[name]]
    return listing(parts) if parts else ""


def reasons(found: Findings) -> tuple[str, ...]:
    """Why, in a few sentences."""
    said = [
        _salience(found),
        _slope(found.slope),
        _needed(found.slope),
        _track_record(found.backtest),
        _mixed(found),
        _unanswered(found),
        found.weightless,
        _silent_truth(found),
    ]
    return tuple(sentence for sentence in said if sentence)


def _salience(found: Findings) -> str:
    weights = found.salience.weights
    total = sum(weights[1:])
    full = found.salience.full / total
    singles = sum(found.salience.mask_weight(k) for k in range(found.salience.factors)) / total
    note = f" Note: {found.salience.note}." if found.salience.note else ""
    return (
        f"The learner ({found.salience.name}, {found.loss} loss) gives {percent(singles)} of its weight to single "
        f"values and {percent(full)} to the full combination, where answers are memorised.{note}"
    )


def _slope(slope: Slope | None) -> str:
    if slope is None:
        return ""
    against = "the truth" if slope.against == "truth" else slope.against
    return f"Against {against}, predictions on unseen combinations have a slope of {measure(slope.value)}."


def _needed(slope: Slope | None) -> str:
    if slope is None or not slope.needed:
        return ""
    short = [one for one in slope.needed if one.goals[1][1] is not None and one.slope_now < one.goals[1][0]]
    if not short:
        return ""
    worst = min(short, key=lambda one: one.slope_now)
    return (
        f"A value of {worst.factor} is seen in about {measure(worst.now)} combinations, which carries over "
        f"{percent(worst.slope_now)} of its effect; 90 % takes {worst.goals[1][1]:,}."
    )


def _track_record(record: Backtest | None) -> str:
    if record is None:
        return ""
    kernel = next(method for method in record.methods if method.name == KERNEL)
    said = f"Back-tested on {record.tested:,} held-out combinations: {record.score} {measure(kernel.score)}"
    if record.loses_to:
        return f"{said}, which is worse than {listing(list(record.loses_to))}: do not rely on it here."
    if len(record.beats) == len(record.methods) - 1:
        return f"{said}, better than {listing(list(record.beats))}."
    tied = [method.name for method in record.methods if method.name not in (*record.beats, KERNEL)]
    return f"{said}, not reliably different from {listing(tied)}."


def _unanswered(found: Findings) -> str:
    if not found.unanswered:
        return ""
    have = _many(found.unanswered, "combination has", "combinations have")
    return f"{have} no {found.answers.name}: nothing was learnt from them, and they count as unseen."


def _silent_truth(found: Findings) -> str:
    return "The truth speaks of none of the unseen combinations." if found.truth_given and not found.known else ""


def _mixed(found: Findings) -> str:
    if not found.answers.mixed:
        return ""
    have = _many(found.answers.mixed, "combination has", "combinations have")
    return f"{have} rows with different answers; their mean was learnt."


def _many(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def why(diagnosis: Diagnosis, row: int, code: int) -> str:
    """One combination's verdict, explained."""
    if code == LEAK:
        return _why_leak(diagnosis, row)
    return _why_shortcut(diagnosis, row) if code == SHORTCUT else _WHY.get(code, "")


_WHY = {
    CANNOT: "No sum over the conjunctions that were seen gives the true answers here, whatever the learner weighs.",
    NOT_DETERMINED: "Nothing seen links its values, so any answer would be as good.",
    UNSURE: "Too little was seen of its parts to say.",
    NOVEL: "It holds a value never seen, about which nothing is known.",
}


def _why_leak(diagnosis: Diagnosis, row: int) -> str:
    without = said(diagnosis.learner.answers, diagnosis.unleaked[row : row + 1])
    return f"Part of the answer is memorised in the seen combinations; without that it would be {without}."


def _why_shortcut(diagnosis: Diagnosis, row: int) -> str:
    """Who pulls the wrong way, the two strongest by name, and what stands against them."""
    pulls = diagnosis.pulls(row)
    wrong = [(size, mask) for size, mask in pulls if size > 0][:_NAMED]
    if not wrong:
        return "The seen combinations suggest another answer."
    named = listing([f"{_values(diagnosis, row, mask)} ({measure(size)})" for size, mask in wrong])
    right = -sum(size for size, _ in pulls if size < 0)
    against = f", against {measure(right)} the right way" if right > 0 else ""
    return f"Pulled the wrong way{_towards(diagnosis, row)} by {named}{against}."


def _towards(diagnosis: Diagnosis, row: int) -> str:
    if diagnosis.learner.answers.kind == "number":
        return " (up)" if diagnosis.errors[row] > 0 else " (down)"
    return f" (to {said(diagnosis.learner.answers, diagnosis.scores[row : row + 1])})"


def _values(diagnosis: Diagnosis, row: int, mask: int) -> str:
    space = diagnosis.learner.support.space
    return " with ".join(
        f"{space.names[k]} = {space.factors[k].labels[int(diagnosis.codes[row, k])]}" for k in members(mask)
    )


def said(answers: Answers, scores: Numbers) -> str:
    """One row of scores as people read it: a number, or a class."""
    if answers.kind == "number":
        return measure(float(scores[0, 0]))
    return text(answers.classes[int(answers.decide(scores)[0])])
