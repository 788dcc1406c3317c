"""`recombine split`: the table with a column that tells the side, and a manifest beside it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import recombine
from recombine.base.errors import SettingError
from recombine.base.words import json_text, percent
from recombine.cli import gates, options, proposal, split_options, table_options
from recombine.cli.options import quoted
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, lead, next_commands, number_table, reasons, say
from recombine.verbs.split.destinations import place_beside


@takes_groups(
    first=("factors", "out", "by", "share", "seed"),
    own="What is held out",
    panels={"Writing the result": ("column", "force", "as_json")},
)
def split(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Where to write: FILE.parquet, .csv, .json (ids by side), a folder. Required."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="What is held out: combinations, conjunctions, simulation (of sets), kfold, donut, corner, diagonal, "
            "planes, divergence. Without it: combinations, or conjunctions with --hold."
        ),
    ] = None,
    share: Annotated[float | None, typer.Option(help="The share that is held out; 0.2 if nothing is said.")] = None,
    guarantee: Annotated[
        str | None,
        typer.Option(
            help="What training keeps: values, determined (of combinations), or none. Else: values; of folds none."
        ),
    ] = None,
    strata: Annotated[str | None, typer.Option(help="The column of classes whose shares the sides keep.")] = None,
    hold: Annotated[
        table_options.Many,
        typer.Option("--hold", help='A conjunction to hold out: "colour=red,shape=square"; or how many.'),
    ] = [],  # noqa: B006
    order: Annotated[
        int | None, typer.Option(help="How many values a drawn conjunction holds; 2 if nothing is said.")
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many folds, with --by kfold; 5 if nothing is said.")] = None,
    hole: Annotated[table_options.Many, typer.Option("--hole", help="Limits of a donut's hole: 6,22 or x=6,22.")] = [],  # noqa: B006
    at: Annotated[table_options.Many, typer.Option("--at", help="Where a corner begins: 12 or x=12.")] = [],  # noqa: B006
    width: Annotated[float | None, typer.Option(help="How wide a diagonal's band is, of 1.")] = None,
    through: Annotated[
        table_options.Many, typer.Option("--through", help='A combination whose planes training keeps: "x=0,y=0".')
    ] = [],  # noqa: B006
    atom_limit: Annotated[
        float | None,
        typer.Option(help="How far the values' own shares may differ, with --by divergence; 0.02 if nothing is said."),
    ] = None,
    seen_elements: Annotated[
        float | None,
        typer.Option(help="The share of elements drawn as seen, with --by simulation; 0.75 if nothing is said."),
    ] = None,
    trained_sets: Annotated[
        float | None,
        typer.Option(
            help="The share of larger sets of seen elements that are trained on, with --by simulation; 0.75 if nothing "
            "is said."
        ),
    ] = None,
    seen_share: Annotated[
        float | None,
        typer.Option(
            help="Training rows kept apart as 'seen', to compare seen and unseen scores: default 0.1, 0 for none."
        ),
    ] = None,
    identity: Annotated[str | None, typer.Option("--id", help="The column that tells rows apart.")] = None,
    column: Annotated[
        str | None, typer.Option(help="The new column's name: split, or fold, if nothing is said.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What is drawn; 0 if nothing is said.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: table_options.AsJson = False,
    *,
    reading: table_options.RowOptions,
) -> None:
    """Hold out combinations honestly: write the table with a split column, and a manifest that can be checked."""
    if not options.names(factors) and not reading.has_sets:
        proposal.refuse("split", source, reading, as_json=as_json, given=[strata, identity])
    if out is None:
        raise SettingError(
            "--out is missing",
            why="a split is written to a file of its own",
            instead="write for example --out held.parquet",
        )
    chosen = by or ("conjunctions" if hold else "combinations")
    only_for_seen = bool(seen_share) and "random_state" not in split_options.known(chosen)
    settings = {
        "test_size": share,
        "guarantee": guarantee,
        "stratify": strata,
        "conjunctions": split_options.held(hold),
        "order": order,
        "n_splits": folds,
        "hole": split_options.limits("--hole", hole, pairs=True),
        "at": split_options.limits("--at", at, pairs=False),
        "width": width,
        "through": split_options.through(through),
        "atom_limit": atom_limit,
        "seen_elements": seen_elements,
        "trained_sets": trained_sets,
        "random_state": None if only_for_seen else seed,
    }
    with split_options.as_options(), Watch("splitting") as watch:
        made = recombine.split(
            source,
            factors=options.names(factors),
            by=split_options.splitter(chosen, settings),
            out=out,
            column=column,
            seen_share=seen_share,
            id=identity,
            seed=seed or 0,
            force=force,
            progress=watch.step,
            **reading.settings(),
        )
    if as_json:
        say(json_text(gates.told(made.record())))
    else:
        summary(made, out)


def summary(split: "recombine.Split", out: Path) -> None:
    """The split on one screen."""
    console = console_for()
    lead(console, split)
    sides = []
    for side in split.sides:
        share = percent(side.rows / split.rows) if split.rows else ""
        name = f"fold {side.name}" if side.name.isdigit() else side.name
        sides.append((f"[bold]{name}[/]", f"{side.rows:,} rows", share, f"{side.combinations:,} combinations"))
    sides += [(f"  {one.name}", f"{one.rows:,} rows", "", f"{one.combinations:,} combinations") for one in split.rungs]
    table = number_table(("", ">", ">", ""), sides)
    table.show_header = False
    console.print(table)
    for reason in split.reasons:
        console.print()
        console.print(reasons([reason]))
    console.print()
    for path in (out, place_beside(out)):
        console.print(f"  wrote  {escape(str(path))}", soft_wrap=True)
    next_commands(console, _next(split, out))


def _next(split: "recombine.Split", out: Path) -> list[tuple[str, str]]:
    if out.suffix.lower() == ".json":  # lists of ids are no table
        return []
    asked = f"{quoted(str(out))} {options.read_from_words(split.factors, split.provenance.settings.get('sets', {}))}"
    column = "" if split.column == "split" else f" --split {quoted(split.column)}"
    lint = f"recombine lint {asked}{column}"
    folds = [side.name for side in split.sides if side.name.isdigit()]
    if folds:
        return [_next_of_folds(split, lint, folds)]
    where = quoted(f"{options.in_sql(split.column)} = 'train'")
    if split.takes_away:
        lint += " --expect rows"
    return [
        (lint, "check it, now or in CI"),
        (f"recombine audit {asked} --where {where}", "what training still tells"),
    ]


def _next_of_folds(split: "recombine.Split", lint: str, folds: list[str]) -> tuple[str, str]:
    """The check of a fold: the first that leaves every value in training, as another could not pass as it stands."""
    lost = split.takes_away
    test = next((fold for fold in folds if fold not in lost), folds[0])
    train = ",".join(fold for fold in folds if fold != test)
    sides = f"{lint} --train-side {train} --test-side {test}"
    if test in lost:
        return f"{sides} --expect rows", "check a fold; every fold takes values out of training"
    return sides, f"check fold {test}" + ("; a fold that takes a value away would fail" if lost else ", and so on")
