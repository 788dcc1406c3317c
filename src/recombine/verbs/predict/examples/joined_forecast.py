"""A prediction over combinations, led by the forecast from examples where inputs are given."""

from dataclasses import replace
from typing import Any, TypeVar

from recombine.base.errors import SettingError
from recombine.base.grades import earned
from recombine.base.progress import Progress
from recombine.data.table_query import ReadOptions
from recombine.verbs.predict.examples import example_forecast
from recombine.verbs.predict.examples.forecast import MOST_ROWS
from recombine.verbs.predict.examples.table_forecast import ExampleOptions, Known, forecast_from

_Prediction = TypeVar("_Prediction", bound=Any)


def options_of(inputs: Any, **others: Any) -> ExampleOptions | None:
    """What was asked of examples; None where no inputs are given, and then nothing else may be."""
    given = {name: value for name, value in others.items() if value is not None}
    if inputs is not None:
        return ExampleOptions(inputs=inputs, **({"rows": MOST_ROWS} | given))
    if set(given) - {"seed"}:
        name = next(iter(set(given) - {"seed"}))
        raise SettingError(
            f"{name}=… without inputs",
            why="it speaks of a forecast from examples, which looks at their inputs",
            instead=f"name them: inputs='COLUMN' (--inputs), or leave {name} out",
        )
    return None


def with_examples(
    found: _Prediction, source: Any, options: ExampleOptions | None, reading: ReadOptions, *, tell: Progress
) -> _Prediction:
    """The same prediction with a forecast from examples: its sentence leads, its score is the one to expect.

    Without true answers a forecast rests on seen combinations that were held out. Where none of these is like the
    unseen ones, it can be wrong either way, and nothing is forecast.
    """
    if options is None:
        return found
    unseen = sum(count for verdict, count in found.counts.items() if verdict not in ("seen", "novel"))
    held = found.held_out
    unlike = held.reason if held is not None and held.abstains else None
    known = Known(found.support, found.learner.answers, found.truth, unseen, unlike)
    made = forecast_from(source, known, options, reading, tell=tell)
    if made.expected.value is None:
        reasons = (example_forecast.verdict(made), *found.reasons)
        return replace(found, examples=made, reasons=reasons, expected=made.expected, grade="untested")
    return replace(
        found,
        verdict=example_forecast.verdict(made),
        grade=earned(made.expected),
        reasons=(*example_forecast.reasons(made), _beside(found.verdict), *_kept(found.reasons)),
        expected=made.expected,
        examples=made,
    )


def _beside(verdict: str) -> str:
    """What the prediction over combinations says first, which knows nothing of inputs."""
    first = verdict.partition(". ")[0].removesuffix(".")
    return f"Over combinations alone, which know nothing of inputs, {first[0].lower()}{first[1:]}."


def _kept(reasons: tuple[str, ...]) -> list[str]:
    """Its reasons, but for asking for the inputs, which were given."""
    return [reason for reason in reasons if "give their inputs" not in reason]
