"""`recombine evaluate`: anybody's predictions in, how they fare on unseen combinations out."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.constrain import Constrain
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import recombine
from recombine.base.errors import BeyondMemory, SettingError
from recombine.base.words import amount, interval_words, measure, percent, percent_range
from recombine.cli import ci_summary, gates, on_disk, options, outputs, proposal, table_options, vector_evaluate
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, extend_command, number_table, reasons, short, show_result


@takes_groups(
    first=("factors", "target", "prediction", "split", "report"),
    own="Score",
    panels={
        "What was trained on": ("train", "train_side", "test_side"),
        "Where the answers are": ("data", "id_column"),
        "Intervals": ("draws", "confidence", "seed"),
    },
)
def evaluate(
    source: Annotated[str, typer.Argument(help="The predictions: a file, glob, folder, s3:// URL or database URI.")],
    factors: table_options.Factors = [],  # noqa: B006
    target: Annotated[str | None, table_options.target_option("The column with the true answers.")] = None,
    prediction: Annotated[
        str | None,
        typer.Option(
            "--prediction",
            "-p",
            help="The column with the model's answers; for probabilities one for each class: cat=p_cat,dog=p_dog.",
        ),
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="The table that the model was trained on, with the same factor columns.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The column that says which rows were trained on; the test side is scored.")
    ] = None,
    train_side: Annotated[
        table_options.Many, typer.Option("--train-side", help="The split's value of rows that were trained on.")
    ] = [],  # noqa: B006
    test_side: Annotated[
        table_options.Many, typer.Option("--test-side", help="The split's value of rows that are scored.")
    ] = [],  # noqa: B006
    data: Annotated[
        str | None, typer.Option(help="Where factors and target are, if the predictions hold ids and answers alone.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column by which rows of two tables are matched.")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option("--score", "-s", help="accuracy, mse, r2, logloss, or a column with a score for each row."),
    ] = None,
    better: Annotated[str | None, typer.Option(help="For a score of your own: higher or lower.")] = None,
    against: Annotated[
        str | None, typer.Option(help="Another model: a column of its answers, or a table of them.")
    ] = None,
    theory: Annotated[
        Path | None, typer.Option(help="A saved prediction (recombine predict … --out FOLDER) to set beside it.")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            help="Of vectors: the value that stands for nothing done, of all factors (ctrl) or of some (drug=DMSO)."
        ),
    ] = None,
    causes: Annotated[
        bool, typer.Option("--causes/--no-causes", help="Look for the causes of the errors too, which takes longest.")
    ] = True,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option("A gate: unseen=0.8 (all, seen, worst, lift, balanced_accuracy)."),
    ] = [],  # noqa: B006
    draws: Annotated[int, typer.Option(help="How often combinations are resampled for an interval.")] = 2_000,
    confidence: Annotated[float, typer.Option(help="What an interval promises.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Which combinations are drawn for the intervals.")] = 0,
    *,
    reading: table_options.SpaceOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Did the model hold on combinations that it had not seen, and if not, why?"""
    if not options.names(factors) and not reading.has_sets:
        proposal.refuse(
            "evaluate",
            data or source,
            reading,
            as_json=output.as_json,
            given=[id_column, against],
            target=target,
            split=split,
            prediction=prediction or score,
        )
    intervals = recombine.IntervalSettings(draws=draws, confidence=confidence, seed=seed)
    sides = _split(split, train=options.names(train_side), test=options.names(test_side))
    if vector_evaluate.is_asked(source, target, prediction, reading):
        unused = {"--data": data, "--id": id_column, "--score": score, "--against": against, "--theory": theory}
        vector_evaluate.refuse_unused(unused | {"--fail-under": fail_under})
        vector_evaluate.run(
            source,
            {
                "factors": options.names(factors),
                "target": target,
                "prediction": prediction,
                "train": train,
                "split": sides,
                "control": options.control(control),
                "intervals": intervals,
            },
            reading,
            output,
        )
        return
    asked = options.gates(fail_under)
    output.require_gates(asked, example="unseen=0.8")
    output.check("evaluation", inputs=[source, train, data, against, theory, *reading.files])
    with Watch("scoring rows") as watch:
        try:
            found = recombine.evaluate(
                source,
                factors=options.names(factors),
                target=target,
                prediction=_columns(prediction),
                train=train,
                split=sides,
                data=data,
                id=id_column,
                score=_score(score, better),
                against=against,
                theory=theory,
                causes=causes,
                intervals=intervals,
                progress=watch.step,
                **reading.settings(),
            )
        except BeyondMemory as error:
            unknown: dict[str, object] = {"--train": train, "--data": data, "--score": score, "--against": against}
            unknown |= {"--theory": theory, "--fail-under": asked, "no --split": split is None}
            unknown |= {"no --target": target is None, "no --prediction": prediction is None}
            known_reading = on_disk.reading_settings(reading, error, given=unknown)
            counted = recombine.evaluate_stored(
                source,
                factors=options.names(factors),
                target=target or "",
                prediction=prediction or "",
                split=sides or "split",
                progress=watch.step,
                **{name: known_reading[name] for name in ("where", "bins", "table")},
            )
            on_disk.tell_evaluation(counted, as_json=output.as_json)
        checked = gates.check(found.share, asked, thin=found.thin, at_best=found.at_best)
        output.write(found, watch)
    known = train is not None or split is not None
    offered = None if known or output.requested.names <= {"json", "metrics"} else _split_column(data or source, reading)
    output.tell(
        content=lambda: gates.content(found.record(), checked, without=("impossible",)),
        show=lambda: summary(found, checked, split=offered),
        summaries=lambda: [ci_summary.of_evaluation(found, checked, source=source, following=_next(found, offered))],
    )
    raise typer.Exit(gates.exit_code(checked))


def _split_column(source: str, reading: table_options.RowOptions) -> str | None:
    """A column that tells trained from tested rows, to be offered to those who named none."""
    from recombine.verbs.evaluate.prediction_query import split_column  # noqa: PLC0415 - it brings the engines

    return split_column(source, table=reading.table)


def _split(name: str | None, *, train: list[str], test: list[str]) -> "recombine.SplitColumn | None":
    if name is not None:
        return recombine.SplitColumn(name, train=train, test=test)
    if train or test:
        raise SettingError(
            "--train-side or --test-side without a split",
            why="they name values of the column that says which side a row stands on",
            instead="name that column: --split split",
        )
    return None


def _score(name: str | None, better: str | None) -> "str | recombine.Score | None":
    """The score, and which way it is better where that is not known."""
    if better is None:
        return name
    if name is None:
        raise SettingError(
            f"--better {better}", why="it is for a score of your own", instead="name its column: --score COLUMN"
        )
    return recombine.Score(name, better)  # type: ignore[arg-type]


def _columns(written: str | None) -> Any:
    """One column, or a column for each class."""
    if written is None or "=" not in written:
        return written
    return options.assignments("--prediction", options.names([written]))


_SHOWN = 5


def summary(found: "recombine.Evaluation", checked: gates.Gates, *, split: str | None = None) -> None:
    """The evaluation on one screen; `split` is a column that could tell what was trained on, where nothing did."""
    told = (("target", _target(found)), ("simple rules", _rules(found)), ("balanced", _balanced(found)))
    facts = number_table(("", ""), [(f"[bold]{name}[/]", escape(said)) for name, said in told if said], padding=1)
    facts.show_header = False
    width = min(console_for().width, 100)
    against = None if found.against is None else _against(found)
    parts = [Constrain(facts, width), _sides(found), against, reasons(found.reasons), _worst(found)]
    show_result(found, parts, gates=checked, following=_next(found, split))
    if found.outcomes.training is None and split is None:
        hint = "To tell seen from unseen combinations, add --train and the table that the model was trained on."
        console_for().print(Padding(hint, (0, 2, 1, 2)), width=width)


def _target(found: "recombine.Evaluation") -> str:
    target = found.outcomes.tested.target
    if target is None:
        return f"none was named; rows are scored by {found.score.name}"
    if found.outcomes.kind == "number":
        return f"{target.name}, a number"
    return f"{target.name}, a label with {amount(len(found.outcomes.classes), 'value')}"


def _rules(found: "recombine.Evaluation") -> str:
    """What each simple rule gets on unseen combinations, or on all where none was tested."""
    side = "unseen" if found.side("unseen").rows else "all"
    share = found.baselines.score == "accuracy"
    told = [one for one in found.baselines.found if one.side == side]
    if not told:
        return ""
    named = sorted(told, key=lambda one: -one.score)[:_SHOWN]
    more = f", {len(told) - len(named)} more" if len(told) > len(named) else ""
    said = ", ".join(f"{one.rule} {percent(one.score) if share else measure(one.score)}" for one in named)
    return f"on {side}: {said}{more}{'' if share else ' (R²)'}"


def _balanced(found: "recombine.Evaluation") -> str:
    """The mean of the classes' shares."""
    side = "unseen" if found.side("unseen").rows else "all"
    told = next((one for one in found.balanced if one.side == side), None)
    if told is None:
        return ""
    each = "class" if told.classes == 1 else "classes"
    return f"on {side}: {interval_words(told.score, told.low, told.high)} right if {told.classes} {each} count alike"


def _sides(found: "recombine.Evaluation") -> Table:
    rows = []
    for side in found.sides:
        repeats = side.name == "determined" and side.rows == found.side("unseen").rows
        if side.rows and not repeats:
            name = f"  {side.name}" if side.name in ("determined", "undetermined") else side.name
            scores = (_amount(found, side.score), _ends(found, side.low, side.high), _amount(found, side.macro))
            rows.append((f"[bold]{name}[/]", f"{side.rows:,}", f"{side.combinations:,}", *scores))
        elif side.name in ("seen", "unseen") and not side.rows:
            rows.append((f"[bold]{side.name}[/]", "0", "0", "unknown", "", ""))
    interval = f"{percent(found.confidence)} interval"
    return _table(("", ">rows", ">combinations", f">{short(found.score.name)}", interval, ">each once"), rows)


def _against(found: "recombine.Evaluation") -> Table:
    against: Any = found.against
    rows = [
        (
            f"[bold]{side.name}[/]",
            _amount(found, side.own),
            _amount(found, side.other),
            _points(found, side.difference),
            "none" if side.low is None else f"{_points(found, side.low)} to {_points(found, side.high)}",
            side.better,
        )
        for side in against.sides
        if side.rows and side.name in ("all", "seen", "unseen", "novel")
    ]
    return _table((short(against.other), ">this", ">other", ">difference", "interval", "better"), rows)


def _worst(found: "recombine.Evaluation") -> Table:
    rows = []
    for one in found.worst[:_SHOWN]:
        named = ", ".join(f"{escape(short(name))}={escape(short(value))}" for name, value in one.combination.items())
        scores = (_amount(found, one.score), _amount(found, one.shrunk), _ends(found, one.low, one.high))
        rung = one.rung if one.rung != "unknown" else ""
        rows.append((f"[bold]{named}[/]", f"{one.rows:,}", *scores, _amount(found, one.expected), rung))
    heading = f"worst of {len(found.outcomes):,} tested"
    return _table((heading, ">rows", ">raw", ">shrunk", "interval", ">parts give", ""), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Numbers in a row of their own; only names may be broken into lines."""
    table = number_table(headings, rows, padding=1)
    for column in table.columns[1:]:
        column.no_wrap = True
    return table


def _amount(found: "recombine.Evaluation", number: float | None) -> str:
    if number is None:
        return "unknown"
    return percent(min(max(number, 0.0), 1.0)) if found.score.is_share else measure(number)


def _ends(found: "recombine.Evaluation", low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "none"
    return percent_range(low, high) if found.score.is_share else f"{measure(low)} to {measure(high)}"


def _points(found: "recombine.Evaluation", number: float | None) -> str:
    if number is None:
        return "unknown"
    return f"{100 * number:+.3g}" if found.score.is_share else f"{number:+.3g}"


def _next(found: "recombine.Evaluation", split: str | None) -> list[tuple[str, str]]:
    gate = _gate(found)
    told = "tell seen from unseen combinations"
    return extend_command(
        found,
        "evaluate",
        None if split is None else ("", f"--split {shlex.quote(split)}", told),
        ("--report -r", "--report evaluation.html", "see the map of scores, and every combination"),
        None if gate is None else ("--fail-under", f"--fail-under {gate}", "use as a CI gate"),
    )


def _gate(found: "recombine.Evaluation") -> str | None:
    """A gate on what was asked: the worst group, the unseen combinations, or what is gained there."""
    if found.group is not None:
        return "worst=0.8"
    if not found.side("unseen").rows:
        return None
    return "unseen=0.8" if found.score.better == "higher" else "lift=0.1" if found.expected.lift else None
