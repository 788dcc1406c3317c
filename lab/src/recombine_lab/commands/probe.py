"""`recombine probe`: look inside a model, with controls that can say no."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding

import recombine_lab
from recombine.base.words import measure
from recombine.cli import options, outputs, table_options
from recombine.cli.help import EXAMPLES, Command, CommandGroup
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, lead, next_commands, short
from recombine_lab.commands.run_tables import pairs_table

EXAMPLES |= {
    "probe": (
        ("recombine probe geometry features.parquet", "how layers hold the factors, from their features"),
        ("recombine probe geometry runs --run 3f9a", "the same of a run in a store"),
    ),
    "probe support": (
        ("recombine probe support spec.py", "what spec.py says: the components and the seen points"),
        ("recombine probe support spec.py --report probe.html", "with a page to look at"),
    ),
    "probe geometry": (
        ("recombine probe geometry features.parquet", "features that were written before"),
        ("recombine probe geometry runs --run 3f9a --report probe.html", "a run in a store, with a page"),
    ),
    "probe influence": (
        ("recombine probe influence spec.py", "what spec.py says: the model and its inputs"),
        ("recombine probe influence runs --run 3f9a", "a run in a store"),
    ),
    "probe subnetworks": (
        ("recombine probe subnetworks spec.py", "what spec.py says: the model and its components"),
        ("recombine probe subnetworks runs --run 3f9a", "a run in a store"),
    ),
}

_SHOWN = 12

probe = typer.Typer(
    cls=CommandGroup,
    help="Why? Look inside a model, with controls: support, geometry, influence, subnetworks.",
    no_args_is_help=True,
)

Spec = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A Python file with functions named after the probe's settings, a Parquet file of features (geometry), or "
        "a run store with --run.",
    ),
]
RunKey = Annotated[str | None, typer.Option("--run", help="SPEC is a store: the run, by the beginning of its key.")]
Seed = Annotated[int, typer.Option(min=0, help="Everything that is drawn at random.")]


_ASKED = {
    "support": "Do the seen points fix every component, if the composition function is known?",
    "geometry": "How do the layers of a model hold the factors: apart, mixed, or as a table of memories?",
    "influence": "Which inputs does an answer hang on, and which training combinations taught it?",
    "subnetworks": "Does a model hold separate parts for separate components? Searched, removed, and held against "
    "controls.",
}


def _command(name: str) -> Callable[..., None]:
    """All four have the same options: what differs is in the file that they are given."""

    @takes_groups(first=("run", "report", "out"), own="Probe")
    def ask(
        spec: Spec, run: RunKey = None, seed: Seed = 0, trust: table_options.Trust = None, *, output: outputs.Outputs
    ) -> None:
        if trust:
            recombine_lab.trust(*trust)
        _run(name, spec, run, seed=seed, output=output)

    return ask


for _name, _asks in _ASKED.items():
    probe.command(_name, cls=Command, help=_asks)(_command(_name))


def _run(name: str, spec: str, run: str | None, *, seed: int, output: outputs.Outputs) -> None:
    """Any of the probes, with what a file or a run says."""
    output.check("probe", inputs=[spec])
    ask = getattr(recombine_lab.probes, name)
    with Watch("reading what is asked") as watch:
        result = ask(**_settings(spec, run, ask), seed=seed, progress=watch.step, command=options.command_line())
        output.write(result, watch)
    output.tell(content=lambda: result.record().to_json(), show=lambda: print_probe(result))


def _settings(spec: str, run: str | None, ask: Any) -> dict[str, Any]:
    if run is not None:
        from recombine_lab.runs.run_list import find_key  # noqa: PLC0415 - a probe told by a file needs no store

        store = recombine_lab.Store.open(spec, create=False)
        return {"model": store.get(find_key(store, run))}
    if spec.endswith(".parquet"):
        return {"model": spec}
    from recombine_lab.probes.probe_file import settings_of  # noqa: PLC0415 - a command that names no probe needs none

    return settings_of(spec, ask)


def print_probe(result: Any) -> None:
    """The probe on one screen."""
    console = console_for()
    width = min(console.width, 100)
    from recombine_lab.probes.probe_page import MEANING  # noqa: PLC0415 - a template engine

    lead(console, result, why=MEANING[result.grade])
    rows = {"outcome": result.outcome}
    for name, number in list(result.numbers.items())[:_SHOWN]:
        rows[short(name)] = "not known" if number is None else measure(number)
    console.print(pairs_table(rows), width=width)
    console.print()
    for reason in result.reasons:
        console.print(Padding(escape(reason), (0, 2)), width=width)
    command = result.provenance.command or "recombine probe …"
    if "--report" not in command:
        next_commands(console, [(f"{command} --report probe.html", "see every measure beside its controls")])
