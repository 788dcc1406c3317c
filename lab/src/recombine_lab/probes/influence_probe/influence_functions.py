"""Which seen combinations taught a network what it says of an unseen one?

Letters: G seen combinations, U unseen ones, n training rows, m rows of a combination, p weights.

The network is taken to minimise the mean loss of the training rows, plus weight_decay / 2 times its squared weights,
plus damping / 2 times their squared distance from where training started (`start`), which is what gradient descent that
is stopped, or that fits its rows perfectly, comes to. Leaving a combination out moves the minimum. One Newton step with
all rows and one with the rest, from where the network stands, say how far:

    Δ = - (H_S + (weight_decay + damping) I)⁻¹ (g_S + c),    S = all rows, or the rest

g_S is the gradient of the mean loss and H_S its Gauss-Newton curvature (or Hessian); c pulls back, with weight_decay
times the weights and damping times their way from the start. Where the start is not known, c is what balances g of all
rows, so that the network as it stands is taken for the minimum. For least squares, ridge or not, this is leaving out
and solving again, exactly. With H of all rows, and the combination's own gradient alone, it is the usual influence
function (`first_order`), which forgets how much the combination itself held the weights (its leverage), and says
nothing where every row is fitted perfectly. The systems are solved, not approximated: for some 10^4 weights at most.

What a combination taught is how much the loss at the unseen combination rises without it: positive where it helped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.func import hessian

from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine_lab.models.layers import Forward, rows_of
from recombine_lab.probes.influence_probe.module_answers import Floats, Network, RowLoss, loss_of
from recombine_lab.probes.influence_probe.probe_examples import Ints, ProbeExamples, combinations_of

Curvature = Literal["gauss-newton", "hessian"]
MOST_WEIGHTS = 10_000
MOST_WEIGHTS_OF_A_HESSIAN = 2_000
_AT_ONCE = 64  # rows whose roots are held
_UNHELD = 1e-6  # of the root of the largest curvature
DAMPING = 1e-3
"""Of the mean curvature of a weight, where none is given."""


@dataclass(frozen=True, eq=False)
class InfluenceMatrix:
    """What each seen combination (columns) taught of each unseen one (rows), (U, G): the loss without it, less with it.

    `first_order` is the usual influence function; NaN where the weights are not determined without the combination.
    `loss` (U,) is the loss as it is.
    """

    seen: Sequence[dict[str, Any]]
    unseen: Sequence[dict[str, Any]]
    influence: Floats
    first_order: Floats
    loss: Floats
    rows: Ints
    damping: float
    how: str

    def table(self) -> pa.Table:
        """A row for each unseen and each seen combination."""
        pairs = [(u, g) for u in range(len(self.unseen)) for g in range(len(self.seen))]
        columns: dict[str, Any] = {}
        for side, named, place in (("unseen", self.unseen, 0), ("seen", self.seen, 1)):
            for factor in named[0]:
                columns[f"{side} {factor}"] = [named[pair[place]][factor] for pair in pairs]
        shared = [sum(self.unseen[u][name] == value for name, value in self.seen[g].items()) for u, g in pairs]
        known = {name: pa.array(_plain(getattr(self, name)), pa.float64()) for name in ("influence", "first_order")}
        return pa.table({**columns, "shared": shared, "rows": [int(self.rows[g]) for _, g in pairs], **known})


def _plain(values: Floats) -> list[float | None]:
    return [None if not np.isfinite(value) else float(value) for value in values.flatten()]


def taught(  # noqa: PLR0913 - each is one plain question, and all but three have an answer already
    module: nn.Module,
    seen: ProbeExamples,
    unseen: ProbeExamples,
    *,
    loss: str = "auto",
    weight_decay: float = 0.0,
    damping: float | None = None,
    start: nn.Module | None = None,
    curvature: Curvature = "gauss-newton",
    factors: Sequence[str] | None = None,
    forward: Forward | None = None,
    progress: Progress = silent,
) -> InfluenceMatrix:
    """What each seen combination taught of each unseen one, exactly.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> model = nn.Linear(2, 1, bias=False)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.0, 2.0]]))
    >>> rows = ProbeExamples(x, torch.tensor([[1.2], [2.2], [2.8]]), pa.table({"a": [1, 0, 1], "b": [0, 1, 1]}))
    >>> taught(model, rows, rows, damping=0.0).influence.shape
    (3, 3)
    """
    network = Network.of(module, forward)
    weights = network.flat.numel()
    check_size(weights, curvature)
    names = list(factors or seen.table.column_names)
    groups, seen_names = combinations_of(seen.table, names)
    asked, unseen_names = combinations_of(unseen.table, names)
    if len(seen_names) < 2:
        raise SettingError(
            "one seen combination",
            why="without it nothing would be left to learn from",
            instead="give training rows of two combinations or more",
        )
    rule = loss_of(loss, seen.targets)
    solver = _CurvatureSolver(
        network, seen, rule, weight_decay, damping, curvature, None if start is None else Network.of(start)
    )
    moves, first = [solver.settled()], []
    for k, rows in enumerate(_rows(groups)):
        progress("leaving out one combination after the other", k / len(seen_names))
        moves.append(solver.without(rows))
        first.append(solver.first_order(rows))
    losses = _losses(network, unseen, rule, torch.stack(moves), asked)
    return InfluenceMatrix(
        seen=seen_names,
        unseen=unseen_names,
        influence=losses[:, 1:] - losses[:, :1],
        first_order=_slopes(network, unseen, rule, torch.stack(first), asked),
        loss=_losses(network, unseen, rule, torch.zeros(1, weights, dtype=torch.float64), asked)[:, 0],
        rows=np.bincount(groups).astype(np.int64),
        damping=solver.damping,
        how=curvature if start is None else f"{curvature}, from the start of training",
    )


def check_size(weights: int, curvature: str) -> None:
    """Few enough weights to solve exactly."""
    most = MOST_WEIGHTS if curvature == "gauss-newton" else MOST_WEIGHTS_OF_A_HESSIAN
    if curvature not in ("gauss-newton", "hessian"):
        raise SettingError(f"curvature={curvature!r}", why="there are two", instead="write 'gauss-newton' or 'hessian'")
    if weights > most:
        raise SettingError(
            f"{weights:,} weights",
            why=f"the exact influence of combinations is solved for {most:,} at most ({curvature})",
            instead="write method='dattri', which approximates it (pip install dattri)",
        )


def _rows(groups: Ints) -> list[Tensor]:
    return [torch.from_numpy(np.flatnonzero(groups == group)) for group in range(int(groups.max()) + 1)]


class _CurvatureSolver:
    """The curvature of the objective, and what leaving rows out does to its minimum."""

    def __init__(
        self,
        network: Network,
        seen: ProbeExamples,
        rule: RowLoss,
        weight_decay: float,
        damping: float | None,
        curvature: Curvature,
        start: Network | None,
    ) -> None:
        self._network, self._seen, self._rule = network, seen, rule
        self._decay, self._curvature, self._n = weight_decay, curvature, len(seen)
        self._sum, self._gradient = self._total(torch.arange(self._n))
        mean = float(self._sum.diagonal().mean()) / self._n
        self.damping = DAMPING * mean if damping is None else float(damping)
        self._factors: dict[int, Tensor] = {}
        self._back = self._pulled_back(start)

    def _pulled_back(self, start: Network | None) -> Tensor:
        """(p,) What holds the weights against the loss."""
        if start is None:
            return -self._gradient / self._n
        here = self._network.flat
        if start.flat.shape != here.shape:
            raise SettingError(
                f"start with {start.flat.numel():,} weights",
                why=f"the network has {here.numel():,}, and its way from the start is asked for",
                instead="give the same network as it was before training",
            )
        return self._decay * here + self.damping * (here - start.flat)

    def _total(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The sum over rows of curvatures (p, p) and of gradients (p,)."""
        size = self._network.flat.numel()
        curvature = torch.zeros(size, size, dtype=torch.float64)
        gradient = torch.zeros(size, dtype=torch.float64)
        for some in torch.split(rows, _AT_ONCE):
            root, slope = self._roots(some)
            gradient += slope
            if self._curvature == "gauss-newton":
                curvature.addmm_(root, root.T)
        return (curvature if self._curvature == "gauss-newton" else self._hessian(rows)), gradient

    def _roots(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(p, rows k) A root of the Gauss-Newton curvature of some rows, and the sum of their gradients (p,)."""
        inputs, targets = rows_of(self._seen.inputs, rows), self._seen.targets[rows]
        outputs = self._network.outputs(inputs).detach()
        slope, root = self._rule.slope(outputs, targets), self._rule.root(outputs)
        parts = [
            (
                torch.einsum("nkp,nkr->pnr", jacobian, root[some]).flatten(1),
                torch.einsum("nkp,nk->p", jacobian, slope[some]),
            )
            for some, jacobian in self._network.jacobians(inputs)
        ]
        return torch.cat([one for one, _ in parts], dim=1), torch.stack([two for _, two in parts]).sum(0)

    def _hessian(self, rows: Tensor) -> Tensor:
        inputs, targets = rows_of(self._seen.inputs, rows), self._seen.targets[rows]

        def total(flat: Tensor) -> Tensor:
            outputs = self._network.outputs(inputs, self._network.shaped(flat))
            return self._rule.value(outputs, targets).sum()

        return torch.as_tensor(hessian(total)(self._network.flat)).detach()

    def settled(self) -> Tensor:
        """(p,) How the weights move to the minimum with all rows; not at all where they are taken to be there."""
        pull = -(self._gradient / self._n + self._back)
        return torch.cholesky_solve(pull[:, None], self._factor(self._n))[:, 0]

    def without(self, rows: Tensor) -> Tensor:
        """(p,) How the weights move to the minimum without some rows; NaN where nothing holds them any more."""
        left = self._n - len(rows)
        root, gradient = self._roots(rows)
        pull = -((self._gradient - gradient) / left + self._back)
        if self._curvature == "hessian":
            return self._solved(self._shifted((self._sum - self._hessian(rows)) / left), pull)
        if root.shape[1] >= len(pull):
            return self._solved(self._shifted((self._sum - root @ root.T) / left), pull)
        narrow = root / left**0.5
        solved = torch.cholesky_solve(torch.cat([pull[:, None], narrow], dim=1), self._factor(left))
        # (M - N Nᵀ)⁻¹ b = M⁻¹ b + M⁻¹ N (I - Nᵀ M⁻¹ N)⁻¹ Nᵀ M⁻¹ b (Woodbury); 1 - the inner product is 1 - leverage.
        inner = torch.eye(narrow.shape[1], dtype=torch.float64) - narrow.T @ solved[:, 1:]
        small, wrong = torch.linalg.cholesky_ex(inner)
        if int(wrong) or float(small.diagonal().min()) < _UNHELD:
            return self._solved(self._shifted((self._sum - root @ root.T) / left), pull)
        return solved[:, 0] + solved[:, 1:] @ torch.cholesky_solve(narrow.T @ solved[:, :1], small)[:, 0]

    def first_order(self, rows: Tensor) -> Tensor:
        """(p,) The same by the curvature of all rows: the usual influence function."""
        _, gradient = self._roots(rows)
        return torch.cholesky_solve(gradient[:, None] / self._n, self._factor(self._n))[:, 0]

    def _factor(self, left: int) -> Tensor:
        """A Cholesky factor of the curvature of all rows, over as many as are left."""
        if left not in self._factors:
            factor, wrong = torch.linalg.cholesky_ex(self._shifted(self._sum / left))
            if int(wrong):
                raise self._indefinite()
            self._factors = {kept: one for kept, one in self._factors.items() if kept == self._n} | {left: factor}
        return self._factors[left]

    def _shifted(self, matrix: Tensor) -> Tensor:
        found = matrix.clone()
        found.diagonal().add_(self._decay + self.damping)
        return found

    def _solved(self, matrix: Tensor, pull: Tensor) -> Tensor:
        factor, wrong = torch.linalg.cholesky_ex(matrix)
        # A weight that nothing holds has no curvature but for rounding.
        if int(wrong) or float(factor.diagonal().min()) < _UNHELD * float(factor.diagonal().max()):
            return torch.full_like(pull, torch.nan)
        return torch.cholesky_solve(pull[:, None], factor)[:, 0]

    def _indefinite(self) -> SettingError:
        return SettingError(
            f"damping={self.damping:.3g} with {self._curvature} curvature",
            why="the objective has directions without positive curvature, so that it has no single minimum to move",
            instead=f"write a larger damping, for example {max(10 * self.damping, 1e-3):.2g}, or 'gauss-newton'",
        )


def _losses(network: Network, unseen: ProbeExamples, rule: RowLoss, moves: Tensor, asked: Ints) -> Floats:
    """(U, moves) The loss of unseen combinations after moves of the weights.

    Outputs move to first order, and the loss is worked out from them: exact where outputs are linear in the weights.
    """
    own = network.outputs(unseen.inputs).detach()
    found = [rule.value(own + one, unseen.targets) for one in network.moved(unseen.inputs, moves)]
    return _by_group(torch.stack(found).T.numpy(), asked)


def _slopes(network: Network, unseen: ProbeExamples, rule: RowLoss, moves: Tensor, asked: Ints) -> Floats:
    """(U, G) The slope of the loss along moves, without the loss's own curvature: the usual influence function."""
    slope = rule.slope(network.outputs(unseen.inputs).detach(), unseen.targets)
    rise = torch.einsum("nk,dnk->nd", slope, network.moved(unseen.inputs, moves))
    return _by_group(rise.numpy(), asked)


def _by_group(values: Floats, groups: Ints) -> Floats:
    """(groups, …) Means over the rows of each group."""
    sums = np.zeros((int(groups.max()) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums / np.bincount(groups)[:, None]
