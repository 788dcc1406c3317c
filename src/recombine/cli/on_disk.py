"""Commands on tables with more combinations than fit in memory: counted on disk, and told with what is left out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NoReturn

import typer
from rich.markup import escape

import recombine
from recombine.base.errors import BeyondMemory, SettingError
from recombine.base.words import count, json_text, percent, percent_range
from recombine.cli import gates, outputs, table_options
from recombine.cli.terminal import Watch, fact_table, note, reasons, say, short, show_result


@contextmanager
def counts(
    source: str,
    factors: list[str],
    reading: table_options.RowOptions,
    watch: Watch,
    error: BeyondMemory,
    *,
    given: Mapping[str, object],
) -> Iterator["recombine.StoredCounts"]:
    """The counts on disk, where `error` says that they do not fit in memory; options that they cannot follow, of those
    that were `given`, are refused.
    """
    known = reading_settings(reading, error, given=given)
    with recombine.store_counts(source, factors=factors, progress=watch.step, **known) as stored:
        yield stored


def reading_settings(
    reading: table_options.RowOptions, error: BeyondMemory, *, given: Mapping[str, object]
) -> dict[str, Any]:
    """How the table is read, as counts on disk take it; a note that says what is done, and why."""
    settings = reading.settings()
    named = {f"--{name}": settings.get(name) for name in ("domain", "impossible", "weight")}
    named |= {"--set": settings.get("sets")}
    named["--missing value"] = settings["missing"] != "leave out"
    unknown = [name for name, value in {**given, **named}.items() if value]
    if unknown:
        raise SettingError(
            f"{', '.join(unknown)} with counts on disk",
            why=f"{error.what}, so they are counted on disk, where that is not known",
            instead="leave it out, or take a part of the values by --where",
        ) from error
    note(f"{error.what}: worked out on disk")
    return {name: settings[name] for name in ("where", "bins", "table", "command")}


def tell_evaluation(found: "recombine.StoredEvaluation", *, as_json: bool) -> NoReturn:
    """Tell a score on disk, by kind of combination."""
    rows = [
        f"  {one.name:<8}{percent(one.score)}"
        + ("" if one.low is None or one.high is None else f"  ({percent_range(one.low, one.high)})")
        + f"  {one.rows:,} rows of {one.combinations:,} combinations"
        for one in found.scores
    ]
    say(json_text(asdict(found)) if as_json else "\n".join(["", f"  {found.verdict}", "", *rows, ""]))
    raise typer.Exit


def tell_audit(
    found: "recombine.StoredAudit", asked: Mapping[str, float], output: outputs.FormattedOutputs, watch: Watch
) -> NoReturn:
    """Write the audit and tell it, as `recombine audit` tells one in memory."""
    checked = gates.check(found.share, asked, thin=lambda name: name == "determined" and found.grade == "untested")
    output.write(found, watch)
    output.tell(
        content=lambda: gates.content(found.record(), checked),
        show=lambda: _show_audit(found, checked),
        summaries=_no_summaries,
    )
    raise typer.Exit(gates.exit_code(checked))


def _no_summaries() -> NoReturn:
    raise SettingError(
        "--format with counts on disk",
        why="an audit on disk is told as text and as JSON",
        instead="write --json, or --format json",
    )


def _show_audit(found: "recombine.StoredAudit", checked: gates.Gates) -> None:
    facts = [
        (escape(short(one.name)), f"{one.values:,} values", escape(f"rarest  {short(one.rarest[0].value)}"))
        for one in found.factors
    ]
    islands = "one island" if found.island_count == 1 else f"{found.island_count:,} islands"
    facts += [("pairs", f"{percent(one.share)} seen", islands) for one in found.coverage if one.order == 2]
    if found.thin:
        few = f"{count(found.thin[0].count)} rows, {count(round(found.thin[0].expected))} if independent"
        facts.append(("thin", f"{found.counts.thin:,} of {found.counts.seen:,} seen combinations", few))
    show_result(found, [fact_table(facts), reasons(found.reasons)], gates=checked, following=[])
