"""`recombine evaluate` where the answers are vectors: the same command, another result."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.base.words import measure, percent
from recombine.cli import outputs, table_options
from recombine.cli.terminal import Watch, extend_command, number_table, reasons, short, show_result


def is_asked(source: str, target: str | None, prediction: str | None, reading: table_options.RowOptions) -> bool:
    """Whether the target is a vector: a pattern of columns, or a column of lists."""
    from recombine.data.sources import opened  # noqa: PLC0415 - it brings the engines
    from recombine.data.stored_vectors import stored  # noqa: PLC0415
    from recombine.data.vector_reader import is_vector  # noqa: PLC0415

    if target is None or prediction is None or "=" in prediction:
        return False
    try:
        if is_vector(stored(source, target)):
            return True
        with opened(source, table=reading.table, columns=[target]) as found:
            return target in found.table.columns and bool(found.table[target].type().is_array())
    except RecombineError:  # the evaluation itself says what is wrong with the table
        return False


def refuse_unused(given: Mapping[str, Any]) -> None:
    """Options that an evaluation of vectors does not know yet are refused, never ignored."""
    for option, value in given.items():
        if value:
            raise SettingError(
                f"{option} with a vector as the target",
                why="an evaluation of vectors does not know it yet",
                instead="leave it out",
            )


def run(
    source: str, asked: Mapping[str, Any], reading: table_options.SpaceOptions, output: outputs.FormattedOutputs
) -> None:
    """Read, score, write and tell."""
    settings = reading.settings()
    if settings.pop("target_kind", None) is not None:
        refuse_unused({"--target-kind": True})
    output.require_gates({}, example="unseen=0.8")
    output.check("vector_evaluation", inputs=[source, asked["train"], *reading.files])
    with Watch("scoring rows") as watch:
        found = recombine.evaluate_vectors(source, **asked, **settings)
        output.write(found, watch)
    output.tell(content=lambda: found.record().to_json(), show=lambda: summary(found))


def summary(found: "recombine.VectorEvaluation") -> None:
    """The evaluation on one screen."""
    parts = [_scores(found, side.name) for side in found.sides if side.scores]
    page = ("--report -r", "--report evaluation.html", "see every score, combination and output")
    following = extend_command(found, "evaluate", page)
    show_result(found, [*parts, _rules(found), reasons(found.reasons)], following=following)


def _scores(found: "recombine.VectorEvaluation", name: str) -> Any:
    side = found.side(name)
    rows = [
        (
            f"[bold]{one.name}[/]",
            _number(one.value),
            "none" if one.low is None else f"{_number(one.low)} to {_number(one.high)}",
            _number(one.negative),
            _number(one.positive),
            "" if one.reached is None else percent(one.reached),
        )
        for one in side.scores
    ]
    heading = f"{side.combinations:,} {name} combinations"
    return number_table(
        (heading, ">value", f"{percent(found.confidence)} interval", ">mean", ">at best", ">of the way"),
        rows,
        padding=1,
    )


def _rules(found: "recombine.VectorEvaluation") -> Any:
    rows = [
        (f"[bold]{escape(short(one.name))}[/]", f"{one.told:,}", _number(one.r2), _number(one.cosine_mean))
        for one in found.rules
    ]
    return number_table(("simple rules on unseen", ">told", ">R²", ">cosine from mean"), rows, padding=1)


def _number(value: float | None) -> str:
    return "" if value is None else measure(value)
