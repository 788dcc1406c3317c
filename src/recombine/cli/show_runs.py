"""What `recombine runs` prints: the answer first, then a table, then what to do next."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from recombine.cli import options
from recombine.cli.show import console_for, next_commands, short
from recombine.words import amount, listing, measure

_SIGN = {"finished": "default", "diverged": "yellow", "failed": "red", "damaged": "bold red"}
_NAMES = ("task", "split", "model")
_MOST = 200
_REASONS = 5
_SHORT = 8


def listed(place: str, found: Sequence[Any], metrics: Sequence[str], *, everything: bool, filtered: bool) -> None:
    """The runs of a store, a line each; what is the same for all of them is said once."""
    from recombine.runs.listing import common, differing  # noqa: PLC0415 - it brings Arrow

    console = console_for()
    console.print()
    console.print(Padding(f"[bold]{escape(_tally(found, filtered=filtered))}[/]", (0, 2)))
    if not found:
        console.print()
        return
    apart = differing(found)
    _said_once(console, common(found), {line.code for line in found if line.code})
    console.print()
    console.print(_lines(found if everything else found[:_MOST], apart, metrics))
    if not everything and len(found) > _MOST:
        console.print(f"  … {len(found) - _MOST:,} more: --all shows every line, --where fewer")
    _reasons(console, [line for line in found if line.status != "finished" and line.reason])
    next_commands(console, _after_list(place, found, apart))


def one(run: Any, files: Sequence[str], *, place: str, folder: Path | None) -> None:
    """One run with its settings, its scores and its files."""
    console = console_for()
    console.print()
    steps = f"after {amount(run.steps, 'step')} in {measure(run.seconds)} s"
    why = f": {run.reason}" if run.reason else ""
    console.print(Padding(f"[bold]Run {run.key} {run.status} {steps}{escape(why)}.[/]", (0, 2)))
    console.print()
    console.print(_asked(run.configuration))
    console.print()
    console.print(_pairs({name: _number(value) for name, value in run.metrics.items()}))
    console.print()
    console.print(_pairs({"files": ", ".join(files), "made": run.provenance.created}))
    next_commands(console, _after_show(run, place=place, folder=folder))


def failed(found: Sequence[Any]) -> None:
    """A run that has only failed so far: each attempt and its reason."""
    console = console_for()
    first = found[0]
    console.print()
    console.print(Padding(f"[bold]Run {first.key} failed in {amount(len(found), 'attempt')}.[/]", (0, 2)))
    console.print()
    console.print(_asked(first.configuration))
    console.print()
    console.print(_pairs({f"attempt {one.attempt}": f"{one.created}  {one.reason}" for one in found}))
    console.print()


def compared(made: Any, found: Sequence[Any]) -> None:
    """Groups of runs, every seed shown."""
    from recombine.runs.listing import common  # noqa: PLC0415 - it brings Arrow

    console = console_for()
    width = min(console.width, 100)
    console.print()
    console.print(Padding(f"[bold]{escape(_answer(made))}[/]", (0, 2)), width=width)
    _said_once(console, common(found), {line.code for line in found if line.code})
    console.print()
    console.print(_groups(made))
    if made.mixed:
        told = listing([f"{name} ({', '.join(map(_written, values))})" for name, values in made.mixed.items()])
        warning = f"Within a group not only the seed differs: {told}. Add it to --by, or choose with --where."
        console.print()
        console.print(Padding(f"[yellow]{escape(warning)}[/]", (0, 2)), width=width)
    console.print()


def for_machines(made: Any) -> dict[str, Any]:
    """A comparison as plain data."""
    groups = [
        {
            "settings": dict(group.settings),
            "runs": [{"key": line.key, "seed": line.seed, "status": line.status} for line in group.lines],
            "metrics": {name: _spread(group.spread(name)) for name in made.metrics},
        }
        for group in made.groups
    ]
    return {"groups": groups, "mixed": {name: list(values) for name, values in made.mixed.items()}}


def pruned(found: Sequence[Any], *, done: bool) -> None:
    """What was removed, or what could be."""
    console = console_for()
    console.print()
    size = _bytes(sum(one.size for one in found))
    if not found:
        sentence = "There is nothing to remove."
    elif done:
        sentence = f"Removed {amount(len(found), 'thing')}, {size}."
    else:
        sentence = f"{amount(len(found), 'thing')} could be removed, {size}. Nothing was removed yet."
    console.print(Padding(f"[bold]{sentence}[/]", (0, 2)))
    console.print()
    table = _table("", "", "", "")
    table.show_header = False
    for one in found[:_MOST]:
        table.add_row(one.kind, escape(one.name), _bytes(one.size), escape(short(one.why)))
    if found:
        console.print(table)
    if len(found) > _MOST:
        console.print(f"  … {len(found) - _MOST:,} more: --json names all")
    next_commands(console, [] if done or not found else [(f"{options.command_line()} --yes", "remove them")])


def _tally(found: Sequence[Any], *, filtered: bool) -> str:
    if not found:
        return "No run fulfils the conditions." if filtered else "The store holds no runs yet."
    counts = Counter(line.status for line in found)
    ends = [f"{counts[status]:,} {status}" for status in _SIGN if counts[status]]
    return f"{amount(len(found), 'run')}: {listing(ends)}."


def _said_once(console: Any, settings: Mapping[str, Any], codes: set[str]) -> None:
    """What is the same for all runs."""
    told = dict(settings) | ({"code": next(iter(codes))} if len(codes) == 1 else {})
    if told:
        console.print()
        console.print(Padding("[dim]The same for all:[/]", (0, 2)))
        console.print(_by_part(told))


def _asked(configuration: Any) -> Table:
    from recombine.runs.listing import flat  # noqa: PLC0415 - it brings Arrow

    return _by_part(flat(configuration) | {"seed": configuration.seed, "code": configuration.code})


def _by_part(settings: Mapping[str, Any]) -> Table:
    """Settings with a line for each part: `model  mlp  width=16`."""
    parts: dict[str, list[str]] = {}
    for name, value in settings.items():
        part, _, setting = name.partition(".")
        parts.setdefault(part, []).append(f"{setting}={_written(value)}" if setting else _written(value))
    return _pairs({part: "  ".join(told) for part, told in parts.items()})


def _lines(found: Sequence[Any], apart: Sequence[str], metrics: Sequence[str]) -> Table:
    named = [name for name in _NAMES if name in apart]
    others = [name for name in apart if name not in named]
    codes = len({line.code for line in found if line.code}) > 1
    table = _table("key", *named, *(["settings"] if others else []), *(["code"] if codes else []))
    for name in ("seed", "status", *metrics, "when"):
        table.add_column(escape(name), no_wrap=name != "status", justify="right" if name in metrics else "left")
    for line in found:
        settings = ", ".join(f"{name}={_written(line.settings.get(name))}" for name in others)
        table.add_row(
            line.key[:_SHORT],
            *(escape(_written(line.settings.get(name))) for name in named),
            *([escape(settings)] if others else []),
            *([escape(line.code or "")] if codes else []),
            "" if line.seed is None else str(line.seed),
            f"[{_SIGN[line.status]}]{line.status}[/]",
            *("" if line.status == "damaged" else _number(line.metrics.get(name)) for name in metrics),
            (line.created or "")[:16].replace("T", " "),
        )
    return table


def _reasons(console: Any, found: Sequence[Any]) -> None:
    if found:
        console.print()
    for line in found[:_REASONS]:
        console.print(f"  {line.key[:_SHORT]}  {line.status}: {escape(str(line.reason))}", soft_wrap=True)
    if len(found) > _REASONS:
        console.print(f"  … {len(found) - _REASONS:,} more with a reason: --json names all")


def _groups(made: Any) -> Table:
    names = list(made.groups[0].settings)
    table = _table(*names or ["group"], "measured")
    for name in ("runs", "median", "least", "most"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("every seed")
    for group in made.groups:
        titles = [escape(_written(value)) for value in group.settings.values()] or ["all"]
        for place, name in enumerate(made.metrics):
            spread = group.spread(name)
            seeds = [
                f"{line.seed}: {_seed(line, value)}" for line, value in zip(group.lines, spread.values, strict=True)
            ]
            known = f"{len(spread.known)} of {len(spread.values)}"
            middle = (known, *map(_number, (spread.median, spread.low, spread.high)))
            table.add_row(*(titles if not place else [""] * len(titles)), escape(name), *middle, "  ".join(seeds))
    return table


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
    apart = "every seed of it above every seed of" if best.low > next_best.high else "but their seeds overlap with"
    lost = f" Of the best {best.missing} of {len(best.values)} runs have no score." if best.missing else ""
    return (
        f"{groups} The best median of {metric} has {_titled(first)}: {_number(best.median)}, "
        f"{apart} {_titled(second)} ({_number(next_best.median)}).{lost}"
    )


def _titled(group: Any) -> str:
    return ", ".join(f"{name}={_written(value)}" for name, value in group.settings.items())


def _spread(spread: Any) -> dict[str, Any]:
    return {
        "values": list(spread.values),
        "median": spread.median,
        "least": spread.low,
        "most": spread.high,
        "missing": spread.missing,
    }


def _after_list(place: str, found: Sequence[Any], apart: Sequence[str]) -> list[tuple[str, str]]:
    sound = [line for line in found if line.status != "damaged"]
    names = [name for name in (*_NAMES, *apart) if name in apart] or ["model"]
    by = ",".join(dict.fromkeys(names[:2]))
    lines = [
        (options.pasted(["recombine", "runs", "show", place, line.key[:_SHORT]]), "one of them") for line in sound[:1]
    ]
    if len(sound) > 1:
        lines.append((options.pasted(["recombine", "runs", "compare", place, "--by", by]), "every seed side by side"))
    if len(sound) < len(found):
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
    return [
        (options.pasted([*words, "--train", str(folder / "support.parquet")]), "how it held on unseen combinations"),
        (options.pasted(audit), "what its training examples determine"),
    ]


def _pairs(pairs: Mapping[str, str]) -> Table:
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
