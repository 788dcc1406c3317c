"""`recombine audit`: a table in, a verdict on its combinations out."""

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import recombine
from recombine.base.errors import BeyondMemory
from recombine.base.files import place_of, write_text
from recombine.base.overwrite_checks import check_page
from recombine.base.words import count, measure, percent, target_words
from recombine.cli import ci_summary, gates, on_disk, options, outputs, proposal, table_options
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, extend_command, fact_table, named_shortly, note, short, show_result
from recombine.cli.vector_words import vector_range_words, vector_score_words


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
    control: Annotated[
        str | None,
        typer.Option(
            help="Of a vector as the target: the value that stands for nothing done, of all factors (ctrl) or of some "
            "(drug=DMSO,gene=ctrl)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which examples are drawn where a space is too large to list.")] = 0,
    *,
    reading: table_options.ReadingOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Which combinations are missing, and which of them can be worked out from the rest?"""
    named = options.names(factors)
    if not named and not reading.has_sets:
        proposal.refuse("audit", source, reading, as_json=output.as_json, given=[reading.weight], target=target)
    asked = options.gates(fail_under)
    output.require_gates(asked, example="determined=0.95")
    read = [source, *reading.files]
    output.check("audit", inputs=read)
    if impossible_out is not None:
        check_page(place_of(impossible_out), force=output.force, inputs=read)
    with Watch("counting combinations") as watch:
        try:
            support = recombine.read(source, factors=named, target=target, **reading.settings(), progress=watch.tell)
        except BeyondMemory as error:
            given = {"--target": target, "--impossible-out": impossible_out, "--control": control}
            with on_disk.counts(source, named, reading, watch, error, given=given) as counts:
                audited = recombine.audit_stored(counts, progress=watch.step)
            on_disk.tell_audit(audited, asked, output, watch)
        watch.now("working out what is determined")
        found = recombine.audit(support, control=options.control(control), seed=seed)
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


def _on_paper(found: "recombine.Audit", name: str) -> bool:
    """Whether a share of what would follow rests on a rule that was not tested enough, or not borne out."""
    return name == "determined" and (found.grade == "untested" or found.refuted)


_SHOWN_FACTORS = 8
_SHOWN_PAIRS = 2  # pairs of values that never met
_READING = (
    "--factors",
    "-f",
    "--where",
    "-w",
    "--bins",
    "--domain",
    "--impossible",
    "--weight",
    "--missing",
    "--table",
    "--pattern",
    "--concepts",
    "--set",
    "--exchangeable",
)
_TARGET = ("--target", "-t", "--target-kind")
_UNKNOWN_TO_SPLIT = ("--domain", "--impossible", "--weight")
_FLAGS = ("--json", "--force", "--")


def summary(audit: "recombine.Audit", checked: gates.Gates) -> None:
    """The audit on one screen."""
    facts = [*_factors(audit), *_tests(audit), *_structure(audit)]
    show_result(audit, [fact_table(facts)], gates=checked, following=following(audit))


def _factors(audit: "recombine.Audit") -> Iterator[tuple[str, ...]]:
    """The target, and how many values of each factor were seen."""
    target = audit.support.target
    if target is not None:
        classes, share = getattr(target, "classes", None), getattr(target, "is_share", False)
        said, _, hint = target_words(short(target.name), classes, share=share).partition("; ")
        yield "target", escape(said), escape(hint)
    if audit.support.vectors is not None:
        yield (
            "target",
            escape(short(audit.support.vectors.name)),
            f"a vector of {audit.support.vectors.width:,} outputs",
        )
    for factor in audit.factors[:_SHOWN_FACTORS]:
        seen = "all seen" if factor.seen == factor.values else f"{factor.seen:,} seen"
        noun = "elements" if factor.name in {one.name for one in audit.sets} else "values"
        rarest = f"never   {short(factor.never_seen[0])}" if factor.never_seen else ""
        if not rarest:
            rarest = f"rarest  {short(factor.rarest[0].value)}  {count(factor.rarest[0].count)}"
        yield escape(short(factor.name)), f"{factor.values:,} {noun}, {seen}", escape(rarest)
    for one in audit.sets:
        sizes = ", ".join(f"{size.seen:,} of {size.possible:,} of size {size.size}" for size in one.by_size[:4])
        yield "", escape(sizes), f"{one.alone:,} elements seen alone"
    if len(audit.factors) > _SHOWN_FACTORS:
        yield "…", f"{len(audit.factors) - _SHOWN_FACTORS} more factors", ""


def _tests(audit: "recombine.Audit") -> Iterator[tuple[str, ...]]:
    """What was tested, and how firmly the seen combinations hold the others."""
    test = audit.additive
    if test is not None and test.tested:
        said = ", ".join(f"{short(one.name)} {percent(one.score)}" for one in test.rivals)
        lost = f", {test.untestable:,} cannot be held out" if test.untestable else ""
        yield "tested", f"{test.tested:,} seen combinations, each held out once{lost}", escape(said)
        if test.blocks:
            blocks = ", ".join(" with ".join(map(short, names)) for names in test.blocks)
            yield "", f"for the score above: all that share {escape(blocks)} at once", ""
    yield from _vectors(audit)
    islands = "one island" if audit.island_count == 1 else f"{audit.island_count:,} islands"
    pairs = next((one for one in audit.coverage if one.order == 2), None)
    missing = 0 if pairs is None else pairs.possible - pairs.seen
    if pairs is not None:
        yield "pairs", f"{percent(pairs.share)} seen" + (f", {missing:,} never met" if missing else ""), islands
    for place, pair in enumerate(audit.uncovered[:_SHOWN_PAIRS]):
        each = " and ".join(map(count, pair.counts))
        rows = f"{each} rows, {count(round(pair.expected))} by chance"  # each pair has to fit on one line
        below = "" if pair.pmi_below is None else f", PMI < {pair.pmi_below:.1f}"
        yield "" if place else "never met", escape(str(pair)), rows + below
    if audit.thin:
        first = audit.thin[0]
        rows = f"{count(first.count)} rows, {count(round(first.expected))} if the factors were independent"
        yield "thin", f"{audit.counts.thin:,} of {audit.counts.seen:,} seen combinations", rows
    measured = audit.leverage
    lost = f"not known for {measured.unknown:,}" if measured is not None and measured.unknown else ""
    if measured is not None and measured.median is not None and measured.worst is not None:
        scope = f" of {measured.known:,} drawn" if measured.sampled else ""
        middle = f"median {measure(measured.median)}{scope}" + (f", {lost}" if lost else "")
        worst = f"worst {measure(measured.worst)}  ({named_shortly(measured.weakest[0].combination)})"
        yield "leverage", middle, escape(worst)
    elif lost:
        yield "leverage", lost, ""


def _vectors(audit: "recombine.Audit") -> Iterator[tuple[str, ...]]:
    """The scores over outputs: each with what the mean gets, what can be reached, and how much of that was."""
    for place, one in enumerate(audit.vectors.scores if audit.vectors is not None else ()):
        yield "" if place else "vectors", vector_score_words(one), vector_range_words(one)


def _structure(audit: "recombine.Audit") -> Iterator[tuple[str, ...]]:
    """What the factors tell of each other and of the target, and the rows that do not count."""
    strongest = next(iter(audit.dependence), None)
    if strongest is not None and strongest.cramers_v is not None:
        both = " and ".join(map(short, strongest.factors))
        yield "factors", f"Cramér's V {strongest.cramers_v:.2f}", escape(f"highest, {both}")
    found = audit.redundancy
    best = None if found is None else found.shortcut
    if found is not None and not found.parts:
        yield escape(short(found.target)), "nothing to tell", escape(found.nothing or "")
    elif found is not None and best is not None:
        label = found.kind == "label"
        told = f"alone gets {percent(best.score_left_out)} of the rows right" if label else ""
        told = told or f"alone explains {percent(best.score_left_out)} of the rows"
        guess = f"guessing gets {percent(found.baseline)}" if label else ""
        yield escape(short(found.target)), escape(f"{short(best.factors[0])} {told}"), guess
    rows = audit.support.missing_rows
    if rows:
        yield "left out", f"{rows:,} of {audit.support.rows:,} rows", "they miss a factor"
    if audit.support.weightless:
        yield "weight 0", escape(audit.support.weightless), ""
    if audit.support.named_twice:
        yield "twice", escape(audit.support.named_twice), ""


def following(audit: "recombine.Audit") -> list[tuple[str, str]]:
    """What to do after an audit, as commands that can be pasted, each with its reason."""
    command = audit.provenance.command or "recombine audit …"
    words = shlex.split(command)
    pairs = "pairs that never meet, to be read over for --impossible"
    zeros = None if audit.zeros is None else ("--impossible-out", "--impossible-out impossible.csv", pairs)
    lines = [*extend_command(audit, "audit", zeros), *_predictions(audit, words), *_plans(audit, words)]
    lines += extend_command(audit, "audit", ("--report -r", "--report audit.html", "see the map"))
    if audit.counts.seen > audit.rank:  # where every seen combination is needed a split would be refused
        split = _asked_of("split", words, but=_UNKNOWN_TO_SPLIT)
        # a column name of its own: many tables have a `split` already
        lines.append(
            (f"{split} --column held_out --out held_out.parquet", "hold out whole combinations for an honest test")
        )
    if audit.refuted:  # a gate on what should not be relied on would let anything pass
        return lines
    gate = ("--fail-under", "--fail-under determined=0.95", "use as a CI gate")
    return [*lines, *extend_command(audit, "audit", gate)]


def _predictions(audit: "recombine.Audit", words: list[str]) -> list[tuple[str, str]]:
    """What a learner would answer, where there is something to learn and something unseen."""
    target = audit.support.target
    if (
        target is None
        or not target.varies
        or audit.counts.seen == audit.counts.space
        or _without_rule(audit) == "noise"
    ):
        return []
    return [
        (
            _asked_of("predict", words, also=_TARGET),
            "what a learner would answer for the unseen ones, and how far to trust it",
        )
    ]


def _without_rule(audit: "recombine.Audit") -> str | None:
    """Whether there is nothing to learn, or nothing that one combination tells of another by a rule that was tried."""
    return None if audit.additive is None else audit.additive.without_rule


def _plans(audit: "recombine.Audit", words: list[str]) -> list[tuple[str, str]]:
    """What to collect, where something is undetermined or weak, and would follow from more."""
    if _without_rule(audit):
        return []
    plan, counts = _asked_of("plan", words), audit.likely or audit.counts
    if counts.undetermined or counts.novel:
        return [(plan, "what to collect, so that all of them can be worked out")]
    if audit.leverage is not None and audit.leverage.weak and not audit.sets:
        return [(f"{plan} --goal leverage --budget 10", "what to collect, so that the weak ones become firmer")]
    return []


def _asked_of(verb: str, words: list[str], *, but: Collection[str] = (), also: Collection[str] = ()) -> str:
    """The same table asked of another verb: what says how to read it is kept, what an audit does with it is not."""
    kept, rest = [], iter(words[2:])
    for word in rest:
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        option = word.startswith("-")
        value = [next(rest, "")] if option and word == name and name not in _FLAGS else []
        if not option or (name in {*_READING, *also} - {*but}):
            kept += [word, *value]
    return options.pasted(["recombine", verb, *kept])
