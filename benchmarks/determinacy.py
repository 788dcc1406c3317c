"""What is determined, counted exactly: `determinacy(support)` and `.count()` on large tables of every shape.

Measured, each in a fresh process, with time and peak memory, from distinct combinations that are already in
memory: uniform ones and Zipf-distributed ones (the value of rank r is drawn with weight 1/r), up to 10^7
combinations, and sparse, loose ones, where islands alone do not tell. Goal: each below 60 seconds.

Beside it, what one would do instead, on sizes where it finishes:

- dense: the pseudo-inverse of the one-hot design (NumPy), a combination being determined if what it projects
  onto the null space is below a tolerance; 3 factors of 300 values;
- LSMR: an iterative least-squares solve (SciPy) for each combination asked about, determined if the residual
  is below a tolerance; on a sparse table.

Both are told the same combinations as ours, and their verdicts are compared.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import measure

GOAL_SECONDS = 60
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Table:
    """Distinct combinations to draw at random."""

    combinations: int
    factors: int
    values: int
    drawn: str = "uniform"

    def __str__(self) -> str:
        return f"{self.combinations:,} of {self.factors} x {self.values:,} values, {self.drawn}"


FULL = (
    Table(10**6, 3, 10**4),
    Table(10**6, 3, 10**4, "Zipf"),
    Table(3 * 10**6, 4, 10**4),
    Table(3 * 10**6, 4, 10**4, "Zipf"),
    Table(10**7, 2, 10**5),
    Table(45_000, 3, 10**4),
    Table(30_000, 3, 10**4),
)
SMOKE = (Table(10**4, 3, 10**3), Table(10**4, 3, 10**3, "Zipf"), Table(3_000, 3, 10**3))
BESIDE = (Table(900, 3, 300), 10_000, Table(30_000, 3, 10**4), 20)
BESIDE_SMOKE = (Table(180, 3, 60), 1_000, Table(3_000, 3, 10**3), 5)


def draw(table: Table) -> np.ndarray:
    """Exactly so many distinct combinations, the same every time."""
    rng = np.random.default_rng(0)
    weights = np.ones(table.values) if table.drawn == "uniform" else 1 / np.arange(1, table.values + 1)
    reach = np.cumsum(weights / weights.sum())
    keys = np.zeros(0, dtype=np.int64)
    while len(keys) < table.combinations:
        drawn = np.searchsorted(reach, rng.random((table.combinations, table.factors)))
        packed = np.ravel_multi_index(tuple(drawn.T), (table.values,) * table.factors, mode="clip")
        keys = np.concatenate([keys, packed])
        keys = keys[np.sort(np.unique(keys, return_index=True)[1])]  # in the order in which they were drawn
    chosen = np.unravel_index(np.sort(keys[: table.combinations]), (table.values,) * table.factors)
    return np.stack(chosen, axis=1).astype(np.int32)


def asked(table: Table, count: int) -> np.ndarray:
    """Combinations to ask about: drawn at random from the values that were seen."""
    rng = np.random.default_rng(1)
    return np.stack([rng.choice(np.unique(column), size=count) for column in draw(table).T], axis=1)


def support_of(table: Table) -> Any:
    """The table as recombine holds it."""
    from recombine import Factor, Space, Support

    names = tuple(f"value {value}" for value in range(table.values))
    codes = np.asfortranarray(draw(table))
    space = Space(tuple(Factor(f"factor {k}", names) for k in range(table.factors)))
    return Support(space, codes, np.ones(len(codes)), rows=len(codes))


def count(table: Table) -> Callable[[], tuple[int, int, int]]:
    """Ours: find what is determined, and count it over the whole space."""
    from recombine.verbs.audit.determinacy import determinacy

    support = support_of(table)

    def work() -> tuple[int, int, int]:
        found = determinacy(support)
        return found.rank, found.deficit, found.count()

    return work


def ours(table: Table, many: int) -> Callable[[], list[bool]]:
    """Ours, asked about some combinations."""
    from recombine.verbs.audit.determinacy import determinacy

    support, combinations = support_of(table), asked(table, many)
    return lambda: determinacy(support).determined(combinations).tolist()


def dense(table: Table, many: int) -> Callable[[], list[bool]]:
    """The pseudo-inverse."""
    from numpy.linalg import pinv

    seen, combinations = one_hot(draw(table), table), one_hot(asked(table, many), table)

    def work() -> list[bool]:
        design, wanted = seen.toarray(), combinations.toarray()
        left_over = wanted - wanted @ (pinv(design) @ design)
        return (np.linalg.norm(left_over, axis=1) < TOLERANCE).tolist()

    return work


def lsmr(table: Table, many: int) -> Callable[[], list[bool]]:
    """One iterative solve a combination."""
    from scipy.sparse.linalg import lsmr as solve

    transposed = one_hot(draw(table), table).T.tocsr()
    combinations = one_hot(asked(table, many), table)

    def work() -> list[bool]:
        wanted = [combinations[[row]].toarray().ravel() for row in range(many)]
        residuals = [solve(transposed, row, atol=1e-10, btol=1e-10)[3] for row in wanted]
        return [bool(residual < TOLERANCE) for residual in residuals]

    return work


def one_hot(codes: np.ndarray, table: Table) -> Any:
    """A row for each combination, with a one for each of its values."""
    from scipy.sparse import csr_array

    columns = (codes + np.arange(table.factors) * table.values).ravel()
    shape = (len(codes), table.factors * table.values)
    return csr_array((np.ones(codes.size), columns, np.arange(len(codes) + 1) * table.factors), shape=shape)


def beside(table: Table, rival: measure.Prepare, many: int, *, rounds: int) -> dict[str, Any]:
    """Time a rival and ours on the same questions, and compare the verdicts."""
    subjects = {"ours": (ours, table, many), rival.__name__: (rival, table, many)}
    found = measure.take_turns(subjects, rounds=rounds)
    mine, theirs = found["ours"], found[rival.__name__]
    differ = sum(a != b for a, b in zip(mine.answer, theirs.answer, strict=True))
    print(f"\n{table}; {many:,} asked about, {sum(mine.answer):,} of them determined; median of {rounds}")
    measure.table(
        ["", "seconds", "times ours", "CPU seconds", "times ours", "peak GiB"],
        [[name, m.median, m.median / mine.median, m.cpu, m.cpu / mine.cpu, m.peak_gib] for name, m in found.items()],
    )
    print(f"verdicts that differ: {differ}")
    times = {name: m.plain() | {"answer": None} for name, m in found.items()}
    return {
        "table": str(table),
        "asked": many,
        "ratio": theirs.median / mine.median,
        "differ": differ,
    } | times


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    rounds = 1 if given.smoke else 3
    lines, figures = [], []
    for table in SMOKE if given.smoke else FULL:
        found = measure.take_turns({"ours": (count, table)}, rounds=rounds)["ours"]
        rank, deficit, determined = found.answer
        share = determined / table.values**table.factors
        lines.append([str(table), found.median, found.cpu, found.peak_gib, rank, deficit, share])
        figures.append({"table": str(table), **found.plain()})
    header = ["combinations", "seconds", "CPU seconds", "peak GiB", "rank", "loose", "share determined"]
    measure.table(header, lines)
    worst = max(line[1] for line in lines)
    print(f"slowest {worst:.1f} s (goal: below {GOAL_SECONDS}); median of {rounds}")
    dense_table, dense_asked, sparse_table, sparse_asked = BESIDE_SMOKE if given.smoke else BESIDE
    rivals = [
        beside(dense_table, dense, dense_asked, rounds=rounds),
        beside(sparse_table, lsmr, sparse_asked, rounds=rounds),
    ]
    measure.write("determinacy", given, {"exact": figures, "beside": rivals})


if __name__ == "__main__":
    main()
