"""Lint of more combinations than fit in memory: whether test combinations are in training, and test values are.

A row that is on both sides brings its combination to both, so where no combination is, no row is. The other checks list
combinations, and are left out, which each of them says.
"""

from recombine.base.records import Provenance
from recombine.base.words import amount, count
from recombine.data.split_sides import SEEN, SIDES
from recombine.data.stored_sides import StoredSides
from recombine.verbs.split.lint.lint_result import Lint, LintCheck, SideCount

_LEFT_OUT = ("conjunctions", "exchanged", "ids", "validation", "classes", "seen", "sizes", "missing", "determined")


def lint_stored(sides: StoredSides, *, factors: tuple[str, ...], provenance: Provenance) -> Lint:
    """Hold a split to the claim that no test combination is in training, from counts on disk."""
    tested = sides.rows["test"] > 0 and sides.rows["train"] > 0
    leaked = amount(sides.leaked, "test combination")
    none = sides.rows_in_all - sum(sides.rows.values())
    checks = (
        LintCheck(
            "combinations",
            "fail",
            f"{leaked} in training too, with {amount(sides.leaked_rows, 'test row')}.",
            sides.leaked,
        )
        if sides.leaked
        else LintCheck("combinations", "pass", "No test combination is in training."),
        *(_values(sides),),
        LintCheck("rows", "pass", "No row is on both sides: no combination is.")
        if not sides.leaked
        else LintCheck("rows", "not asked", "Rows were not compared: counted on disk."),
        LintCheck("sides", "warning", f"{amount(none, 'row')} on no side.", none)
        if none
        else LintCheck("sides", "pass", "Every row is on a side."),
        *(LintCheck(name, "not asked", f"Not looked at, because it lists combinations: {name}.") for name in _LEFT_OUT),
    )
    failing = [check for check in checks if check.verdict == "fail"]
    passed = f"Split check passed on its {amount(sides.rows['test'], 'test row')}"
    said = (
        f"This split does not hold out combinations. {failing[0].sentence}"
        if failing
        else f"{passed}: no test combination is in training, and every test value is. Counted on disk; "
        f"{len(_LEFT_OUT)} checks were left out."
    )
    return Lint(
        verdict=said if tested else "There is no test side, so there is nothing to hold the split to.",
        grade="untested" if not tested else "failing" if failing else "sound",
        expect="combinations",
        order=2,
        factors=factors,
        rows=sides.rows_in_all,
        combinations=sides.combinations_in_all,
        sides=tuple(
            SideCount(side, sides.words[side], sides.rows[side], sides.combinations[side])
            for side in (*SIDES, SEEN)
            if side in SIDES or sides.rows[side]
        ),
        checks=checks,
        digest="",
        provenance=provenance,
    )


def _values(sides: StoredSides) -> LintCheck:
    lost = {name: many for name, many in sides.lost.items() if many}
    if not lost:
        return LintCheck("values", "pass", "Every test value is in training.")
    said = ", ".join(f"{count(many)} of {name}" for name, many in lost.items())
    return LintCheck("values", "fail", f"Test values that training lacks: {said}.", sum(lost.values()))
