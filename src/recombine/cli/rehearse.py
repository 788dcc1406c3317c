"""`recombine rehearse`: any learner, tried on seen combinations that are held out as the unseen ones are."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

import recombine
from recombine.base import limits
from recombine.base.words import amount, measure, percent, percent_range
from recombine.cli import gates, options, outputs, proposal, table_options
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, extend_command, fact_table, number_table, reasons, short, show_result


@takes_groups(first=("factors", "target", "learner", "inputs", "report"), own="Rehearsal")
def rehearse(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    target: table_options.RequiredTarget = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner",
            "-l",
            help='relu:2 (network and depth) · additive · nearest · examples (with --inputs) · a command: "python '
            'train.py {train} {test} {out}".',
        ),
    ] = "relu:3",
    inputs: Annotated[
        str | None, typer.Option(help="What a learner on examples is shown: columns x1,x2 or a .npy file, row by row.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(help="Right answers of unseen combinations: a column of the table, or another table."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often the learner is trained anew.")] = 5,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option("A CI gate: expected=0.8 (the low end of the score to expect) or lift=0."),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="What is held out, and the learner's own chance.")] = 0,
    *,
    reading: table_options.ReadingOptions,
    output: outputs.Outputs,
) -> None:
    """How well will my learner do on unseen combinations? Trained anew without seen ones that are like them."""
    named = options.names(factors)
    if not named and not reading.has_sets:
        proposal.refuse("rehearse", source, reading, as_json=output.as_json, given=[reading.weight], target=target)
    table_options.require_target(target)
    asked = options.gates(fail_under)
    output.check("rehearsal", inputs=[source, truth, inputs, *reading.files])
    with Watch("counting combinations") as watch:
        found = recombine.rehearse(
            source,
            learner,
            inputs=inputs,
            truth=truth,
            rounds=rounds,
            time_limit=limits.current().seconds,
            seed=seed,
            progress=watch.step,
            factors=named,
            target=target,
            **reading.settings(),
        )
        checked = gates.check(found.share, asked, thin=lambda _: found.grade == "untested")
        output.write(found, watch)
    output.tell(content=lambda: gates.content(found.record(), checked), show=lambda: summary(found, checked))
    raise typer.Exit(gates.exit_code(checked))


def summary(rehearsal: "recombine.Rehearsal", checked: gates.Gates) -> None:
    """The rehearsal on one screen."""
    rounds = [
        (str(number), f"{one.held_out:,}", one.way, "" if one.score is None else _score(rehearsal, one.score))
        for number, one in enumerate(rehearsal.rounds, start=1)
    ]
    listed = number_table((">round", ">held out", "drawn", ">score"), rounds) if rounds else None
    more = None if rehearsal.expected.abstains else ("--rounds", "--rounds 15", "more rounds, a narrower interval")
    page = ("--report -r", "--report rehearse.html", "see what was held out, and how alike it is")
    show_result(
        rehearsal,
        [fact_table(_facts(rehearsal)), listed, reasons(rehearsal.reasons)],
        gates=checked,
        following=extend_command(rehearsal, "rehearse", page, more),
    )


def _facts(rehearsal: "recombine.Rehearsal") -> Iterator[tuple[str, ...]]:
    number = "a share of rows" if rehearsal.target_is_share else "a number"
    yield "target", escape(short(rehearsal.target)), number if rehearsal.score == "R²" else "a label"
    trained = f"trained {amount(len(rehearsal.rounds), 'time')}" if rehearsal.rounds else "not trained"
    yield "learner", escape(short(rehearsal.learner)), trained
    yield "seen", f"{rehearsal.combinations:,} combinations", f"{rehearsal.unseen:,} unseen ones looked at"
    expected = rehearsal.expected
    if expected.value is not None and expected.low is not None and expected.high is not None:
        ends = f"{measure(expected.low)} to {measure(expected.high)}"
        ends = percent_range(expected.low, expected.high) if expected.score == "accuracy" else ends
        yield "to expect", _score(rehearsal, expected.value), ends
    if rehearsal.naive is not None and rehearsal.naive.value is not None:
        yield "held out", _score(rehearsal, rehearsal.naive.value), "counted alike"


def _score(rehearsal: "recombine.Rehearsal", value: float) -> str:
    return percent(value) if rehearsal.score == "accuracy" else f"R² {measure(value)}"
