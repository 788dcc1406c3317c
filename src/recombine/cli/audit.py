"""`recombine audit`: a table in, a verdict on its combinations out."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import recombine
from recombine.cli import options
from recombine.cli.show import Watch, page_written, say, summary
from recombine.files import write_text

Many = list[str]


def audit(
    source: Annotated[str, typer.Argument(help="A file, glob, folder, s3:// URL or database URI.")],
    factors: Annotated[Many, typer.Option("--factors", "-f", help="The columns whose combinations matter: a,b,c.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column that a model would predict.")] = None,
    target_kind: Annotated[str | None, typer.Option(help="label or number, where it is not clear.")] = None,
    where: Annotated[
        str | None, typer.Option("--where", "-w", help="Only rows that fulfil this SQL condition.")
    ] = None,
    bins: Annotated[
        Many,
        typer.Option("--bins", help="How to bin a number or date: age=0,18,65 · price=quantiles:4 · day=month."),
    ] = [],  # noqa: B006
    domain: Annotated[Many, typer.Option("--domain", help="Values that could occur: size=S,M,L, or a JSON file.")] = [],  # noqa: B006
    impossible: Annotated[
        Path | None,
        typer.Option(help="A CSV of conjunctions that cannot occur; an empty cell means any value."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column that says how many examples a row stands for.")] = None,
    missing: Annotated[
        str, typer.Option(help="Rows that miss a factor: 'leave out', or keep missing as a 'value'.")
    ] = "leave out",
    table: Annotated[str | None, typer.Option(help="The table, where the source is a database.")] = None,
    report: Annotated[Path | None, typer.Option("--report", "-r", help="Write a page to look at: FILE.html.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the audit as a folder of JSON and Parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    fail_under: Annotated[
        Many,
        typer.Option(
            "--fail-under",
            help="A gate on what is seen or determined: determined=0.95. Exit 3 below it, 4 without evidence.",
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Which examples are drawn where a space is too large to list.")] = 0,
) -> None:
    """Which combinations are missing, and which of them can be worked out from the rest?"""
    gates = options.gates(fail_under)
    options.check_page(report)
    with Watch("counting combinations") as watch:
        support = recombine.read(
            source,
            factors=options.names(factors),
            target=target,
            target_kind=target_kind,  # type: ignore[arg-type]
            where=where,
            bins=options.bins(bins),
            domain=options.domain(domain),
            impossible=options.impossible(impossible),
            weight=weight,
            missing=missing,  # type: ignore[arg-type]
            table=table,
            command=options.command_line(),
            progress=watch.tell,
        )
        watch.now("working out what is determined")
        found = recombine.audit(support, seed=seed)
        checked = _check(found, gates)
        if report is not None:
            watch.now("drawing the page")
            _write_page(found, report)
        if out is not None:
            found.save(out)
    if as_json:
        say(json.dumps(_for_machines(found, checked), indent=2, ensure_ascii=False))
    else:
        summary(found, checked)
        page_written(report, out)
    raise typer.Exit(_exit_code(checked))


Verdict = Literal["pass", "fail", "not enough evidence"]


def _check(found: Any, gates: dict[str, float]) -> dict[str, dict[str, Any]]:
    """Each gate with what it asks, what was found, and how it ended."""
    return {
        name: {"asked": least, "found": found.share(name), "verdict": _gate(found, name, least)}
        for name, least in gates.items()
    }


def _gate(found: Any, name: str, least: float) -> Verdict:
    if found.share(name) < least:
        return "fail"
    on_paper = name == "determined" and found.grade == "not enough evidence"
    return "not enough evidence" if on_paper else "pass"


def _exit_code(checked: dict[str, dict[str, Any]]) -> int:
    ends = {gate["verdict"] for gate in checked.values()}
    return 3 if "fail" in ends else 4 if "not enough evidence" in ends else 0


def _for_machines(found: Any, checked: dict[str, dict[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = found.record().to_json()
    for drawn in ("maps", "determinacy", "impossible"):
        content.pop(drawn)
    return content | {"gates": checked}


def _write_page(found: Any, path: Path) -> None:
    write_text(path, recombine.audit_page(found.record()))
