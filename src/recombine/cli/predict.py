"""`recombine predict`: what a learner would answer on the combinations that it has not seen, and why it would fail."""

import shlex
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

import recombine
from recombine.base import limits
from recombine.base.errors import SettingError
from recombine.base.words import measure, percent, percent_range, points, points_range, target_words
from recombine.cli import ci_summary, gates, options, outputs, proposal, table_options
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, extend_command, fact_table, number_table, reasons, short, show_result
from recombine.data.locations import names_a_table
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS


@takes_groups(
    first=("factors", "target", "model", "inputs", "report"),
    own="Forecast",
    panels={
        "With --inputs": ("unlabelled", "kernel", "seen_score", "rows", "rows_per_combination"),
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
    reading: table_options.ReadingOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Which unseen combinations would come out wrong, and why: a leak, a shortcut, or out of reach?"""
    if not options.names(factors) and not reading.has_sets:
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
        "time_limit": None if inputs is None else limits.current().seconds,
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


def summary(prediction: "recombine.Prediction", checked: gates.Gates) -> None:
    """The prediction on one screen."""
    record = prediction.backtest
    parts = [
        fact_table(_facts(prediction)),
        reasons(prediction.reasons),
        None if prediction.examples is None else _machines(prediction.examples),
        None if record is None else _track_record(record, shares=prediction.learner.answers.share),
        None if record is None else _by_rung(record, shares=prediction.learner.answers.share),
        fact_table(_worst(prediction)) if prediction.worst else None,
    ]
    show_result(prediction, parts, gates=checked, following=_next(prediction))


def _facts(prediction: "recombine.Prediction") -> Iterator[tuple[str, ...]]:
    answers = prediction.learner.answers
    classes = None if answers.kind == "number" else answers.classes
    said, _, hint = target_words(short(answers.name), classes, share=answers.share).partition("; ")
    yield "target", escape(said), escape(hint)
    unseen = sum(count for verdict, count in prediction.counts.items() if verdict != "seen")
    drawn = f"; {unseen:,} unseen ones drawn at random" if prediction.sampled else ""
    yield "seen", f"{len(prediction.learner.support):,} combinations", f"of {prediction.space:,} possible{drawn}"
    alone = "" if prediction.examples is None else "if every value is read without error"
    for verdict, count in prediction.counts.items():
        if verdict != "seen" and count:  # a share of combinations would contradict a score of rows
            yield verdict, f"{count:,}", alone or percent(count / unseen)
    known = prediction.known
    if known is not None and known.known:
        value = (points if answers.share else measure)(known.error.value)
        yield known.error.name, value, f"on {known.known:,} known{alone and f', {alone}'}"


def _machines(examples: Any) -> Table:
    """What each machine gets on new rows of seen combinations, and on the unseen ones."""
    shown = percent if examples.score == "accuracy" else measure
    seen = examples.seen_by_member or (float("nan"),) * len(examples.members)
    rows = [
        (name, shown(before), shown(after))
        for name, before, after in zip(examples.members, seen, examples.by_member, strict=True)
    ]
    rows += [] if examples.probe is None else [("linear rule", "", shown(examples.probe))]
    whom = ">held out" if examples.way == "held out" else ">unseen"
    return number_table(("machine", ">seen, new rows", whom), rows)


def _track_record(record: Any, *, shares: bool) -> Table:
    """Everybody's score, and how much better or worse the kernel is; errors of shares in points."""
    share = record.better == "higher"
    shown = percent if share else points if shares else measure
    headings = [f"{record.tested:,} held out", ">accuracy" if share else ">error", "95 % interval", "kernel better by"]
    rows = []
    for method in record.methods:
        gap = "" if method.difference is None else _better_by(*method.difference[::2], share=share, shares=shares)
        ranged = percent_range if share else points_range if shares else _range
        around = "too few" if method.low is None else ranged(method.low, method.high)
        more = [percent(method.by_rows)] if share and method.by_rows is not None else []
        rows.append([escape(method.name), shown(method.score), around, gap, *more])
    if record.coverage is not None:
        held = record.coverage
        around = "too few" if held.low is None else percent_range(held.low, held.high)
        rows.append(["95 % intervals hold", percent(held.found), around, ""])
    return number_table([*headings, *([">by rows"] if share else [])], rows)


def _range(low: float, high: float) -> str:
    return f"{measure(low)} to {measure(high)}"


def _better_by(low: float, high: float, *, share: bool, shares: bool) -> str:
    """A difference as a lead: of an error the smaller is the better one."""
    low, high = (low, high) if share else (-high, -low)
    return f"{100 * low:+.0f} to {100 * high:+.0f} points" if share or shares else _range(low, high)


def _in_points(difference: float) -> str:
    return points(difference).partition(" ")[0]


def _by_rung(record: Any, *, shares: bool) -> Table:
    """The same by how firmly what was held out is fixed by the rest."""
    shown = percent if record.better == "higher" else _in_points if shares else measure
    rows = [(one.rung, f"{one.tested:,}", *map(shown, one.scores)) for one in record.rungs]
    return number_table(
        ["of these, in points" if shares else "of these", ">", *(f">{method.name}" for method in record.methods)], rows
    )


def _worst(prediction: "recombine.Prediction") -> Iterator[tuple[str, ...]]:
    for one in prediction.worst[:_SHOWN_BAD]:
        named = ", ".join(f"{short(name)}={short(value)}" for name, value in one.combination.items())
        number = percent if prediction.learner.answers.share else measure
        said = one.prediction if isinstance(one.prediction, str) else number(one.prediction)
        yield one.verdict, escape(named), f"{escape(short(said))}. {escape(one.why)}"
    if len(prediction.worst) > _SHOWN_BAD:
        yield "…", "", "--report or --out for all of them"


def _next(prediction: "recombine.Prediction") -> list[tuple[str, str]]:
    command = prediction.provenance.command or "recombine predict …"
    page = ("--report -r", "--report predict.html", "see the grid, and click a combination to see why")
    lines = extend_command(prediction, "predict", page)
    if "--no-backtest" in shlex.split(command):
        plain = shlex.join(word for word in shlex.split(command) if word != "--no-backtest")
        lines.append((plain, "test it on combinations that were seen"))
    fit = ("--salience -s", "--salience fit", "let the data say what counts")
    fittable = prediction.learner.salience.factors <= MOST_FACTORS and not prediction.support.space.set_factors
    return lines + extend_command(prediction, "predict", fit if fittable else None)
