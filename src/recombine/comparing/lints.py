"""Two lints: which checks ended otherwise, and which culprits are new or gone."""

import pyarrow as pa

from recombine.comparing.findings import Changes, Counted, Findings, Told, Way, table_of
from recombine.comparing.pairing import Merged, coded, paired
from recombine.splits.linting.linted import MOST_CULPRITS, Lint
from recombine.statistics.resampling import IntervalSettings


def compare(old: Lint, new: Lint, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape with the others
    """What changed from one lint to the next."""
    names = old.factors
    tables = [_culprits(one, names) for one in (old, new)]
    (old_space, old_codes), (new_space, new_codes) = (coded(table, (*names, _CHECK)) for table in tables)
    both = Merged.of(old_space, new_space)
    found = paired(both.space, both.old.merge(old_codes), both.new.merge(new_codes))
    checks, space = both.space.factors[-1].labels, both.space.restricted(tuple(range(len(names))))
    changes = []
    chosen: tuple[tuple[str, Way, bool], ...] = (("new leak", "worse", True), ("leak gone", "better", False))
    for what, way, fresh in chosen:
        codes = found.codes[(found.old if fresh else found.new) < 0]
        told: list[str | None] = [checks[code] for code in codes[:, -1]]
        nothing: list[str | None] = [None] * len(told)
        changes.append(
            Changes(codes[:, :-1], what, *((nothing, told) if fresh else (told, nothing)), [way] * len(told))
        )
    return Findings(
        table=table_of(space, changes),
        factors=names,
        counted=_counted(old, new),
        told=_checks(old, new),
        notes=_notes(old, new),
    )


_CHECK = "(check)"


def _culprits(lint: Lint, names: tuple[str, ...]) -> pa.Table:
    """The combinations that are culprits of a check, with its name; a check may have culprits of another kind."""
    parts = []
    for check in lint.checks:
        if check.verdict != "fail" or check.table is None or not set(names) <= set(check.table.column_names):
            continue
        columns = {name: check.table[name].cast(pa.string()) for name in names}
        part = pa.table(columns | {_CHECK: pa.array([check.name] * check.table.num_rows, pa.string())})
        parts.append(part.group_by([*names, _CHECK]).aggregate([]))
    empty = pa.table({name: pa.array([], pa.string()) for name in (*names, _CHECK)})
    return pa.concat_tables([empty, *parts])


def _counted(old: Lint, new: Lint) -> tuple[Counted, ...]:
    rows = Counted("rows", old.rows, new.rows), Counted("combinations", old.combinations, new.combinations)
    before, after = ({check.name: check.culprits for check in one.checks} for one in (old, new))
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) or after.get(name)]
    return (*rows, *(Counted(f"culprits of {name}", before.get(name, 0), after.get(name, 0)) for name in names))


def _checks(old: Lint, new: Lint) -> tuple[Told, ...]:
    before, after = ({check.name: str(check.verdict) for check in one.checks} for one in (old, new))
    names = dict.fromkeys([*before, *after])
    return tuple(Told(f"check {name}", before.get(name, "not asked"), after.get(name, "not asked")) for name in names)


def _notes(old: Lint, new: Lint) -> tuple[str, ...]:
    cut = sorted({check.name for one in (old, new) for check in one.checks if check.culprits > MOST_CULPRITS})
    if not cut:
        return ()
    return (
        f"A lint lists {MOST_CULPRITS:,} culprits of a check at most, and there are more of {', '.join(cut)}: some "
        "that are told as new or gone may only have changed their place.",
    )
