"""`recombine rehearse`: any learner, tried on seen combinations that are held out as the unseen ones are."""

import shlex
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import recombine
from recombine.base.grades import because
from recombine.base.words import amount, measure, percent, percent_range
from recombine.cli import gates, options, outputs, proposal, table_options
from recombine.cli.gates import lines as gate_lines
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, lead, next_commands, short


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
    time_limit: Annotated[float | None, typer.Option(help="Seconds that one run of a command may take.")] = None,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option("A CI gate: expected=0.8 (the low end of the score to expect) or lift=0."),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="What is held out, and the learner's own chance.")] = 0,
    *,
    reading: table_options.TableOptions,
    output: outputs.Outputs,
) -> None:
    """How well will my learner do on unseen combinations? Trained anew without seen ones that are like them."""
    named = options.names(factors)
    if not named:
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
            time_limit=time_limit,
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


def summary(rehearsal: Any, checked: gates.Gates) -> None:
    """The rehearsal on one screen."""
    console = console_for()
    width = min(console.width, 100)
    lead(console, rehearsal, why=because(rehearsal.grade, rehearsal.expected))
    console.print(_facts(rehearsal), width=width)
    if rehearsal.rounds:
        console.print()
        console.print(_rounds(rehearsal), width=width)
    console.print()
    for reason in rehearsal.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    for line in gate_lines(checked):
        console.print(line)
    next_commands(console, _next(rehearsal))


def _facts(rehearsal: Any) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_column()
    kind = "a number" if rehearsal.score == "R²" else "a label"
    table.add_row("target", escape(short(rehearsal.target)), kind)
    table.add_row(
        "learner",
        escape(short(rehearsal.learner)),
        f"trained {amount(len(rehearsal.rounds), 'time')}" if rehearsal.rounds else "not trained",
    )
    table.add_row("seen", f"{rehearsal.combinations:,} combinations", f"{rehearsal.unseen:,} unseen ones looked at")
    expected = rehearsal.expected
    if not expected.abstains:
        table.add_row("to expect", _score(rehearsal, expected.value), _range(expected))
    if rehearsal.naive is not None and rehearsal.naive.value is not None:
        table.add_row("held out", _score(rehearsal, rehearsal.naive.value), "counted alike")
    return table


def _score(rehearsal: Any, value: float) -> str:
    return percent(value) if rehearsal.score == "accuracy" else f"R² {measure(value)}"


def _range(expected: Any) -> str:
    if expected.score == "accuracy":
        return percent_range(expected.low, expected.high)
    return f"{measure(expected.low)} to {measure(expected.high)}"


def _rounds(rehearsal: Any) -> Table:
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("round", justify="right")
    table.add_column("held out", justify="right")
    table.add_column("drawn")
    table.add_column("score", justify="right")
    for number, one in enumerate(rehearsal.rounds, start=1):
        score = "" if one.score is None else _score(rehearsal, one.score)
        table.add_row(str(number), f"{one.held_out:,}", one.way, score)
    return table


def _next(rehearsal: Any) -> list[tuple[str, str]]:
    command = rehearsal.provenance.command or "recombine rehearse …"
    words = set(shlex.split(command))
    lines = []
    if not {"--report", "-r"} & words:
        lines.append((f"{command} --report rehearse.html", "see what was held out, and how alike it is"))
    if not {"--rounds"} & words and not rehearsal.expected.abstains:
        lines.append((f"{command} --rounds 15", "more rounds, a narrower interval"))
    return lines
