"""What `recombine runs` prints: the answer first, then a table, then what to do next."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recombine.base.words import amount, listing, measure
from recombine.cli import options
from recombine.cli.terminal import console_for, next_commands, short

_SIGN = {"finished": "default", "diverged": "yellow", "failed": "red", "damaged": "bold red", "other version": "yellow"}
_NAMES = ("task", "split", "model")
_MOST = 200
_REASONS = 5
_SHORT = 8
_WIDEST = 10_000
_TIED = "\u00a0"
_Section = tuple[str, list[list[str]], list[str]]
_NOTHING = "those without such a setting"


def print_runs(place: str, lines: Sequence[Any], metrics: Sequence[str], *, everything: bool, filtered: bool) -> None:
    """The runs of a store, a line each; what is the same for all of them is said once."""
    from recombine_lab.runs.run_list import varying_settings  # noqa: PLC0415 - it brings Arrow

    console = console_for()
    console.print()
    if not lines:
        verdict = "No run fulfils the conditions." if filtered else "The store holds no runs yet."
    else:
        counts = Counter(line.status for line in lines)
        ends = [f"{counts[status]:,} {status}" for status in _SIGN if counts[status]]
        verdict = f"{amount(len(lines), 'run')}: {listing(ends)}."
    console.print(Padding(f"[bold]{verdict}[/]", (0, 2)))
    if not lines:
        console.print()
        return
    _print_common(console, lines)
    console.print()
    _print_lines(console, lines if everything else lines[:_MOST], metrics)
    if not everything and len(lines) > _MOST:
        console.print(f"  … {len(lines) - _MOST:,} more: --all shows every line, --where fewer")
    _print_reasons(console, [line for line in lines if line.status != "finished" and line.reason])
    next_commands(console, _after_list(place, lines, list(varying_settings(lines))))


def print_run(run: Any, files: Sequence[str], *, place: str, folder: Path | None) -> None:
    """One run with its settings, its scores and its files."""
    console = console_for()
    console.print()
    steps = f"after {amount(run.steps, 'step')} in {measure(run.seconds)} s"
    why = f": {run.reason}" if run.reason else ""
    console.print(Padding(f"[bold]Run {run.key} {run.status} {steps}{escape(why)}.[/]", (0, 2)))
    console.print()
    console.print(_configured(run.configuration))
    console.print()
    console.print(pairs_table({name: _number(value) for name, value in run.metrics.items()}))
    console.print()
    console.print(pairs_table({"files": ", ".join(files), "made": run.provenance.created}))
    next_commands(console, _after_show(run, place=place, folder=folder))


def print_failures(failures: Sequence[Any]) -> None:
    """A run that has only failed so far: each attempt and its reason."""
    console = console_for()
    first = failures[0]
    console.print()
    console.print(Padding(f"[bold]Run {first.key} failed in {amount(len(failures), 'attempt')}.[/]", (0, 2)))
    console.print()
    console.print(_configured(first.configuration))
    console.print()
    console.print(pairs_table({f"attempt {one.attempt}": f"{one.created}  {one.reason}" for one in failures}))
    console.print()


def print_comparison(made: Any, lines: Sequence[Any]) -> None:
    """Groups of runs, every seed shown."""
    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold]{escape(_answer(made))}[/]", (0, 2)), width=width)
    _print_common(console, lines)
    console.print()
    _print_groups(console, made)
    if made.mixed:
        mixed = listing([f"{name} ({', '.join(map(_written, values))})" for name, values in made.mixed.items()])
        warning = f"Within a group not only the seed differs: {mixed}. Add it to --by, or choose with --where."
        console.print()
        console.print(Padding(f"[yellow]{escape(warning)}[/]", (0, 2)), width=width)
    console.print()


def comparison_json(made: Any) -> dict[str, Any]:
    """A comparison as plain data."""
    groups = []
    for group in made.groups:
        spreads = {name: group.spread(name) for name in made.metrics}
        metrics = {
            name: {"values": [*one.values], "median": one.median, "least": one.low, "most": one.high}
            | {"missing": one.missing}
            for name, one in spreads.items()
        }
        runs = [{"key": line.key, "seed": line.seed, "status": line.status} for line in group.lines]
        groups.append({"settings": dict(group.settings), "runs": runs, "metrics": metrics})
    return {"groups": groups, "mixed": {name: list(values) for name, values in made.mixed.items()}}


def print_removals(things: Sequence[Any], *, done: bool) -> None:
    """What was removed, or what could be."""
    console = console_for()
    console.print()
    size = _bytes(sum(one.size for one in things))
    if not things:
        sentence = "There is nothing to remove."
    elif done:
        sentence = f"Removed {amount(len(things), 'thing')}, {size}."
    else:
        sentence = f"{amount(len(things), 'thing')} could be removed, {size}. Nothing was removed yet."
    console.print(Padding(f"[bold]{sentence}[/]", (0, 2)))
    console.print()
    table = _table("", "", "", "")
    table.show_header = False
    for one in things[:_MOST]:
        table.add_row(one.kind, escape(one.name), _bytes(one.size), escape(short(one.why)))
    if things:
        console.print(table)
    if len(things) > _MOST:
        console.print(f"  … {len(things) - _MOST:,} more: --json names all")
    next_commands(console, [] if done or not things else [(f"{options.command_line()} --yes", "remove them")])


def _print_common(console: Any, lines: Sequence[Any]) -> None:
    """What is the same for all runs."""
    from recombine_lab.runs.run_list import common_settings  # noqa: PLC0415 - it brings Arrow

    codes = {line.code for line in lines if line.code}
    settings = common_settings(lines) | ({"code": codes.pop()} if len(codes) == 1 else {})
    if settings:
        console.print()
        console.print(Padding("[dim]The same for all:[/]", (0, 2)))
        console.print(_by_part(settings))


def _configured(configuration: Any) -> Table:
    return _by_part(configuration.flat() | {"seed": configuration.seed, "code": configuration.code})


def _by_part(settings: Mapping[str, Any]) -> Table:
    """Settings with a line for each part: `model  mlp  width=16`."""
    parts: dict[str, list[str]] = {}
    for name, value in settings.items():
        part, _, setting = name.partition(".")
        parts.setdefault(part, []).append(f"{setting}={_written(value)}" if setting else _written(value))
    return pairs_table({part: "  ".join(written) for part, written in parts.items()})


def _print_lines(console: Any, lines: Sequence[Any], metrics: Sequence[str]) -> None:
    """A line for each run; where that is too wide, what sets runs apart stands above them instead of beside."""
    from recombine_lab.runs.run_comparison import what_differs  # noqa: PLC0415 - it brings Arrow

    differing = what_differs(lines)
    rows = [_row(line, metrics) for line in lines]
    names, titles = _titles(differing)
    ends = ("seed", "status", *metrics, "when")
    table = _table("key", *names)
    for name in ends:
        table.add_column(escape(name), no_wrap=True, justify="right" if name in metrics else "left")
    for (key, *row), title in zip(rows, titles, strict=True):
        table.add_row(key, *title, *row)
    if _fits(console, table):
        console.print(table)
        return
    together = groupby(zip(differing, rows, strict=True), key=lambda pair: pair[0])
    sections: list[_Section] = [(_title(settings), [row for _, row in pairs], []) for settings, pairs in together]
    _stacked(console, ["key", *ends], sections, right=set(metrics))


def _row(line: Any, metrics: Sequence[str]) -> list[str]:
    """A run's key, its seed, how it ended, its scores, when; a score that it was never to have is left open."""
    known = [name for name in metrics if line.status != "damaged" and (name in line.metrics or not line.metrics)]
    return [
        line.key[:_SHORT],
        "" if line.seed is None else str(line.seed),
        f"[{_SIGN[line.status]}]{line.status}[/]",
        *(_number(line.metrics.get(name)) if name in known else "" for name in metrics),
        (line.created or "")[:16].replace("T", " "),
    ]


def _titles(differing: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """What sets runs apart as columns: one for each name, and one for all settings."""
    names = [name for name in _NAMES if any(name in settings for settings in differing)]
    others = any(set(settings) - set(names) for settings in differing)
    cells = [
        [escape(_written(settings[name])) if name in settings else "" for name in names]
        + ([escape(_settings(settings))] if others else [])
        for settings in differing
    ]
    return [*names, *(["settings"] if others else [])], cells


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_written(value)}" for name, value in settings.items() if name not in _NAMES)


def _title(settings: Mapping[str, Any]) -> str:
    """What sets runs apart, in one line: `addition · mlp · model.hidden=[8]`."""
    names = [_written(settings[name]) for name in _NAMES if name in settings]
    return " · ".join(filter(None, [*names, _settings(settings)]))


def _fits(console: Any, table: Table) -> bool:
    """Whether a table can be shown with nothing cut or wrapped."""
    return bool(console.measure(table, options=console.options.update_width(_WIDEST)).maximum <= console.width)


def _stacked(console: Any, names: Sequence[str], sections: Sequence[_Section], *, right: set[str]) -> None:
    """Rows below titles, the columns of all of them aligned; after the rows of each title its notes."""
    heads = [name.rpartition(".") for name in names]
    head = [[before + dot for before, dot, _ in heads], [after for _, _, after in heads]]
    every = [*head, *(row for _, rows, _ in sections for row in rows)]
    widths = [max(Text.from_markup(cell).cell_len for cell in column) for column in zip(*every, strict=True)]

    def line(row: Sequence[str], style: str = "") -> Padding:
        cells = [Text.from_markup(cell, style=style) for cell in row]
        for cell, width, name in zip(cells, widths, names, strict=True):
            cell.align("right" if name in right else "left", width)
        return Padding(Text("  ").join(cells), (0, 0, 0, 2))

    for row in head if any(head[0]) else head[1:]:
        console.print(line([escape(name) for name in row], "bold"))
    for title, rows, notes in sections:
        if title:
            console.print()
            console.print(Padding(f"[bold]{escape(title)}[/]", (0, 2)))
        for row in rows:
            console.print(line(row))
        for note in notes:
            wrapped = fill(note, max(40, console.width - 2), initial_indent="  ", subsequent_indent="    ")
            console.print(escape(wrapped.replace(_TIED, " ")), soft_wrap=True)


def _print_reasons(console: Any, lines: Sequence[Any]) -> None:
    if lines:
        console.print()
    for line in lines[:_REASONS]:
        console.print(f"  {line.key[:_SHORT]}  {line.status}: {escape(str(line.reason))}", soft_wrap=True)
    if len(lines) > _REASONS:
        console.print(f"  … {len(lines) - _REASONS:,} more with a reason: --json names all")


def _print_groups(console: Any, made: Any) -> None:
    """A line for each measurement of each group; where that is too wide, groups and seeds have lines of their own."""
    names, titles = _titles([group.settings for group in made.groups])
    middle = ("measured", "runs", "median", "least", "most")
    table = _table(*names or ["group"])
    for name in middle:
        table.add_column(name, justify="left" if name == "measured" else "right", no_wrap=True)
    table.add_column("every seed", no_wrap=True)
    sections: list[_Section] = []
    for group, title in zip(made.groups, titles, strict=True):
        rows: list[list[str]] = []
        notes: list[str] = []
        known = {name for line in group.lines for name in line.metrics}  # a task may have no unseen part
        for name in [name for name in made.metrics if name in known] or made.metrics:
            row, seeds = _spread_row(group, name)
            table.add_row(
                *((title or ["all"]) if not rows else [""] * max(1, len(title))), *row, escape("  ".join(seeds))
            )
            rows.append(row)
            notes.append(f"every{_TIED}seed, {name}: {'  '.join(seed.replace(' ', _TIED) for seed in seeds)}")
        sections.append((_title(group.settings) or (_NOTHING if names else ""), rows, notes))
    if _fits(console, table):
        console.print(table)
    else:
        _stacked(console, middle, sections, right=set(middle[1:]))


def _spread_row(group: Any, name: str) -> tuple[list[str], list[str]]:
    spread = group.spread(name)
    seeds = [f"{line.seed}: {_seed(line, value)}" for line, value in zip(group.lines, spread.values, strict=True)]
    known = f"{len(spread.known)} of {len(spread.values)}"
    return [escape(name), known, *map(_number, (spread.median, spread.low, spread.high))], seeds


def _seed(line: Any, value: float | None) -> str:
    """What a seed gave; one that did not end well is named even where it gave something."""
    if line.status == "finished":
        return _number(value)
    return line.status if value is None else f"{_number(value)} ({line.status})"


def _answer(made: Any) -> str:
    """Which group is ahead, and whether its worst seed is too."""
    groups = f"{amount(sum(len(group.lines) for group in made.groups), 'run')} in {amount(len(made.groups), 'group')}."
    metric = next((name for name in reversed(made.metrics) if name.endswith(".score")), None)
    ranked = [(group.spread(metric), group) for group in made.groups] if metric else []
    ranked = sorted((pair for pair in ranked if pair[0].known), key=lambda pair: -pair[0].median)
    if len(ranked) < 2:
        return groups
    (best, first), (next_best, second) = ranked[:2]
    if best.median == next_best.median:
        return f"{groups} Two of them have the same median of {metric}."
    if min(len(best.known), len(next_best.known)) < 2:
        return (
            f"{groups} The best {metric} has {_titled(first)}: {_number(best.median)}, before {_titled(second)} "
            f"({_number(next_best.median)}). One run of a group is too few to tell a difference from chance."
        )
    apart = "every seed of it above every seed of" if best.low > next_best.high else "but their seeds overlap with"
    lost = f" Of the best {best.missing} of {len(best.values)} runs have no score." if best.missing else ""
    return (
        f"{groups} The best median of {metric} has {_titled(first)}: {_number(best.median)}, "
        f"{apart} {_titled(second)} ({_number(next_best.median)}).{lost}"
    )


def _titled(group: Any) -> str:
    return ", ".join(f"{name}={_written(value)}" for name, value in group.settings.items()) or _NOTHING


def _after_list(place: str, runs: Sequence[Any], differing: Sequence[str]) -> list[tuple[str, str]]:
    sound = [line for line in runs if line.status not in ("damaged", "other version")]
    names = [name for name in (*_NAMES, *differing) if name in differing] or ["model"]
    by = ",".join(dict.fromkeys(names[:2]))
    lines = [
        (options.pasted(["recombine", "runs", "show", place, line.key[:_SHORT]]), "one of them") for line in sound[:1]
    ]
    if len(sound) > 1:
        lines.append((options.pasted(["recombine", "runs", "compare", place, "--by", by]), "every seed side by side"))
    if any(line.status == "damaged" for line in runs):
        prune = options.pasted(["recombine", "runs", "prune", place, "--status", "damaged"])
        lines.append((prune, "what would be removed, so that it can be trained again"))
    return lines


def _after_show(run: Any, *, place: str, folder: Path | None) -> list[tuple[str, str]]:
    """How to ask the other commands about this run's answers."""
    if folder is None:
        copy = ["recombine", "runs", "show", place, run.key[:_SHORT], "--out", run.key[:_SHORT]]
        return [(options.pasted(copy), "copy its tables, for use with the other commands")]
    predictions, support = run.tables.get("predictions"), run.tables.get("support")
    if predictions is None or support is None:
        return []
    factors = ",".join(name for name in support.column_names if name != "count")
    single = {"target", "prediction"} <= set(predictions.column_names)
    answers = (
        ["--target", "target", "--prediction", "prediction"] if single else ["--score", "error", "--better", "lower"]
    )
    words = ["recombine", "evaluate", str(folder / "predictions.parquet"), "--factors", factors, *answers]
    audit = ["recombine", "audit", str(folder / "support.parquet"), "--factors", factors, "--weight", "count"]
    lines = [
        (options.pasted([*words, "--train", str(folder / "support.parquet")]), "how it held on unseen combinations"),
        (options.pasted(audit), "what its training examples determine"),
    ]
    if "target" in predictions.column_names:
        predict = ["recombine", "predict", words[2], "--factors", factors, "--target", "target"]
        lines.append((options.pasted([*predict, "--where", "part = 'seen'"]), "what a learner would make of them"))
    return lines


def pairs_table(pairs: Mapping[str, str]) -> Table:
    """Names in bold, and beside each its value."""
    table = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in pairs.items():
        table.add_row(escape(name), escape(value))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=True)
    table.add_column(escape(first), style="bold", no_wrap=True)
    for name in others:
        table.add_column(escape(name), overflow="fold")
    return table


def _number(value: float | None) -> str:
    return "none" if value is None else measure(value)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bytes(size: int) -> str:
    """A size as people read it.

    >>> _bytes(900), _bytes(15_000), _bytes(2_500_000)
    ('900 bytes', '15.0 kB', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
