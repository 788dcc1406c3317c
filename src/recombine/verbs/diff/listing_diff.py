"""Two plans, two splits, two rehearsals: what is listed in one alone, or stands under another word now.

Two lints: which checks ended otherwise, and which culprits are new or gone.
"""

import pyarrow as pa

from recombine.data.space import Factor, Space
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff.combination_pairs import MergedSpace, PairedCombinations, coded, paired
from recombine.verbs.diff.findings import ChangedWord, Changes, CountChange, Findings, Way, table_of
from recombine.verbs.diff.prediction_diff import forecast_change
from recombine.verbs.plan.plan import Plan
from recombine.verbs.rehearse.rehearsal import Rehearsal
from recombine.verbs.split.lint.lint_result import MOST_CULPRITS, Lint
from recombine.verbs.split.split_result import SIDE_COLUMN, Split


def compare_plans(old: Plan, new: Plan, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """Which combinations a plan asks for that it did not ask for before, and the other way round."""
    names = old.support.space.names
    both, found = _paired(old.table, new.table, names)
    wanted = _apart(found, "asked for", "not asked for", ("no longer asked for", "newly asked for"))
    return Findings(
        table=table_of(both.space, wanted),
        factors=names,
        counted=(CountChange("combinations to collect", old.table.num_rows, new.table.num_rows),),
        told=(ChangedWord("goal reached", _yes(old.reached), _yes(new.reached)),),
    )


def compare_splits(old: Split, new: Split, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """Which combinations stand on another side."""
    both, found = _paired(old.assignment, new.assignment, old.factors)
    was, now = (one.assignment[SIDE_COLUMN].to_pylist() for one in (old, new))
    common = found.both
    moved = [k for k, (a, b) in enumerate(zip(common.old, common.new, strict=True)) if was[a] != now[b]]
    told = [was[common.old[k]] for k in moved], [now[common.new[k]] for k in moved]
    sides = Changes(common.codes[moved], "side", *told, ["other"] * len(moved))
    return Findings(
        table=table_of(both.space, [sides, *_apart(found, "there", "not there", ("lost", "gained"))]),
        factors=old.factors,
        counted=(
            CountChange("rows", old.rows, new.rows),
            CountChange("combinations", old.combinations, new.combinations),
        ),
        told=(
            ChangedWord("splitter", old.splitter, new.splitter),
            ChangedWord("assignment", old.digest[:12], new.digest[:12]),
        ),
    )


def compare_rehearsals(old: Rehearsal, new: Rehearsal, sure: IntervalSettings) -> Findings:  # noqa: ARG001
    """The score to expect; what is held out is drawn anew each time, so that its combinations are not compared."""
    scores, unscored = forecast_change(old.expected, new.expected)
    return Findings(
        table=table_of(Space(tuple(Factor(name, ()) for name in old.factors)), []),
        factors=old.factors,
        counted=(
            CountChange("combinations", old.combinations, new.combinations),
            CountChange("unseen combinations looked at", old.unseen, new.unseen),
        ),
        told=(ChangedWord("learner", old.learner, new.learner),),
        scores=scores,
        unscored=unscored,
    )


def _paired(old: pa.Table, new: pa.Table, names: tuple[str, ...]) -> tuple[MergedSpace, PairedCombinations]:
    (old_space, old_codes), (new_space, new_codes) = (coded(table, names) for table in (old, new))
    both = MergedSpace.of(old_space, new_space)
    return both, paired(both.space, both.old.merge(old_codes), both.new.merge(new_codes))


def _apart(found: PairedCombinations, there: str, absent: str, names: tuple[str, str]) -> list[Changes]:
    """Those that are listed in one alone."""
    way: Way = "other"
    gone, fresh = found.codes[found.new < 0], found.codes[found.old < 0]
    return [
        Changes(gone, names[0], [there] * len(gone), [absent] * len(gone), [way] * len(gone)),
        Changes(fresh, names[1], [absent] * len(fresh), [there] * len(fresh), [way] * len(fresh)),
    ]


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


def compare(old: Lint, new: Lint, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape with the others
    """What changed from one lint to the next."""
    names = old.factors
    tables = [_culprits(one, names) for one in (old, new)]
    (old_space, old_codes), (new_space, new_codes) = (coded(table, (*names, _CHECK)) for table in tables)
    both = MergedSpace.of(old_space, new_space)
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


def _counted(old: Lint, new: Lint) -> tuple[CountChange, ...]:
    rows = CountChange("rows", old.rows, new.rows), CountChange("combinations", old.combinations, new.combinations)
    before, after = ({check.name: check.culprits for check in one.checks} for one in (old, new))
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) or after.get(name)]
    return (*rows, *(CountChange(f"culprits of {name}", before.get(name, 0), after.get(name, 0)) for name in names))


def _checks(old: Lint, new: Lint) -> tuple[ChangedWord, ...]:
    before, after = ({check.name: str(check.verdict) for check in one.checks} for one in (old, new))
    names = dict.fromkeys([*before, *after])
    return tuple(
        ChangedWord(f"check {name}", before.get(name, "not asked"), after.get(name, "not asked")) for name in names
    )


def _notes(old: Lint, new: Lint) -> tuple[str, ...]:
    cut = sorted({check.name for one in (old, new) for check in one.checks if check.culprits > MOST_CULPRITS})
    if not cut:
        return ()
    return (
        f"A lint lists {MOST_CULPRITS:,} culprits of a check at most, and there are more of {', '.join(cut)}: some "
        "that are told as new or gone may only have changed their place.",
    )
