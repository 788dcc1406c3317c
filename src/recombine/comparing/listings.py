"""Two plans, two splits, two rehearsals: what is listed in one alone, or stands under another word now."""

import pyarrow as pa

from recombine.comparing.findings import Changes, Counted, Findings, Told, Way, table_of
from recombine.comparing.forecasts import forecast_change
from recombine.comparing.pairing import Merged, Paired, coded, paired
from recombine.planning.plan import Plan
from recombine.rehearsing.rehearsal import Rehearsal
from recombine.splits.writing.split import SIDE_COLUMN, Split
from recombine.statistics.resampling import IntervalSettings
from recombine.tables.space import Factor, Space


def compare_plans(old: Plan, new: Plan, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """Which combinations a plan asks for that it did not ask for before, and the other way round."""
    names = old.support.space.names
    both, found = _paired(old.table, new.table, names)
    wanted = _apart(found, "asked for", "not asked for", ("no longer asked for", "newly asked for"))
    return Findings(
        table=table_of(both.space, wanted),
        factors=names,
        counted=(Counted("combinations to collect", old.table.num_rows, new.table.num_rows),),
        told=(Told("goal reached", _yes(old.reached), _yes(new.reached)),),
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
            Counted("rows", old.rows, new.rows),
            Counted("combinations", old.combinations, new.combinations),
        ),
        told=(Told("splitter", old.splitter, new.splitter), Told("assignment", old.digest[:12], new.digest[:12])),
    )


def compare_rehearsals(old: Rehearsal, new: Rehearsal, sure: IntervalSettings) -> Findings:  # noqa: ARG001
    """The score to expect; what is held out is drawn anew each time, so that its combinations are not compared."""
    scores, unscored = forecast_change(old.expected, new.expected)
    return Findings(
        table=table_of(Space(tuple(Factor(name, ()) for name in old.factors)), []),
        factors=old.factors,
        counted=(
            Counted("combinations", old.combinations, new.combinations),
            Counted("unseen combinations looked at", old.unseen, new.unseen),
        ),
        told=(Told("learner", old.learner, new.learner),),
        scores=scores,
        unscored=unscored,
    )


def _paired(old: pa.Table, new: pa.Table, names: tuple[str, ...]) -> tuple[Merged, Paired]:
    (old_space, old_codes), (new_space, new_codes) = (coded(table, names) for table in (old, new))
    both = Merged.of(old_space, new_space)
    return both, paired(both.space, both.old.merge(old_codes), both.new.merge(new_codes))


def _apart(found: Paired, there: str, absent: str, names: tuple[str, str]) -> list[Changes]:
    """Those that are listed in one alone."""
    way: Way = "other"
    gone, fresh = found.codes[found.new < 0], found.codes[found.old < 0]
    return [
        Changes(gone, names[0], [there] * len(gone), [absent] * len(gone), [way] * len(gone)),
        Changes(fresh, names[1], [absent] * len(fresh), [there] * len(fresh), [way] * len(fresh)),
    ]


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"
