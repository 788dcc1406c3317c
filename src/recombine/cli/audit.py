"""`recombine audit`: a table in, a verdict on its combinations out."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.base.files import place_of, write_text
from recombine.base.grades import earned
from recombine.base.overwrite_checks import check_page
from recombine.cli import completion, gates, options, output_formats, outputs, proposal, table_options
from recombine.cli.terminal import Watch, following, note, summary


def audit(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", autocompletion=completion.one_column, help="The column that a model would predict."
        ),
    ] = None,
    target_kind: table_options.TargetKind = None,
    where: table_options.Where = None,
    bins: table_options.Bins = [],  # noqa: B006
    domain: table_options.Domain = [],  # noqa: B006
    impossible: table_options.Impossible = None,
    weight: table_options.Weight = None,
    missing: table_options.Missing = "leave out",
    table: table_options.TableName = None,
    report: table_options.Report = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the audit as a folder of JSON and Parquet.")
    ] = None,
    impossible_out: Annotated[
        Path | None,
        typer.Option(
            help="Write pairs of values that never meet, and perhaps cannot, to a CSV that --impossible reads."
        ),
    ] = None,
    force: table_options.Force = False,
    as_json: table_options.AsJson = False,
    forms: output_formats.Format = [],  # noqa: B006
    fail_under: Annotated[
        table_options.Many,
        typer.Option(
            "--fail-under",
            help="A gate on what is seen or determined: determined=0.95. Exit 3 below it, 4 without evidence.",
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Which examples are drawn where a space is too large to list.")] = 0,
) -> None:
    """Which combinations are missing, and which of them can be worked out from the rest?"""
    if not options.names(factors):
        proposal.refuse("audit", source, as_json=as_json, table=table, where=where, given=[weight], target=target)
    asked = options.gates(fail_under)
    wanted = output_formats.parse(forms, as_json=as_json)
    output_formats.check_gates(wanted, asked, example="determined=0.95")
    read = [source, impossible]
    outputs.check("audit", out=out, force=force, inputs=read, report=report, domain=domain, forms=wanted)
    if impossible_out is not None:
        check_page(place_of(impossible_out), force=force, inputs=read)
    with Watch("counting combinations") as watch:
        support = table_options.read(
            source,
            factors=factors,
            target=target,
            watch=watch,
            target_kind=target_kind,
            where=where,
            bins=bins,
            domain=domain,
            impossible=impossible,
            weight=weight,
            missing=missing,
            table=table,
        )
        watch.now("working out what is determined")
        found = recombine.audit(support, seed=seed)
        checked = gates.check(found.share, asked, thin=lambda name: _on_paper(found, name))
        outputs.write(found, watch, report=report, out=out, force=force)
        if impossible_out is not None:
            write_text(impossible_out, found.impossible_csv(), force=force)
    if impossible_out is not None and found.zeros is None:
        note(f"'{impossible_out}' holds its heading and no pair: none seems impossible beyond chance")
    output_formats.tell(
        wanted,
        machines=lambda: _for_machines(found, checked),
        people=lambda: summary(found, checked),
        told=lambda: [outputs.of_audit(found, checked, source=source, following=following(found))],
        written=(report, out, impossible_out),
        force=force,
    )
    raise typer.Exit(gates.exit_code(checked))


def _on_paper(found: Any, name: str) -> bool:
    """Whether a share of what would follow rests on a rule that was not tested enough, or not borne out."""
    refuted = earned(found.expected) in ("weak", "failing") and found.grade in ("weak", "failing")
    return name == "determined" and (found.grade == "untested" or refuted)


def _for_machines(found: Any, checked: gates.Gates) -> dict[str, Any]:
    content: dict[str, Any] = found.record().to_json()
    for drawn in ("maps", "determinacy", "impossible"):
        content.pop(drawn)
    return content | {"gates": checked}
