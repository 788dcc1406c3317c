"""`recombine audit`: a table in, a verdict on its combinations out."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.base.files import place_of, write_text
from recombine.base.grades import earned
from recombine.base.overwrite_checks import check_page
from recombine.cli import ci_summary, gates, options, outputs, proposal, table_options
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, following, note, summary


@takes_groups(first=("factors", "target", "report", "out", "fail_under"), own="Audit")
def audit(
    source: table_options.Source,
    factors: table_options.Factors = [],  # noqa: B006
    target: table_options.Target = None,
    fail_under: Annotated[
        table_options.Many,
        table_options.gate_option("A gate on what is seen or determined: determined=0.95."),
    ] = [],  # noqa: B006
    impossible_out: Annotated[
        Path | None,
        typer.Option(
            help="Write pairs of values that never meet, and perhaps cannot, to a CSV that --impossible reads."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which examples are drawn where a space is too large to list.")] = 0,
    *,
    reading: table_options.TableOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Which combinations are missing, and which of them can be worked out from the rest?"""
    named = options.names(factors)
    if not named:
        proposal.refuse("audit", source, reading, as_json=output.as_json, given=[reading.weight], target=target)
    asked = options.gates(fail_under)
    output.require_gates(asked, example="determined=0.95")
    read = [source, *reading.files]
    output.check("audit", inputs=read)
    if impossible_out is not None:
        check_page(place_of(impossible_out), force=output.force, inputs=read)
    with Watch("counting combinations") as watch:
        support = recombine.read(source, factors=named, target=target, **reading.settings(), progress=watch.tell)
        watch.now("working out what is determined")
        found = recombine.audit(support, seed=seed)
        checked = gates.check(found.share, asked, thin=lambda name: _on_paper(found, name))
        output.write(found, watch)
        if impossible_out is not None:
            write_text(impossible_out, found.impossible_csv(), force=output.force)
    if impossible_out is not None and found.zeros is None:
        note(f"'{impossible_out}' holds its heading and no pair: none seems impossible beyond chance")
    output.tell(
        content=lambda: gates.content(found.record(), checked, without=("maps", "determinacy", "impossible")),
        show=lambda: summary(found, checked),
        summaries=lambda: [ci_summary.of_audit(found, checked, source=source, following=following(found))],
        also_written=impossible_out,
    )
    raise typer.Exit(gates.exit_code(checked))


def _on_paper(found: Any, name: str) -> bool:
    """Whether a share of what would follow rests on a rule that was not tested enough, or not borne out."""
    refuted = earned(found.expected) in ("weak", "failing") and found.grade in ("weak", "failing")
    return name == "determined" and (found.grade == "untested" or refuted)
