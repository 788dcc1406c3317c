"""More rows than a kernel can be written for: some of them stand for all (Nyström's approximation).

With m landmarks Z and K(Z, Z) = L L', every row has the m features φ(x) = L⁻¹ K(Z, x), and φ·φ' stands for the kernel.
Squared error needs the sums of φ φ' and φ y' over the rows alone, so rows pass in chunks, and what is kept is m × m:
nothing of size n² is ever written. What comes out is a machine on the landmarks' columns of the kernel, like any other.

How much is lost is said twice. `kept` is the share of the kernel's trace: the mean of φ·φ over that of K(x, x). And the
first half of the features are those of the first half of the landmarks, so what half of them would have given costs
nothing: where it is the same, more of them would not help.

Scikit-learn's `Nystroem` takes the same steps through another root of K(Z, Z), whose parts are not those of fewer
landmarks.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from recombine.algebra.groups import Numbers
from recombine.theory.examples.kernels import Kernel
from recombine.theory.examples.machines import Answered, Machine

_CHUNK = 4_000  # rows at a time
_JITTER = 1e-9
"""Of the mean diagonal: landmarks that are alike leave K(Z, Z) without a root."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A machine through landmarks, the same through half of them, and the share of the trace that they keep."""

    machine: Machine
    half: Machine
    kept: float


def fitted(kernel: Kernel, landmarks: Numbers, rows: Numbers, answers: Answered, *, ridge: float) -> Fitted:
    """Ridge regression of all rows' answers; `ridge` is a share of the kernel's mean diagonal.

    >>> from recombine.theory.examples.kernels import tangent
    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = fitted(tangent(2), x[:30], x, Answered("number", x[:, :1]), ridge=1e-3)
    >>> found.machine.weights.shape, 0.9 < found.kept <= 1
    ((30, 1), True)
    """
    own = kernel.between(landmarks, landmarks)
    own.flat[:: len(own) + 1] += _JITTER * float(own.diagonal().mean())
    root = linalg.cholesky(own, lower=True, check_finite=False)
    coded = answers.coded
    mean = coded.mean(axis=0)
    products, towards = np.zeros_like(own), np.zeros((len(own), coded.shape[1]))
    kept = total = 0.0
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        features = linalg.solve_triangular(root, kernel.between(landmarks, rows[part]), lower=True, check_finite=False)
        products += features @ features.T
        towards += features @ (coded[part] - mean)
        kept += float(np.square(features).sum())
        total += float(kernel.own(rows[part]).sum())
    size = ridge * total / len(rows)
    whole, half = (_solved(root, products, towards, size, many) for many in (len(own), len(own) // 2))
    return Fitted(Machine(whole, mean), Machine(half, mean), min(kept / total, 1.0))


def _solved(root: Numbers, products: Numbers, towards: Numbers, size: float, many: int) -> Numbers:
    """Weights on the first `many` landmarks; the others have none."""
    own = products[:many, :many].copy()
    own.flat[:: many + 1] += size
    along = linalg.solve(own, towards[:many], assume_a="sym", check_finite=False)
    found = np.zeros((len(root), towards.shape[1]))
    found[:many] = linalg.solve_triangular(root[:many, :many], along, lower=True, trans="T", check_finite=False)
    return found
