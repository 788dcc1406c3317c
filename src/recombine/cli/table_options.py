"""The options that several commands share, declared once, in groups that a command takes as one value.

A group is a frozen dataclass whose fields are options as Typer reads them, and whose `panel` heads them in the help.
`takes_groups` unfolds the groups in a command's signature into single options, and puts each under its heading.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from recombine.base.errors import SettingError
from recombine.base.limits import limited
from recombine.cli import completion, options
from recombine.data.locations import is_model

Many = list[str]

FIRST_PANEL = "Most used"

Source = Annotated[
    str, typer.Argument(autocompletion=completion.tables, help="A file, glob, folder, s3:// URL or database URI.")
]
Factors = Annotated[
    Many,
    typer.Option(
        "--factors",
        "-f",
        autocompletion=completion.several_columns,
        help="The columns whose combinations matter: a,b,c. Without it: a proposal, and nothing else.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what --out names, if it is a saved result of this kind, and any page.")
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        help="A module of your own, or package.module:name, that the file or store names; may be given several times."
    ),
]


def target_option(what: str) -> Any:
    """`--target`, with what the command makes of that column."""
    return typer.Option("--target", "-t", autocompletion=completion.one_column, help=what)


def gate_option(what: str) -> Any:
    """`--fail-under`, with the shares that the command can be held to."""
    return typer.Option("--fail-under", help=f"{what} Exit 3 below it, 4 without evidence.")


Target = Annotated[str | None, target_option("The column that a model would predict.")]
RequiredTarget = Annotated[str | None, target_option("The column that a model would predict. Required.")]


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Which rows of a table count, and how their values are told apart."""

    panel: ClassVar = "Reading the table"
    sets: Annotated[
        Many,
        typer.Option(
            "--set",
            help="A factor whose value is a set: genes=condition:+ (text) · tools=tools (lists) · drugs=drug_a,drug_b.",
        ),
    ] = field(default_factory=list)
    exchangeable: Annotated[
        Many,
        typer.Option(
            "--exchangeable",
            help="Factors whose values may change places, such as a pair's two drugs: p1,p2. They are read as one set.",
        ),
    ] = field(default_factory=list)
    where: Annotated[str | None, typer.Option("--where", "-w", help="Only rows that fulfil this SQL condition.")] = None
    bins: Annotated[
        Many, typer.Option("--bins", help="How to bin a number or date: age=0,18,65 · price=quantiles:4 · day=month.")
    ] = field(default_factory=list)
    missing: Annotated[
        str, typer.Option("--missing", help="Rows that miss a factor: 'leave out', or keep missing as a 'value'.")
    ] = "leave out"
    table: Annotated[str | None, typer.Option("--table", help="The table, where the source is a database.")] = None
    pattern: Annotated[
        Many,
        typer.Option(
            "--pattern",
            help='Factors in a text: "pick the {object} from the {surface}"; COLUMN=… where several hold such a text.',
        ),
    ] = field(default_factory=list)
    concepts: Annotated[
        str | None,
        typer.Option(
            "--concepts",
            help='Factors in captions: words.txt, with lines "colour: red, blue" and "object: cube"; COLUMN=… where '
            "several hold text; COLUMN alone proposes words.",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the SQL, the bytes it would read, and what would come back.")
    ] = False

    def source(self, given: Any) -> Any:
        """A table's address, or several, with what makes factors of a text in it."""
        if not given or (not self.pattern and self.concepts is None):
            return given
        from recombine.data.text_sources import TextSource  # noqa: PLC0415 - it brings the engines

        several = isinstance(given, list)
        found = [TextSource(one, self.pattern, self.concepts) for one in (given if several else [given])]
        return found if several else found[0]

    @property
    def has_sets(self) -> bool:
        """Whether a factor is a set, so that none has to be named by itself."""
        return bool(self.sets or self.exchangeable)

    def settings(self) -> dict[str, Any]:
        """The options as the library takes them, and the command as it was typed."""
        elsewhere = ("pattern", "concepts", "sets", "exchangeable", "dry_run")
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in elsewhere}
        given |= {"sets": options.sets(self.sets, self.exchangeable)} if self.has_sets else {}
        if "impossible" in given:  # a model that says what could occur says what cannot, too
            given["impossible"] = [*given["impossible"], *filter(is_model, given["domain"])]
        parsed = {name: parse(given[name]) for name, parse in _PARSERS.items() if name in given}
        return given | parsed | {"command": options.command_line()}


@dataclass(frozen=True, kw_only=True)
class SpaceOptions(RowOptions):
    """How a table is read, and which combinations could occur."""

    target_kind: Annotated[
        str | None, typer.Option("--target-kind", help="label or number, where it is not clear.")
    ] = None
    domain: Annotated[
        Many, typer.Option("--domain", help="Values that could occur: size=S,M,L, or a JSON file, or a PICT model.")
    ] = field(default_factory=list)
    impossible: Annotated[
        Many,
        typer.Option(
            "--impossible",
            help="What cannot occur: a CSV of conjunctions (an empty cell means any value), or a rule, "
            'IF os = "iOS" THEN browser = "Safari".',
        ),
    ] = field(default_factory=list)

    @property
    def files(self) -> list[str | Path | None]:
        """The files that these options name, which nothing may be written over."""
        ruled_out = [part for part in self.impossible if not options.is_rule(part)]
        words = (self.concepts or "").rpartition("=")[2].strip()
        return [
            *ruled_out,
            *(part for part in self.domain if part.endswith((".json", ".pict"))),
            *([words] if words.lower().endswith(".txt") else []),
        ]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(SpaceOptions):
    """How a table of examples is read, a row of which may stand for several."""

    weight: Annotated[
        str | None, typer.Option("--weight", help="The column that says how many examples a row stands for.")
    ] = None


_TABLES = ("source", "train", "test", "data")
"""What commands call the tables that their factors stand in."""
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "bins": options.bins,
    "domain": options.domain,
    "impossible": options.impossible,
}


_LIMITS = "limits"


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What a command that reads a table may take."""

    panel: ClassVar = "Limits"
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that it may take: tests that are not done by then are left out, and the verdict says so."
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        typer.Option(help="Memory that it may take, as in 2GB: what does not fit goes to disk, or is refused."),
    ] = None


def takes_groups(
    *, first: Sequence[str], own: str, panels: Mapping[str, Sequence[str]] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Unfold a command's groups of options, so that Typer sees each of them, and sort its help.

    `first` are the parameters that people use first; `own` heads the options that only this command has, unless
    `panels` puts them under a heading of their own.
    """
    headings = {name: heading for heading, names in (panels or {}).items() for name in names}
    headings |= dict.fromkeys(first, FIRST_PANEL)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        groups |= {_LIMITS: LimitOptions} if any(issubclass(one, RowOptions) for one in groups.values()) else {}
        single = [
            one.replace(annotation=_under(hints[name], headings.get(name, own)))
            for name, one in inspect.signature(command).parameters.items()
            if name not in groups
        ]
        unfolded = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=one.default if one.default_factory is MISSING else one.default_factory(),
                annotation=_under(
                    get_type_hints(group, include_extras=True)[one.name], headings.get(one.name, group.panel)
                ),
            )
            for group in groups.values()
            for one in fields(group)
        ]

        @wraps(command)
        def flat(**given: Any) -> None:
            made = {
                name: group(**{one.name: given.pop(one.name) for one in fields(group)})
                for name, group in groups.items()
            }
            for rows in (group for group in made.values() if isinstance(group, RowOptions)):
                given |= {name: rows.source(given[name]) for name in _TABLES if name in given}
                if rows.dry_run:
                    from recombine.cli.dry_run import tell  # noqa: PLC0415 - it is seldom asked for

                    tell(
                        {**given, **{name: value for one in made.values() for name, value in vars(one).items()}},
                        rows.settings(),
                    )
            given_limits = made.pop(_LIMITS, LimitOptions())
            with limited(seconds=given_limits.time_limit, memory=options.size(given_limits.memory_limit)):
                command(**given, **made)

        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in single] + unfolded
        flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        flat.__annotations__ = {one.name: one.annotation for one in parameters}
        return flat

    return decorate


def _under(annotation: Any, heading: str) -> Any:
    """An option under a heading of the help; an argument stands under none."""
    kind, option = get_args(annotation)
    if not isinstance(option, OptionInfo):
        return annotation
    option = copy(option)  # the same declaration serves other commands
    option.rich_help_panel = heading
    return Annotated[kind, option]


def require_target(target: str | None) -> None:
    """A forecast is one of a target."""
    if target is None:
        raise SettingError(
            "--target is missing",
            why="it is the column that a model would predict",
            instead="name it; without --factors the command says what the columns look like",
        )
