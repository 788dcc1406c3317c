"""How help is drawn: what a command asks, its options with their defaults, and examples that can be pasted.

Typer draws help too, and names the types of Python (`<bool>`, `<list[str]>`) differently in each of its versions. Here
an option says what stands behind it in a word, a flag says nothing, and every page ends with examples.

The examples at the end of every help page, by command; tests run those of the table verbs on the demo's table.

A command of another package adds its own when it is loaded: `EXAMPLES |= {"mine": ((line, why), …)}`.
"""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from recombine.base.errors import SettingError
from recombine.cli.table_options import FIRST_PANEL
from recombine.cli.terminal import console_for

Lines = tuple[tuple[str, str], ...]

_ASK = "products.csv --factors material,garment"

EXAMPLES: dict[str, Lines] = {
    "": (
        ("recombine demo", "a small made-up table, to try things on"),
        ("recombine audit products.csv", "what its columns look like, and the command that audits it"),
        (f"recombine audit {_ASK} --target label", "which combinations are missing, and which follow from the rest"),
        ("recombine --install-completion", "let the Tab key complete commands, options and columns"),
    ),
    "audit": (
        ("recombine audit products.csv", "no factors yet: what the columns look like, and what to type"),
        (f"recombine audit {_ASK} --target label --report audit.html", "the verdict, and a page to look at"),
        (f"recombine audit {_ASK} --fail-under determined=0.95", "a gate for CI: exit 3 where it fails"),
    ),
    "predict": (
        (f"recombine predict {_ASK} --target label", "what networks would answer for the unseen ones"),
        (f"recombine predict {_ASK} --target label --model relu:1 --symbols", "for a network of one hidden layer"),
    ),
    "rehearse": (
        (f"recombine rehearse {_ASK} --target label", "a network of three hidden layers, trained anew five times"),
        (f"recombine rehearse {_ASK} --target label --learner additive", "a simpler learner, in a moment"),
    ),
    "plan": (
        (f"recombine plan {_ASK}", "what to collect, so that all combinations can be worked out"),
        (f"recombine plan {_ASK} --goal pairs --budget 10", "the ten that add most pairs of values"),
    ),
    "split": (
        (f"recombine split {_ASK} --out held.parquet", "hold out a fifth of the combinations"),
        (f"recombine split {_ASK} --hold material=silk,garment=coat --out one.csv", "hold out this very one"),
        (f"recombine split {_ASK} --by kfold --folds 4 --guarantee none --out folds.parquet", "four folds"),
    ),
    "lint": (
        ("recombine lint held.parquet --factors material,garment", "does its column `split` hold out combinations?"),
        ("recombine lint --train train.csv --test test.csv --factors material,garment", "the sides as two tables"),
    ),
    "evaluate": (
        (
            "recombine evaluate answers.csv --factors material,garment --target label --prediction guess --split split",
            "seen and unseen combinations apart",
        ),
        (
            "recombine evaluate answers.csv --factors material,garment --target label --prediction guess "
            "--train products.csv --fail-under unseen=0.8",
            "a gate for CI on the unseen ones",
        ),
    ),
    "diff": (
        ("recombine diff march april", "two folders that `recombine audit … --out FOLDER` wrote"),
        ("recombine diff march april --fail-on worse --report diff.html", "a gate for CI: exit 3 if it got worse"),
    ),
    "doctor": (
        ("recombine doctor", "what is installed, and what each extra would add"),
        ("recombine doctor postgresql://localhost/shop --table products", "whether a server answers"),
    ),
    "mcp": (
        ("recombine mcp data", "an assistant may ask about the tables below data"),
        ("recombine mcp data --out pages --time-limit 60", "and have pages written to a folder"),
    ),
    "demo": (
        ("recombine demo", "write products.csv"),
        ("recombine demo other.csv --seed 1", "another table, to another file"),
    ),
}


_WIDEST = 100
_STANDS_FOR = {
    "N": "draws folds order pack retries rounds rows rows-per-combination seed workers",
    "WORD": "better by expect goal guarantee keep-code kernel loss missing preset",
    "COLUMN": "id prediction split strata target weight",
    "TABLE": "against data test train unlabelled validation",
    "NUMBER": "atom-limit budget num-gpus ridge width",
    "SHARE": "class-tolerance confidence seen-elements seen-score seen-share share trained-sets",
    "VALUES": "control hold test-side through train-side validation-side",
    "COLUMNS": "cold exchangeable factors inputs",
    "FILE": "cost impossible impossible-out matrix",
    "NAME": "column table",
    "PLACE": "out store",
    "ADDRESS": "address",
    "AGE": "older",
    "COLUMN=BINS": "bins",
    "COLUMN=COST": "change-over",
    "COLUMN=VALUES": "domain",
    "TEXT": "concepts pattern",
    "CONDITION": "where",
    "FILE.html": "report",
    "FOLDER": "theory",
    "FORM[=FILE]": "format",
    "KEY": "run",
    "KIND": "target-kind",
    "LEARNER": "learner",
    "LIMIT": "at",
    "LIMITS": "hole",
    "MODEL": "model",
    "MODULE": "trust",
    "NAME=COLUMNS": "set",
    "NAME=SHARE": "fail-under",
    "NAMES": "metric",
    "SCORE": "score",
    "SECONDS": "time-limit",
    "SIZE": "memory-limit",
    "TRUTH": "truth",
    "WEIGHTS": "salience",
    "WORDS": "status",
    "worse": "fail-on",
}
"""What stands behind an option, in a word, and the options that it stands behind; a test finds one that has none."""
_WORDS = {f"--{option}": word for word, options in _STANDS_FOR.items() for option in options.split()}

_OF_TYPER = {
    "--install-completion": "Let the Tab key complete commands, options and columns, in the shell that this runs in.",
    "--show-completion": "Print what --install-completion would install; or of a shell that you name: bash, zsh, fish.",
    "--help": "Show this help and stop.",
}
"""What options say that Typer adds."""


class Command(TyperCommand):
    """A command whose help is drawn here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - it is Click's to call
        """Draw the help."""
        draw(self, ctx)


class CommandGroup(TyperGroup):
    """Commands under one word, whose help is drawn here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - it is Click's to call
        """Draw the help."""
        draw(self, ctx)


def draw(command: Any, ctx: Any) -> None:
    """The help of a command or a group."""
    console = console_for()
    width = min(console.width, _WIDEST)
    words = _words(ctx)
    params = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in params if one.param_type_name == "argument"]
    commands = _commands(command, ctx)
    behind = ["COMMAND"] if commands else [_argument(one) for one in arguments]
    console.print(f"\n[bold]Usage:[/] {escape(' '.join([*words, '[OPTIONS]', *behind]))}\n", soft_wrap=True)
    console.print(Padding(escape(" ".join((command.help or "").split())), (0, 2)), width=width)
    _section(console, "Arguments", [(_word(one), _said(one, ctx)) for one in arguments], width)
    _section(console, "Commands", commands, width)
    panels = _panels([one for one in params if one not in arguments])
    rows = {title: [_option(one, ctx) for one in options] for title, options in panels.items()}
    column = max(len(name) for lines in rows.values() for name, _ in lines)
    for title, lines in rows.items():
        _section(console, title, lines, width, column=column)
    _examples(console, words)


def _panels(params: list[Any]) -> dict[str, list[Any]]:
    """Options by their heading, those first that people use first; `--help`, which has no heading, stands last."""
    found: dict[str, list[Any]] = {FIRST_PANEL: []}
    for one in params:
        heading = getattr(one, "rich_help_panel", None)  # with the oldest Typer `--help` is an option of click's
        found.setdefault(heading or (list(found)[-1] if found[FIRST_PANEL] else "Options"), []).append(one)
    return found


def _words(ctx: Any) -> list[str]:
    """The command as it is typed, by whatever name it was started."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return ["recombine", *words]


def _commands(command: Any, ctx: Any) -> list[tuple[str, str]]:
    """The commands under a word, each with what it asks; of one that cannot be imported, why."""
    if not isinstance(command, TyperGroup):
        return []
    lines = []
    for name in command.list_commands(ctx):
        try:
            one = command.get_command(ctx, name)
        except SettingError as error:
            lines.append((name, f"[yellow]{escape(' '.join(error.why.split()))}[/]"))
            continue
        if one and not one.hidden:
            lines.append((name, escape(" ".join((one.help or "").split()))))
    return lines


def _word(argument: Any) -> str:
    return str(argument.metavar or argument.name).upper().strip("[].")


def _argument(argument: Any) -> str:
    word = _word(argument) + ("..." if argument.nargs != 1 else "")
    return word if argument.required else f"[{word}]"


def _option(option: Any, ctx: Any) -> tuple[str, str]:
    """`-t, --target COLUMN`; a flag that can be turned off shows both of its names."""
    short = [name for name in option.opts if not name.startswith("--")]
    long = [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
    behind = "" if option.is_flag else f" {_WORDS.get(long[0], 'VALUE')}"
    before = f"{short[0]}, " if short else "    "
    return f"{before}{'/'.join(long)}{behind}", _said(option, ctx)


def _said(param: Any, ctx: Any) -> str:
    said = escape(_OF_TYPER.get(param.opts[0]) or _OF_TYPER.get(param.opts[-1]) or param.help or "")
    default = _default(param, ctx)
    return f"{said} [dim]{escape(f'[default: {default}]')}[/]" if default else said


def _default(param: Any, ctx: Any) -> str:
    """What holds if nothing is said; what is off, none or empty goes without saying."""
    default = param.get_default(ctx, call=False)
    if getattr(param, "is_flag", False):
        return param.opts[0].lstrip("-") if default is True and param.secondary_opts else ""
    if default is None or default is False or default in ([], (), ""):
        return ""
    number = isinstance(default, int | float) and not isinstance(default, bool)
    return f"{default:g}" if number else str(default)


def _section(console: Console, title: str, rows: list[tuple[str, str]], width: int, *, column: int = 0) -> None:
    """A heading and its lines; `column` is the width of the names, where several sections stand in line."""
    if not rows:
        return
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    most = min(34, width // 2 - 6)
    table.add_column(min_width=min(column, most), max_width=most, no_wrap=False, overflow="fold")
    table.add_column()
    for name, said in rows:
        table.add_row(f"[bold]{escape(name)}[/]", said)
    console.print(f"\n[bold]{title}[/]")
    console.print(Padding(table, (0, 2)), width=width)


def _examples(console: Console, words: list[str]) -> None:
    found = EXAMPLES.get(" ".join(words[1:]), ())
    if found:
        console.print("\n[bold]Examples[/]")
    for line, why in found:
        console.print(f"  {escape(line)}", soft_wrap=True)
        console.print(f"      [dim]{escape(why)}[/]", soft_wrap=True)
