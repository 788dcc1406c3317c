"""`recombine plan`: which combinations to collect next, in which order, and what each of them buys."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

import recombine
from recombine.base.errors import SettingError
from recombine.base.files import place_of, write_text
from recombine.base.overwrite_checks import check_page
from recombine.base.words import count, measure
from recombine.cli import gates, options, outputs, proposal, table_options
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, extend_command, fact_table, number_table, reasons, short, show_result
from recombine.data.locations import is_model
from recombine.verbs.plan.plan_settings import CHANGE, check_settings


@takes_groups(first=("factors", "goal", "budget", "report", "out"), own="Plan")
def plan(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    goal: Annotated[
        str,
        typer.Option(
            "--goal",
            "-g",
            help="determined · pairs · triples · leverage (additive models) · variance (networks) · balance (rows).",
        ),
    ] = "determined",
    budget: Annotated[
        float | None,
        typer.Option("--budget", "-b", help="How much may be spent, in units of cost. Without it: what is needed."),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(
            help="A CSV with factors as columns and a cost; an empty cell means any value, no cost: not to be had."
        ),
    ] = None,
    change_over: Annotated[
        table_options.Many,
        typer.Option(
            "--change-over",
            help="What it costs to change a factor between two lines: table=600,lamp=10. Lines are then listed in an "
            "order that is short to walk through, and changes count towards the budget.",
        ),
    ] = [],  # noqa: B006
    target: table_options.Target = None,
    salience: Annotated[
        str | None,
        typer.Option(
            "--salience",
            "-s",
            help="For variance, what the learner weighs: relu:3, if nothing is said · order:0,0.3,0.4 · fit.",
        ),
    ] = None,
    ridge: Annotated[
        float | None, typer.Option(help="For variance, the noise that the learner allows for; 0 if nothing is said.")
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Compare the plan's order with random ones on the table's own past.")
    ] = False,
    plausible: Annotated[
        bool,
        typer.Option(
            "--plausible/--any",
            help="Of combinations worth the same, the one whose values keep such company comes first; none that "
            "perhaps cannot occur. --any: all are alike.",
        ),
    ] = True,
    matrix: Annotated[
        Path | None,
        typer.Option(
            "--matrix",
            help="Write what to collect as rows: FILE.csv, .tsv (as PICT prints it) or .json (a CI server's matrix).",
        ),
    ] = None,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option("A gate on what the plan would achieve: determined=0.95."),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="What is drawn at random, in a replay or a vast space.")] = 0,
    *,
    reading: table_options.ReadingOptions,
    output: outputs.Outputs,
) -> None:
    """Which combinations should be collected next, and what would each of them buy?"""
    named = options.names(factors)
    if not named and not reading.has_sets and not is_model(source):
        proposal.refuse("plan", source, reading, as_json=output.as_json, given=[reading.weight], target=target)
    asked = options.gates(fail_under)
    output.check("plan", inputs=[source, cost, *reading.files])
    if matrix is not None:
        _form(matrix)
        check_page(place_of(matrix), force=output.force, inputs=[source, cost, *reading.files])
    check_settings(goal=goal, budget=budget, salience=salience, ridge=ridge, replay=replay)
    with Watch("counting combinations") as watch:
        settings = {"factors": named, "target": target, **reading.settings()}
        model = is_model(source)
        support = source if model else recombine.read(source, **settings, progress=watch.tell)
        found = recombine.plan(
            support,
            goal=goal,  # type: ignore[arg-type]
            budget=budget,
            costs=cost,
            salience=salience,
            ridge=ridge,
            change_over=options.change_over(change_over),
            replay=replay,
            plausible=plausible,
            seed=seed,
            progress=watch.step,
            **(settings if model else {}),
        )
        checked = gates.check(found.share, asked, thin=lambda _: False)
        output.write(found, watch)
        if matrix is not None:
            write_text(matrix, found.matrix(_form(matrix)), force=output.force)
    output.tell(
        content=lambda: gates.content(found.record(), checked, without=("impossible",)),
        show=lambda: summary(found, checked),
        also_written=matrix,
    )
    raise typer.Exit(gates.exit_code(checked))


_FORMS: dict[str, Literal["csv", "tsv", "json"]] = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".json": "json"}


def _form(matrix: Path) -> Literal["csv", "tsv", "json"]:
    """The form of a matrix by its file's name."""
    if matrix.suffix.lower() not in _FORMS:
        raise SettingError(
            f"--matrix {matrix}",
            why="its name tells the form, and there is none for this ending",
            instead=f"--matrix {matrix.with_suffix('.csv') if matrix.name else 'tests.csv'}, .tsv or .json",
        )
    return _FORMS[matrix.suffix.lower()]


_SHOWN = 10


def summary(plan: "recombine.Plan", checked: gates.Gates) -> None:
    """The plan on one screen."""
    lines = _lines(plan) if plan.table.num_rows else None
    show_result(plan, [lines, fact_table(_facts(plan)), reasons(plan.reasons)], gates=checked, following=_next(plan))


def _lines(plan: "recombine.Plan") -> Table:
    """The first lines: what to collect, at what cost, and what it buys."""
    if "change_over" in plan.settings:
        return _shots(plan)
    rows = []
    for place, line in enumerate(plan.first(_SHOWN)):
        named = ", ".join(f"{short(name)}={short(value)}" for name, value in line.combination.items())
        rows.append((str(place + 1), escape(named), count(line.cost), escape(line.buys)))
    if plan.table.num_rows > _SHOWN:
        rows.append(("…", f"{plan.table.num_rows - _SHOWN:,} more", "", "--out, --json or --report for all of them"))
    return number_table((">", "collect", ">cost", "buys"), rows)


def _shots(plan: "recombine.Plan") -> Table:
    """The first lines as they are walked through: what to change, which makes what."""
    shots, names = plan.shots, plan.support.space.names
    rows: list[tuple[str, ...]] = []
    before: dict[str, str] = {}
    for place, line in enumerate(shots.slice(0, _SHOWN).to_pylist()):
        changed = [f"{short(name)}={short(line[name])}" for name in names if before.get(name) != line[name]]
        same = [f"[dim]{escape(short(line[name]))}[/]" for name in names if before.get(name) == line[name]]
        made = " ".join([escape(", ".join(changed)), *same])
        rows.append((str(place + 1), made, count(line[CHANGE]), count(line["cost"]), escape(line["buys"])))
        before = line
    if shots.num_rows > _SHOWN:
        rows.append(("…", f"{shots.num_rows - _SHOWN:,} more", "", "", "--matrix FILE.csv for all, in this order"))
    return number_table((">", "set", ">change", ">cost", "buys"), rows)


def _facts(plan: "recombine.Plan") -> Iterator[tuple[str, ...]]:
    last = plan.curve[-1]
    yield plan.measure.name, f"today {_figure(plan.measure.today)}", _after(plan, last)
    if plan.budget is not None:
        changes = sum(plan.shots[CHANGE].to_pylist()) if CHANGE in plan.shots.column_names else 0
        yield (
            "budget",
            count(plan.budget),
            f"{count(last.spent)} spent" + (f", {count(changes)} on changes" * bool(changes)),
        )
    if plan.needed.combinations:
        price = plan.needed.cost
        cost = "" if price is None or price == plan.needed.combinations else f", cost {count(price)}"
        yield "needed", f"{plan.needed.combinations:,}{cost}", escape(plan.needed.said)


def _after(plan: "recombine.Plan", last: Any) -> str:
    full = f" of {count(plan.measure.full)}" if plan.measure.full and plan.measure.better == "higher" else ""
    return f"with the plan {_figure(last.value)}{full}" if last.lines else f"{full.strip()}"


def _figure(value: float | None) -> str:
    if value is None:
        return "without bound"
    return count(value) if float(value).is_integer() else measure(value)


def _next(plan: "recombine.Plan") -> list[tuple[str, str]]:
    command = plan.provenance.command or "recombine plan …"
    if not plan.table.num_rows:
        again = _without_goal(command)
        if len(plan.support) == plan.support.space.size or plan.support.space.set_factors:
            return [] if plan.goal == "balance" else [(f"{again} --goal balance", "more rows where there are fewest")]
        if plan.goal == "determined":
            return [
                (f"{again} --goal leverage", "firmer, for an additive model fitted to noisy answers"),
                (f"{again} --goal variance", "for a network or kernel"),
            ]
        return [(f"{again} --goal pairs", "see every pair of values together")] if plan.goal != "pairs" else []
    replayed = len(plan.support) >= 5 and plan.goal != "balance" and not plan.support.space.set_factors
    return extend_command(
        plan,
        "plan",
        ("--report -r", "--report plan.html", "see the curve and the whole list"),
        ("--out -o", "--out plan", "save the whole list"),
        ("--replay", "--replay", "see how this order would have done on the table's own past") if replayed else None,
    )


def _without_goal(command: str) -> str:
    """The command without its goal and what belongs to it, so that another can be named."""
    words = [word for word in shlex.split(command) if word not in ("--replay", "--json")]
    for name in ("--goal", "-g", "--salience", "-s", "--ridge", "--report", "-r", "--out", "-o", "--fail-under"):
        if name in words:
            place = words.index(name)
            del words[place : place + 2]
    return options.pasted([word for word in words if not word.startswith("--goal=")])
