"""A mixed-integer program, handed to HiGHS: the solver behind SciPy's `milp`, which can be stopped and seeded here."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Ints, Numbers

_FREE = np.inf
_TICK_SECONDS = 0.1  # how soon an interruption is noticed


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """What the solver found: `values` is None where there is nothing; `proven` where that, or the best, is certain."""

    values: Numbers | None
    proven: bool


@dataclass(eq=False)
class Program:
    """A program that grows row by row: minimise `costs`, with every unknown between 0 and 1.

    >>> program = Program(costs=np.array([1.0, 2.0]))
    >>> program.add(np.array([0, 1]), np.array([1.0, 1.0]), least=1.0)
    >>> program.solve(seconds=5).values.tolist()
    [1.0, 0.0]
    """

    costs: Numbers
    whole: npt.NDArray[np.bool_] | None = None
    _rows: list[tuple[Ints, Ints, Numbers, Numbers, Numbers]] = field(default_factory=list, init=False)

    def add(self, unknowns: Ints, weights: Numbers, *, least: float = -_FREE, most: float = _FREE) -> None:
        """One row: the weighted sum of some unknowns lies between two bounds."""
        starts = np.array([0, len(unknowns)])
        self.add_many(starts, unknowns, weights, least=np.array([least]), most=np.array([most]))

    def add_many(self, starts: Ints, unknowns: Ints, weights: Numbers, *, least: Numbers, most: Numbers) -> None:
        """Many rows at once, one after the other in `unknowns`; row i goes from `starts[i]` to `starts[i + 1]`."""
        self._rows.append((starts, unknowns, weights, least, most))

    def solve(self, *, seconds: float, seed: int = 0, first: bool = False) -> ProgramSolution:
        """The best solution, or with `first` any; within a time."""
        import highspy  # noqa: PLC0415 - 12 MB, for those who need it

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        gap = np.inf if first else 0.0
        settings = {"time_limit": float(seconds), "random_seed": seed, "threads": 1, "mip_rel_gap": gap}
        tight = dict.fromkeys(("mip_feasibility_tolerance", "primal_feasibility_tolerance"), 1e-9)
        for option, value in (settings | tight).items():
            solver.setOptionValue(option, value)
        solver.passModel(self._model(highspy))
        _run(solver)
        status = solver.getModelStatus()
        found = solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(solver.getSolution().col_value) if found else None
        certain = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
        return ProgramSolution(values, status in certain)

    def _model(self, highspy: Any) -> Any:
        from scipy import sparse  # noqa: PLC0415 - as for the solver

        width = len(self.costs)
        blocks = [sparse.csr_array((block[2], block[1], block[0]), (len(block[3]), width)) for block in self._rows]
        matrix = sparse.vstack(blocks, format="csr")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = matrix.shape[::-1]
        model.col_cost_ = self.costs
        model.col_lower_, model.col_upper_ = np.zeros(len(self.costs)), np.ones(len(self.costs))
        model.row_lower_, model.row_upper_ = (
            np.concatenate([block[bound] for block in self._rows]).astype(np.float64) for bound in (3, 4)
        )
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data.astype(np.float64)
        whole = np.ones(len(self.costs), dtype=bool) if self.whole is None else self.whole
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(flag)] for flag in whole]
        return model


def _run(solver: Any) -> None:
    """Let the solver work in a thread of its own, so that Ctrl-C is heard at once."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        while not solver.wait(_TICK_SECONDS)[0]:
            pass
    except BaseException:
        solver.cancelSolve()
        raise
