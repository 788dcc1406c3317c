"""A prediction over combinations, led by the forecast from examples where inputs are given."""

from dataclasses import replace
from typing import Any, TypeVar

from recombine.base.grades import earned
from recombine.base.progress import Progress
from recombine.data.table_query import ReadOptions
from recombine.verbs.predict.examples import example_forecast
from recombine.verbs.predict.examples.example_forecast import ExampleForecast
from recombine.verbs.predict.examples.rule_answers import rule_answers
from recombine.verbs.predict.examples.table_forecast import Examples, Known, forecast_from
from recombine.verbs.predict.verdict import BACKTESTED

_Prediction = TypeVar("_Prediction", bound=Any)


def with_examples(
    found: _Prediction, source: Any, options: Examples, reading: ReadOptions, *, tell: Progress
) -> _Prediction:
    """The same prediction with a forecast from examples: its sentence leads, its score is the one to expect.

    Without true answers those of the prediction over combinations stand for them, unless it failed its own test
    (`rule_answers`). Then seen combinations are held out from the machines.
    """
    if options.inputs is None:
        return found
    unseen = sum(count for verdict, count in found.counts.items() if verdict not in ("seen", "novel"))
    rule = rule_answers(found)
    untested = rule is not None and rule.test == "untested"
    known = Known(
        found.support,
        found.learner.answers,
        found.truth if rule is None else rule.truth,
        unseen=unseen,
        unlike=found.held_out.reason if found.held_out is not None and found.held_out.abstains else None,
        seed=found.learner.seed,
        only_if=untested,
    )
    made = forecast_from(source, known, options, reading, tell=tell)
    if rule is not None and made.way != "held out":
        held = None
        if not rule.exact and options.seen_score is None:  # machines that are stopped early are not held out
            held = forecast_from(source, replace(known, truth=None), options, reading, tell=tell).expected
        made = rule.forecast(made, held)
    if made.expected.value is None:
        unsaid, reasons = made.expected, (example_forecast.verdict(made), *_kept(made, found.reasons))
        return replace(found, examples=made, reasons=reasons, expected=unsaid, network=unsaid, grade="untested")
    return replace(
        found,
        verdict=example_forecast.verdict(made),
        grade=earned(made.expected) if rule is None else rule.grade(made.expected),
        reasons=(*example_forecast.reasons(made), *_kept(made, found.reasons)),
        expected=made.expected,
        network=made.expected,
        examples=made,
    )


def _kept(found: ExampleForecast, reasons: tuple[str, ...]) -> list[str]:
    """Its reasons, but for asking for the inputs, which were given. Its back-test is not that of the machines: where
    its answers stand for the true ones the assumption has told it, else it says whose it is.
    """
    kept = [reason for reason in reasons if "give the inputs" not in reason]
    if found.assumption:
        return [reason for reason in kept if not reason.startswith(BACKTESTED)]
    return [reason.replace(BACKTESTED, "A learner over the factors alone, back-tested", 1) for reason in kept]
