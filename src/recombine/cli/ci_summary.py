"""What each verb hands to the forms of `--format`: its checks, the combinations that tell most, and flat numbers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import recombine
from recombine.base.grades import Expected
from recombine.base.redaction import redacted
from recombine.base.words import count, measure, percent, percent_range, text
from recombine.cli.gates import Gates
from recombine.cli.options import without_forms
from recombine.cli.terminal import named_shortly, short
from recombine.output.ci_formats import Check, CiSummary, ExampleTable

Next = Iterable[tuple[str, str]]

_SHOWN = 5
_RUNGS = ("seen", "determined", "undetermined", "novel")
_SIDES = ("all", "seen", "unseen", "novel")
_OF_AUDITS = {
    "determined": "the share of combinations that are seen, or would follow if the factors add up,",
    "seen": "the share of combinations that are seen",
    "values": "the share of values that are seen",
    "pairs": "the share of pairs of values that are seen together",
    "triples": "the share of triples of values that are seen together",
}
_OF_PREDICTIONS = {
    "expected": "the low end of the score to expect on unseen combinations",
    "lift": "the low end of the lead over one answer for all",
    "right": "the share of unseen combinations with a known answer that come out right",
}
_OF_EVALUATIONS = {
    "worst": "the score of the worst combination, or of the worst group",
    "lift": "the lead over the best simple rule on unseen combinations",
    "balanced_accuracy": "the mean of the classes' shares that come out right",
}
OF_LINTS: Mapping[str, str] = {
    "combinations": "no test combination is in training",
    "exchanged": "no test combination is in training with two factors that look alike the other way round",
    "conjunctions": "every test combination holds a conjunction that is not in training",
    "values": "every test value is in training; with --expect values, every test row holds a new one",
    "rows": "no row is on two sides",
    "ids": "every row of a side has an id of its own",
    "validation": "validation and test share no row",
    "classes": "each class has about the same share in test as in training",
    "sides": "every row is on a side, and no side is empty",
    "seen": "every combination marked as seen is in training",
    "sizes": "test is not by far larger than training",
    "missing": "no row misses a factor",
    "determined": "it is told how many test combinations training determines",
}
"""What each check of a lint asks; a test holds the list to the checks that there are."""


def of_audit(found: "recombine.Audit", gates: Gates, *, source: str, following: Next) -> CiSummary:
    """An audit: its gates; what cannot be worked out, else what hangs on little."""
    counts = found.counts
    numbers: dict[str, float | None] = {"combinations": counts.space, "rows": found.support.rows}
    numbers |= {f"{name}_combinations": getattr(counts, name) for name in _RUNGS}
    numbers |= {name: found.share(name) for name in ("seen", "determined")}
    numbers |= {name: one.share for name, one in zip(("values", "pairs", "triples"), found.coverage, strict=False)}
    checks = _gates(gates, lambda name: _OF_AUDITS[name])
    return _told("audit", found, source, checks, _unseen(found), following, numbers | _expected(found.expected))


def of_prediction(found: "recombine.Prediction", gates: Gates, *, source: str, following: Next) -> CiSummary:
    """A prediction: its gates, and what would go wrong."""
    numbers: dict[str, float | None] = {f"{_word(name)}_combinations": number for name, number in found.counts.items()}
    checks = _gates(gates, lambda name: _OF_PREDICTIONS.get(name, f"the share of {name} among the unseen combinations"))
    lines = [(named_shortly(one.combination), one.verdict, _answer(one.prediction), one.why) for one in found.worst]
    rows = ExampleTable("unseen, and not fine", ("combination", "verdict", "answer", "why"), tuple(lines[:_SHOWN]))
    return _told("predict", found, source, checks, rows, following, numbers | _expected(found.expected))


def of_evaluation(found: "recombine.Evaluation", gates: Gates, *, source: str, following: Next) -> CiSummary:
    """An evaluation: its gates, the worst tested combinations, and the score on every side."""
    numbers: dict[str, float | None] = {}
    for side in found.sides:
        if side.name in _SIDES and side.rows:
            numbers |= {f"{side.name}_rows": side.rows, f"{side.name}_combinations": side.combinations}
            numbers |= {side.name: side.score, f"{side.name}_low": side.low, f"{side.name}_high": side.high}
    for name, gap in (("gap", found.gap), ("matched_gap", found.matched)):
        numbers |= {} if gap is None else {name: gap.value, f"{name}_low": gap.low, f"{name}_high": gap.high}
    checks = _gates(gates, lambda name: _OF_EVALUATIONS.get(name, f"the score on {name} combinations"))
    return _told("evaluate", found, source, checks, _worst(found), following, numbers | _lift(found.expected))


def of_lint(found: "recombine.Lint", *, source: str, following: Next) -> CiSummary:
    """A lint: its checks, and the culprits of the first that fails."""
    checks = tuple(Check(one.name, one.verdict, one.sentence, meaning=OF_LINTS[one.name]) for one in found.checks)
    numbers: dict[str, float | None] = {"rows": found.rows, "combinations": found.combinations}
    numbers |= {
        f"{one.name}_culprits": one.culprits for one in found.checks if one.verdict not in ("told", "not asked")
    }
    return _told("lint", found, source, checks, _culprits(found), following, numbers)


def _told(
    verb: str,
    found: Any,
    source: str,
    checks: tuple[Check, ...],
    rows: ExampleTable | None,
    following: Next,
    numbers: Mapping[str, float | None],
) -> CiSummary:
    return CiSummary(
        verb,
        redacted(source),
        found.verdict,
        found.grade,
        checks,
        rows,
        tuple((without_forms(command), why) for command, why in following),
        {name: float(number) if isinstance(number, float) else int(number) for name, number in _known(numbers)},
    )


def _word(verdict: str) -> str:
    """A verdict as the name of a number: trackers take letters and strokes."""
    return verdict.replace("'", "").replace(" ", "_")


def _known(numbers: Mapping[str, float | None]) -> Iterable[tuple[str, float]]:
    return [(name, number) for name, number in numbers.items() if number is not None]


def _gates(gates: Gates, meaning: Callable[[str], str]) -> tuple[Check, ...]:
    return tuple(_gate(name, gate, f"{meaning(name)} reaches what was asked") for name, gate in gates.items())


def _gate(name: str, gate: Mapping[str, Any], meaning: str) -> Check:
    asked, outcome = f"asked for is {gate['asked']:g}", gate["verdict"]
    if gate["found"] is None:
        return Check(name, outcome, f"{name} could not be tested; {asked}.", meaning)
    thin = " There is not enough evidence for it." if outcome == "not enough evidence" else ""
    return Check(name, outcome, f"{name} is {_told_apart(gate['found'], gate['asked'])}; {asked}.{thin}", meaning)


def _told_apart(found: float, asked: float) -> str:
    """A number to three decimals, or to as many as tell it from what was asked.

    >>> _told_apart(0.8, 0.95), _told_apart(0.94996, 0.95)
    ('0.800', '0.94996')
    """
    short_enough = round(found, 3) != asked or found == asked
    return f"{found:.3f}" if short_enough else repr(float(found))


def _expected(expected: Expected | None) -> dict[str, float | None]:
    if expected is None or expected.abstains:
        return {}
    ends = {"expected": expected.value, "expected_low": expected.low, "expected_high": expected.high}
    return ends | _lift(expected)


def _lift(expected: Expected) -> dict[str, float | None]:
    found: dict[str, float | None] = {"baseline": expected.baseline}
    if expected.lift is not None:
        found |= dict(zip(("lift_low", "lift", "lift_high"), expected.lift, strict=True))
    return found


def _unseen(audit: "recombine.Audit") -> ExampleTable | None:
    if audit.undetermined_examples:
        lines = [(named_shortly(one.combination), count(round(one.expected))) for one in audit.undetermined_examples]
        columns = ("combination", "rows if the factors were independent")
        return ExampleTable("cannot be worked out, for example", columns, tuple(lines[:_SHOWN]))
    weakest = () if audit.leverage is None else audit.leverage.weakest
    lines = [(named_shortly(one.combination), _measure(one.leverage)) for one in weakest]
    return ExampleTable("unseen, and the least firmly determined", ("combination", "leverage"), tuple(lines[:_SHOWN]))


def _worst(evaluation: "recombine.Evaluation") -> ExampleTable:
    share = evaluation.score.is_share
    lines = [
        (
            named_shortly(one.combination),
            f"{one.rows:,}",
            _score(one.score, share=share),
            _score(one.shrunk, share=share),
            _ends(one.low, one.high, share=share),
            one.rung if one.rung != "unknown" else "",
        )
        for one in evaluation.worst[:_SHOWN]
    ]
    interval = f"{percent(evaluation.confidence)} interval"
    return ExampleTable(
        f"worst of {len(evaluation.outcomes):,} tested",
        ("combination", "rows", short(evaluation.score.name), "shrunk", interval, ""),
        tuple(lines),
    )


def _culprits(lint: "recombine.Lint") -> ExampleTable | None:
    failed = [(one, one.table) for one in lint.checks if one.verdict == "fail" and one.table is not None]
    if not failed:
        return None
    check, table = failed[0]
    lines = [tuple(short(text(value)) for value in row.values()) for row in table.slice(0, _SHOWN).to_pylist()]
    more = f", {min(_SHOWN, check.culprits):,} of {check.culprits:,}"
    return ExampleTable(f"culprits of {check.name}{more}", tuple(map(short, table.column_names)), tuple(lines))


def _score(number: float, *, share: bool) -> str:
    return percent(min(max(number, 0.0), 1.0)) if share else measure(number)


def _ends(low: float | None, high: float | None, *, share: bool) -> str:
    if low is None or high is None:
        return "none"
    return percent_range(low, high) if share else f"{measure(low)} to {measure(high)}"


def _answer(said: str | float) -> str:
    return short(said) if isinstance(said, str) else measure(said)


def _measure(number: float | None) -> str:
    return "not known" if number is None else measure(number)
