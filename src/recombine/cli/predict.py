"""`recombine predict`: what a learner would answer on the combinations that it has not seen, and why it would fail."""

import shlex
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import recombine
from recombine.base.errors import SettingError
from recombine.base.grades import because
from recombine.base.words import measure, percent, percent_range
from recombine.cli import ci_summary, gates, options, outputs, proposal, table_options
from recombine.cli.gates import lines as gate_lines
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, lead, next_commands, short
from recombine.data.locations import names_a_table
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS


@takes_groups(
    first=("factors", "target", "model", "inputs", "report"),
    own="Forecast",
    panels={
        "With --inputs": ("unlabelled", "kernel", "seen_score", "rows", "rows_per_combination", "time_limit"),
        "Testing the forecast": ("rehearse", "learner", "backtest", "truth", "fail_under"),
    },
)
def predict(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    target: table_options.RequiredTarget = None,
    salience: Annotated[
        str | None,
        typer.Option(
            "--salience",
            "-s",
            help="What the learner weighs: relu:3 (network and depth) · order:0,0.3,0.4 · fit · features.parquet. "
            "Without it: the mean over networks of one, two and three hidden layers.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What will be trained, if known: its kind and hidden layers, as in relu:1.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="margin (what cross-entropy tends to) or squared. Without it: by the kind of target."),
    ] = None,
    ridge: Annotated[float, typer.Option(help="Noise that the learner allows for in each example.")] = 0.0,
    truth: Annotated[
        str | None,
        typer.Option(help="True answers: a column of the table, or another table with the same factors and target."),
    ] = None,
    symbols: Annotated[
        bool,
        typer.Option(
            "--symbols", help="All examples of a combination look the same to the model: none is hard to read."
        ),
    ] = False,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="What a model looks at: columns of numbers, lists or images (a,b), a folder of images, or an array by "
            "row (vectors.npy, vectors.safetensors). The forecast is then made from the examples themselves."
        ),
    ] = None,
    unlabelled: Annotated[
        str | None, typer.Option(help="A table of rows of unseen combinations, without their target.")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="relu (depths 1 to 3), relu:2, ntk, or linear, for features.")
    ] = None,
    seen_score: Annotated[
        float | None, typer.Option(help="The score on new rows of seen combinations, known or assumed.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows that are fitted, default: 3000.")] = None,
    rows_per_combination: Annotated[
        int | None, typer.Option(help="Rows that are looked at of each combination.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds that solving on the examples may take; default: 3600."),
    ] = None,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Hold out seen combinations as the unseen ones are, and teach a learner without them. Leads where it "
            "is better founded.",
        ),
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            "-l",
            help="With --rehearse: whom, as in `recombine rehearse`. Without it: kernel machines on the --inputs, "
            "else the --model, else relu:2.",
        ),
    ] = None,
    backtest: Annotated[
        bool,
        typer.Option(
            "--backtest/--no-backtest",
            help="Hold out seen combinations and predict them. Without it nothing is tested.",
        ),
    ] = True,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option(
            "A CI gate: expected=0.8 (the low end of the score to expect), lift=0, fine=0.9, or right=0.9 with a truth."
        ),
    ] = [],  # noqa: B006
    seed: Annotated[
        int, typer.Option(help="What is held out, and which combinations are drawn from a vast space.")
    ] = 0,
    *,
    reading: table_options.TableOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Which unseen combinations would come out wrong, and why: a leak, a shortcut, or out of reach?"""
    if not options.names(factors):
        proposal.refuse("predict", source, reading, as_json=output.as_json, given=[reading.weight], target=target)
    table_options.require_target(target)
    asked = options.gates(fail_under)
    output.require_gates(asked, example="expected=0.8")
    whom = _rehearsed(rehearse, learner, inputs=inputs, kernel=kernel, model=model)
    told = {
        "unlabelled": unlabelled,
        "kernel": kernel,
        "seen_score": seen_score,
        "rows": rows,
        "rows_per_combination": rows_per_combination,
        "time_limit": time_limit,
    }
    given = {name: value for name, value in told.items() if value is not None}
    examples = recombine.Examples(inputs, symbols=symbols, **given)  # type: ignore[arg-type]
    features = salience if salience is not None and salience.endswith((".parquet", ".pq")) else None
    output.check("prediction", inputs=[source, truth, features, inputs, unlabelled, *reading.files])
    how = {"factors": options.names(factors), "target": target, **reading.settings()}
    with Watch("counting combinations") as watch:
        support = recombine.read(source, **how, progress=watch.tell)
        known = _truth(truth, source, support, how)
        on_rows = whom is not None and (inputs is not None or " " in whom)
        rehearsal = (
            None
            if whom is None
            else recombine.rehearse(
                source if on_rows else support,
                whom,
                inputs=inputs,
                truth=known,
                seed=seed,
                progress=watch.step,
                **(how if on_rows else {}),
            )
        )
        found = recombine.predict(
            support if inputs is None else source,
            salience=salience,
            model=model,
            fit=recombine.FitSettings(loss, ridge),  # type: ignore[arg-type]
            truth=known,
            examples=examples,
            backtest=backtest,
            seed=seed,
            progress=watch.step,
            **({} if inputs is None else how),
        )
        if rehearsal is not None:
            found = found.with_rehearsal(rehearsal)
        checked = gates.check(found.share, asked, thin=lambda name: name != "right" and found.grade == "untested")
        output.write(found, watch)
    output.tell(
        content=lambda: gates.content(found.checked_record(), checked, without=("impossible", "read_target")),
        show=lambda: summary(found, checked),
        summaries=lambda: [ci_summary.of_prediction(found, checked, source=source, following=_next(found))],
    )
    raise typer.Exit(gates.exit_code(checked))


def _rehearsed(
    wanted: bool, learner: str | None, *, inputs: str | None, kernel: str | None, model: str | None
) -> str | None:
    """The learner that is to be rehearsed, if one is: the one that the forecast itself speaks of, unless named."""
    if learner is not None and not wanted:
        raise SettingError(
            f"--learner {learner} without --rehearse",
            why="a forecast is made by kernel machines; a learner of your own is taught in a rehearsal",
            instead=f"add --rehearse, or run recombine rehearse … --learner {options.quoted(learner)}",
        )
    if not wanted:
        return None
    return learner or (model or "relu:2" if inputs is None else kernel or "examples")


def _truth(truth: str | None, source: str, support: Any, how: Any) -> Any:
    """True answers from a file of its own, or from a column of the same table."""
    if truth is None:
        return None
    if names_a_table(truth):
        from recombine.verbs.predict.answers import read_truth  # noqa: PLC0415 - the command's help needs no theory

        return read_truth(truth, support, **how)
    kind = "label" if hasattr(support.target, "classes") else "number"
    return recombine.read(source, **how | {"target": truth, "target_kind": kind})


_SHOWN_BAD = 5


def summary(prediction: Any, gates: dict[str, dict[str, Any]]) -> None:
    """The prediction on one screen."""
    console = console_for()
    width = min(console.width, 100)
    lead(console, prediction, why=because(prediction.grade, prediction.expected))
    console.print(_facts(prediction))
    console.print()
    for reason in prediction.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    if prediction.examples is not None:
        console.print()
        console.print(_machines(prediction.examples))
    if prediction.backtest is not None:
        console.print()
        console.print(_track_record(prediction.backtest))
        console.print()
        console.print(_by_rung(prediction.backtest))
    if prediction.worst:
        console.print()
        console.print(_worst(prediction))
    for line in gate_lines(gates):
        console.print(line)
    next_commands(console, _next(prediction))


def _facts(prediction: Any) -> Table:
    table = _plain_table()
    own = prediction.learner.answers
    kind = "a number" if own.kind == "number" else f"a label with {len(own.classes):,} values"
    table.add_row("target", escape(short(own.name)), kind)
    unseen = sum(count for verdict, count in prediction.counts.items() if verdict != "seen")
    of = f"of {prediction.space:,} possible" + (
        f"; {unseen:,} unseen ones drawn at random" if prediction.sampled else ""
    )
    table.add_row("seen", f"{len(prediction.learner.support):,} combinations", of)
    alone = "" if prediction.examples is None else ", over combinations alone"
    for verdict, count in prediction.counts.items():
        if verdict != "seen" and count:
            table.add_row(verdict, f"{count:,}", f"{percent(count / unseen)}{alone}")
    if prediction.known is not None and prediction.known.known:
        of = f"on {prediction.known.known:,} known{alone}"
        table.add_row(prediction.known.error.name, measure(prediction.known.error.value), of)
    return table


def _machines(found: Any) -> Table:
    """What each machine gets on new rows of seen combinations, and on the unseen ones."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("machine")
    table.add_column("seen, new rows", justify="right")
    table.add_column("held out" if found.way == "held out" else "unseen", justify="right")
    shown = percent if found.score == "accuracy" else measure
    seen = found.seen_by_member or (float("nan"),) * len(found.members)
    for name, before, after in zip(found.members, seen, found.by_member, strict=True):
        table.add_row(name, shown(before), shown(after))
    if found.probe is not None:
        table.add_row("linear rule", "", shown(found.probe))
    return table


def _track_record(record: Any) -> Table:
    """Everybody's score, and how much better or worse the kernel is."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column(f"{record.tested:,} held out")
    table.add_column("accuracy" if record.better == "higher" else "error", justify="right")
    table.add_column("95 % interval")
    table.add_column("kernel better by")
    rows = record.better == "higher"
    if rows:
        table.add_column("by rows", justify="right")
    for method in record.methods:
        gap = "" if method.difference is None else _better_by(*method.difference[::2], share=rows)
        around = "too few" if method.low is None else _range(method.low, method.high, share=rows)
        score = percent(method.score) if rows else measure(method.score)
        more = [percent(method.by_rows)] if rows and method.by_rows is not None else []
        table.add_row(escape(method.name), score, around, gap, *more)
    if record.coverage is not None:
        found = record.coverage
        around = "too few" if found.low is None else percent_range(found.low, found.high)
        table.add_row("95 % intervals hold", percent(found.found), around, "")
    return table


def _range(low: float, high: float, *, share: bool) -> str:
    return percent_range(low, high) if share else f"{measure(low)} to {measure(high)}"


def _better_by(low: float, high: float, *, share: bool) -> str:
    """A difference as a lead: of an error the smaller is the better one."""
    return f"{100 * low:+.0f} to {100 * high:+.0f} points" if share else f"{measure(-high)} to {measure(-low)}"


def _by_rung(record: Any) -> Table:
    """The same by how firmly what was held out is fixed by the rest."""
    table = Table(box=None, padding=(0, 2), pad_edge=True)
    table.add_column("of these")
    table.add_column("", justify="right")
    for method in record.methods:
        table.add_column(escape(method.name), justify="right")
    shown = percent if record.better == "higher" else measure
    for rung in record.rungs:
        table.add_row(rung.rung, f"{rung.tested:,}", *map(shown, rung.scores))
    return table


def _worst(prediction: Any) -> Table:
    table = _plain_table()
    for one in prediction.worst[:_SHOWN_BAD]:
        named = ", ".join(f"{short(name)}={short(value)}" for name, value in one.combination.items())
        said = one.prediction if isinstance(one.prediction, str) else measure(one.prediction)
        table.add_row(one.verdict, escape(named), f"{escape(short(said))}. {escape(one.why)}")
    if len(prediction.worst) > _SHOWN_BAD:
        table.add_row("…", "", "--report or --out for all of them")
    return table


def _plain_table() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_column()
    return table


def _next(prediction: Any) -> list[tuple[str, str]]:
    command = prediction.provenance.command or "recombine predict …"
    words = set(shlex.split(command))
    lines = []
    if not {"--report", "-r"} & words:
        lines.append((f"{command} --report predict.html", "see the grid, and click a combination to see why"))
    if "--no-backtest" in words:
        plain = shlex.join(word for word in shlex.split(command) if word != "--no-backtest")
        lines.append((plain, "test it on combinations that were seen"))
    fittable = prediction.learner.salience.factors <= MOST_FACTORS
    if fittable and not {"--salience", "-s"} & words:
        lines.append((f"{command} --salience fit", "let the data say what counts"))
    return lines
