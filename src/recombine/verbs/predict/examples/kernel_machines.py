"""Kernel machines on examples: what a trained network tends to, solved without training.

A classifier trained with cross-entropy ends near the largest margin (`margin`, by scikit-learn on the kernel itself); a
network trained on squared error, or stopped early, near ridge regression (`squared`), and along the way at gradient
flow (`flow`): after a time t along an eigenvector with eigenvalue λ of the kernel it has learnt the share
1 − exp(−λ t/n).

Every machine's scores are linear in the rows of the kernel: scores = K W + b. So scores of rows that nobody has can be
put together from those of rows that somebody has (`composed_rows`), and many rows are answered by one product.

More rows than a kernel can be written for: some of them stand for all (Nyström's approximation).

With m landmarks Z and K(Z, Z) = L L', every row has the m features φ(x) = L⁻¹ K(Z, x), and φ·φ' stands for the kernel.
Squared error needs the sums of φ φ' and φ y' over the rows alone, so rows pass in chunks, and what is kept is m × m:
nothing of size n² is ever written. What comes out is a machine on the landmarks' columns of the kernel, like any other.

How much is lost is said twice. `kept` is the share of the kernel's trace: the mean of φ·φ over that of K(x, x). And the
first half of the features are those of the first half of the landmarks, so what half of them would have given costs
nothing: where it is the same, more of them would not help.

Scikit-learn's `Nystroem` takes the same steps through another root of K(Z, Z), whose parts are not those of fewer
landmarks.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy import linalg

from recombine.base.plugins import needed
from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.predict.examples.input_kernels import Kernel, fetched, library

Kind = Literal["label", "number"]
HARD = 1000.0
"""The penalty of a margin that is as good as hard."""
RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""As shares of the kernel's mean diagonal; the best on held-out rows is taken."""
_MOST_STEPS = 500
"""Steps of a margin's solver for each row. On noise it ends within 320; where rows of different classes are all but the
same it can go on for ever, and its answers no longer change."""
MOST_PAIRED = 100
"""Classes up to which every pair of them has its margin."""
_TIMES = np.logspace(-3, 7, 81)
_CLOSE_CALL = 1 / 3


@dataclass(frozen=True, eq=False)
class CodedAnswers:
    """The answers of some rows: the place of a class each, or numbers (n, q)."""

    kind: Kind
    values: Numbers  # (n, q); of a label its place, (n, 1)
    classes: int = 0
    share: bool = False  # numbers that are 0 or 1 in every row: what is said of them lies between

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "CodedAnswers":
        return CodedAnswers(self.kind, self.values[rows], self.classes, self.share)

    @cached_property
    def labels(self) -> Ints:
        """The place of each row's class."""
        return self.values[:, 0].astype(np.int64)

    @cached_property
    def coded(self) -> Numbers:
        """What squared error is measured on: the numbers, or +1 for a row's class and -1 for the others."""
        if self.kind == "number":
            return self.values
        return np.asarray(2.0 * (self.labels[:, None] == np.arange(self.classes)) - 1)

    @property
    def varies(self) -> bool:
        """Whether there are two answers at all."""
        return bool((self.values != self.values[:1]).any())

    @property
    def score(self) -> Literal["accuracy", "R²"]:
        """The name of the score that such answers are held to."""
        return "R²" if self.kind == "number" else "accuracy"

    def marks(self, scores: Numbers) -> Numbers:
        """How each row fared: 1 for the right class, else 0; of numbers the squared error."""
        if self.kind == "number":
            said = np.clip(scores, 0.0, 1.0) if self.share else scores  # which only brings it nearer to the truth
            return np.asarray(np.square(said - self.values).sum(axis=1))
        return np.asarray(scores.argmax(axis=1) == self.labels, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted machine: `raw` scores are linear in the kernel's rows, and `scores` has one column for each class."""

    weights: Numbers  # (n, q), or (n, pairs)
    offset: Numbers
    present: Ints | None = None  # the classes that are compared in pairs
    classes: int = 0
    finished: bool = True  # whether its solver came to an end, or was stopped

    def raw(self, rows: Numbers) -> Numbers:
        """(m, n) rows of the kernel -> scores, or a margin for each pair of classes."""
        return rows @ self.weights + self.offset

    def scores(self, raw: Numbers) -> Numbers:
        """A score for each output or class; of pairs the number that a class wins, and by how much where some tie."""
        if self.present is None:
            return raw
        found = np.full((len(raw), self.classes), -np.inf)
        wins, lead = (np.zeros((len(raw), len(self.present))) for _ in range(2))
        for pair, (i, j) in enumerate(combinations(range(len(self.present)), 2)):
            first = raw[:, pair] > 0
            wins[:, i] += first
            wins[:, j] += ~first
            lead[:, i] += raw[:, pair]
            lead[:, j] -= raw[:, pair]
        found[:, self.present] = wins + _CLOSE_CALL * lead / (np.abs(lead) + 1)
        return found

    def answer(self, rows: Numbers) -> Numbers:
        """Rows of the kernel -> a score for each output or class."""
        return self.scores(self.raw(rows))


def margin(kernel: Any, answers: CodedAnswers, *, penalty: float = HARD) -> Machine:
    """The largest margin between every two classes."""
    matrix, labels = fetched(kernel), answers.labels
    present = np.unique(labels)
    if len(present) == 1:
        nothing = np.zeros((len(labels), answers.classes))
        return Machine(nothing, np.asarray(np.arange(answers.classes) == present[0], dtype=np.float64))
    svm = needed("sklearn.svm", "a forecast of a label from examples", extra="examples")
    solver = svm.SVC(kernel="precomputed", C=penalty, cache_size=500, max_iter=_MOST_STEPS * len(labels))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solver terminated early")  # `finished` says so
        made = solver.fit(matrix, labels)
    sign = -1.0 if len(present) == 2 else 1.0  # for two classes scikit-learn turns the sign round
    weights = np.zeros((len(labels), len(present) * (len(present) - 1) // 2))
    duals, support = np.asarray(made.dual_coef_), np.asarray(made.support_)
    starts = np.concatenate([[0], np.cumsum(made.n_support_)])
    for pair, (i, j) in enumerate(combinations(range(len(present)), 2)):
        mine, theirs = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        weights[support[mine], pair] = sign * duals[j - 1, mine]
        weights[support[theirs], pair] = sign * duals[i, theirs]
    finished = made.fit_status_ == 0
    return Machine(weights, sign * np.asarray(made.intercept_), present, answers.classes, finished)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A kernel with a ridge, factored once: (K + ridge I) = L L'.

    The first rows of L are the factor of the first rows of K alone, so that a machine fitted to some rows, which stand
    first, costs nothing beside one that is fitted to all.
    """

    factor: Any  # (n, n), lower

    @classmethod
    def of(cls, kernel: Any, ridge: float) -> "Ridge":
        """`ridge` is a share of the kernel's mean diagonal."""
        size = ridge * float(kernel.diagonal().mean())
        if isinstance(kernel, np.ndarray):
            shifted = kernel.copy()
            shifted.flat[:: len(kernel) + 1] += size
            return cls(linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False))
        tensors = library(kernel)
        eye = tensors.eye(len(kernel), dtype=kernel.dtype, device=kernel.device)
        return cls(tensors.linalg.cholesky(kernel + size * eye))

    def fit(self, answers: CodedAnswers) -> Machine:
        """Ridge regression with a free constant, on as many of the first rows as there are answers."""
        mean, rows = answers.coded.mean(axis=0), len(answers)
        apart, factor = answers.coded - mean, self.factor[:rows, :rows]
        if isinstance(factor, np.ndarray):
            return Machine(np.asarray(linalg.cho_solve((factor, True), apart, check_finite=False)), mean)
        tensors = library(factor)
        return Machine(fetched(tensors.cholesky_solve(tensors.as_tensor(apart, device=factor.device), factor)), mean)


def squared(kernel: Any, answers: CodedAnswers, *, ridge: float) -> Machine:
    """Ridge regression with a free constant; `ridge` is a share of the kernel's mean diagonal."""
    return Ridge.of(kernel, ridge).fit(answers)


@dataclass(frozen=True, eq=False)
class Flow:
    """Gradient flow on squared error, which can be stopped at any time."""

    values: Numbers
    vectors: Numbers
    turned: Numbers  # (n, q) the centred answers along the eigenvectors
    offset: Numbers

    @classmethod
    def of(cls, kernel: Any, answers: CodedAnswers) -> "Flow":
        """One eigendecomposition for all times."""
        values, vectors = (fetched(part) for part in library(kernel).linalg.eigh(kernel))
        coded = answers.coded
        mean = coded.mean(axis=0)
        return cls(np.maximum(values, 0.0), vectors, vectors.T @ (coded - mean), mean)

    def learnt(self, time: float) -> Numbers:
        """(n, q) What has been learnt along each eigenvector after this time: (1 − exp(−λ t/n))/λ V'y."""
        rate = time / len(self.values)
        top = max(float(self.values[-1]), 1e-300)
        safe = np.maximum(self.values, 1e-12 * top)
        share = np.where(self.values > 1e-12 * top, -np.expm1(-safe * rate) / safe, rate)
        return np.asarray(share[:, None] * self.turned)

    def at(self, time: float) -> Machine:
        """Stopped after this time: f = K V (1 − exp(−λ t/n))/λ V'y."""
        return Machine(self.vectors @ self.learnt(time), self.offset)


def stopped(flow: Flow, between: Numbers, judge: Callable[[Numbers], float], wanted: float) -> tuple[Machine, bool]:
    """The earliest stop at which the score of some rows is as wanted, and whether it ever is; else the best.

    `between` (m, n) is the kernel of those rows, `judge` turns their scores into one number. The rows are turned to
    the eigenvectors once: after that a time costs one product, for all outputs together.
    """
    turned = between @ flow.vectors
    best, score = 0.0, -np.inf
    for time in _TIMES:
        found = judge(turned @ flow.learnt(float(time)) + flow.offset)
        if found >= wanted:
            return flow.at(float(time)), True
        if found > score:
            best, score = float(time), found
    return flow.at(best), False


_CHUNK = 4_000  # rows at a time
_JITTER = 1e-9
"""Of the mean diagonal: landmarks that are alike leave K(Z, Z) without a root."""


@dataclass(frozen=True, eq=False)
class LandmarkFit:
    """A machine through landmarks, the same through half of them, and the share of the trace that they keep."""

    machine: Machine
    half: Machine
    kept: float


def fitted(kernel: Kernel, landmarks: Numbers, rows: Numbers, answers: CodedAnswers, *, ridge: float) -> LandmarkFit:
    """Ridge regression of all rows' answers; `ridge` is a share of the kernel's mean diagonal.

    >>> from recombine.verbs.predict.examples.input_kernels import tangent
    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = fitted(tangent(2), x[:30], x, CodedAnswers("number", x[:, :1]), ridge=1e-3)
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
    return LandmarkFit(Machine(whole, mean), Machine(half, mean), min(kept / total, 1.0))


def _solved(root: Numbers, products: Numbers, towards: Numbers, size: float, many: int) -> Numbers:
    """Weights on the first `many` landmarks; the others have none."""
    own = products[:many, :many].copy()
    own.flat[:: many + 1] += size
    along = linalg.solve(own, towards[:many], assume_a="sym", check_finite=False)
    found = np.zeros((len(root), towards.shape[1]))
    found[:many] = linalg.solve_triangular(root[:many, :many], along, lower=True, trans="T", check_finite=False)
    return found
