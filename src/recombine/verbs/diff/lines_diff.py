"""Two plans, two splits, two rehearsals: what is listed in one alone, or stands under another word now.

Two lints: which checks ended otherwise, and which culprits are new or gone.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from recombine.data.space import Factor, Space
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.diff.combination_pairs import PairedCombinations, pair_tables
from recombine.verbs.diff.findings import ChangedWord, Changes, CountChange, Findings, changes_at, table_of
from recombine.verbs.diff.prediction_diff import forecast_change
from recombine.verbs.plan.plan import Plan
from recombine.verbs.rehearse.rehearsal import Rehearsal
from recombine.verbs.split.lint.lint_result import MOST_CULPRITS, Lint
from recombine.verbs.split.split_result import SIDE_COLUMN, Split


def compare_plans(old: Plan, new: Plan, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """Which combinations a plan asks for that it did not ask for before, and the other way round."""
    names = old.support.space.names
    space, found = pair_tables(old.table, new.table, names)
    wanted = _apart(found, "asked for", "not asked for", ("no longer asked for", "newly asked for"))
    return Findings(
        table=table_of(space, wanted),
        factors=names,
        counted=(CountChange("combinations to collect", old.table.num_rows, new.table.num_rows),),
        told=(ChangedWord("goal reached", *("yes" if one.reached else "no" for one in (old, new))),),
    )


def compare_splits(old: Split, new: Split, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape
    """Which combinations stand on another side."""
    space, found = pair_tables(old.assignment, new.assignment, old.factors)
    common = found.both
    was, now = (
        one.assignment[SIDE_COLUMN].take(pa.array(places)).to_pylist()
        for one, places in ((old, common.old), (new, common.new))
    )
    moved = np.array([a != b for a, b in zip(was, now, strict=True)], dtype=bool)
    sides = changes_at(moved, common.codes, "side", was, now)
    return Findings(
        table=table_of(space, [sides, *_apart(found, "there", "not there", ("lost", "gained"))]),
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


def _apart(pairs: PairedCombinations, there: str, absent: str, names: tuple[str, str]) -> list[Changes]:
    """Those that are listed in one alone."""
    return [
        changes_at(pairs.new < 0, pairs.codes, names[0], there, absent),
        changes_at(pairs.old < 0, pairs.codes, names[1], absent, there),
    ]


def compare(old: Lint, new: Lint, sure: IntervalSettings) -> Findings:  # noqa: ARG001 - of one shape with the others
    """What changed from one lint to the next."""
    names = old.factors
    culprits = [_culprits(one, names) for one in (old, new)]
    whole, found = pair_tables(culprits[0], culprits[1], (*names, _CHECK))
    space, codes = whole.restricted(tuple(range(len(names)))), found.codes[:, :-1]
    checks = [whole.factors[-1].labels[code] for code in found.codes[:, -1]]
    changes = [
        changes_at(found.old < 0, codes, "new leak", None, checks, "worse"),
        changes_at(found.new < 0, codes, "leak gone", checks, None, "better"),
    ]
    return Findings(
        table=table_of(space, changes),
        factors=names,
        counted=_counted(old, new),
        told=tuple(ChangedWord(f"check {name}", *words) for name, words in _by_check(old, new, "verdict", "not asked")),
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


def _by_check(old: Lint, new: Lint, what: str, otherwise: Any) -> list[tuple[str, tuple[Any, Any]]]:
    """What both lints say of each check; `otherwise` where one of them does not have it."""
    before, after = ({check.name: getattr(check, what) for check in one.checks} for one in (old, new))
    names = dict.fromkeys([*before, *after])
    return [(name, (before.get(name, otherwise), after.get(name, otherwise))) for name in names]


def _counted(old: Lint, new: Lint) -> tuple[CountChange, ...]:
    rows = CountChange("rows", old.rows, new.rows), CountChange("combinations", old.combinations, new.combinations)
    culprits = _by_check(old, new, "culprits", 0)
    return (*rows, *(CountChange(f"culprits of {name}", *numbers) for name, numbers in culprits if any(numbers)))


def _notes(old: Lint, new: Lint) -> tuple[str, ...]:
    cut = sorted({check.name for one in (old, new) for check in one.checks if check.culprits > MOST_CULPRITS})
    if not cut:
        return ()
    return (
        f"A lint lists {MOST_CULPRITS:,} culprits of a check at most, and there are more of {', '.join(cut)}: some "
        "that are told as new or gone may only have changed their place.",
    )
