"""Forecasts from examples: seconds beside scikit-learn's SVC and KernelRidge on the same kernel, and over many rows.

The same rows, the same tangent kernel of depth 2, the same penalty: each subject is given the kernel, fits, and answers
the asked rows. Then whole forecasts of tables with more and more rows, of which some of each combination are fetched.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

from collections.abc import Callable
from typing import Any

import numpy as np

import measure

FULL, SMOKE = (1_000, 3_000), (300,)
TABLES_FULL, TABLES_SMOKE = (10_000, 100_000, 1_000_000), (3_000,)
_CLASSES, _INPUTS = 10, 200


def kernel(rows: int) -> tuple[Any, Any, Any]:
    """A kernel between rows of ten noisy classes, one from other rows to them, and the classes."""
    from recombine.verbs.predict.examples.input_kernels import Scaling, tangent

    rng = np.random.default_rng(0)
    labels = np.arange(rows) % _CLASSES
    centres = rng.normal(size=(_CLASSES, _INPUTS))
    x, other = (centres[labels] + 3 * rng.normal(size=(rows, _INPUTS)) for _ in range(2))
    scaled = Scaling.of(x)
    own, between = scaled(x), scaled(other)
    return tangent(2).between(own, own), tangent(2).between(between, own), labels


def ours_margin(rows: int) -> Callable[[], Any]:
    from recombine.verbs.predict.examples import kernel_machines

    own, between, labels = kernel(rows)
    answers = kernel_machines.CodedAnswers("label", labels[:, None].astype(float), _CLASSES)
    kernel_machines.margin(own[:20, :20], answers[np.arange(20)])  # scikit-learn is loaded when it is first needed
    return lambda: kernel_machines.margin(own, answers).answer(between).argmax(axis=1)


def theirs_margin(rows: int) -> Callable[[], Any]:
    from sklearn.svm import SVC

    own, between, labels = kernel(rows)
    return lambda: SVC(kernel="precomputed", C=1000.0).fit(own, labels).predict(between)


def ours_ridge(rows: int) -> Callable[[], Any]:
    from recombine.verbs.predict.examples import kernel_machines

    own, between, labels = kernel(rows)
    answers = kernel_machines.CodedAnswers("label", labels[:, None].astype(float), _CLASSES)
    return lambda: kernel_machines.squared(own, answers, ridge=0.01).answer(between).argmax(axis=1)


def theirs_ridge(rows: int) -> Callable[[], Any]:
    from sklearn.kernel_ridge import KernelRidge

    own, between, labels = kernel(rows)
    coded = 2.0 * (labels[:, None] == np.arange(_CLASSES)) - 1
    mean, alpha = coded.mean(axis=0), 0.01 * float(np.diag(own).mean())

    def work() -> Any:
        made = KernelRidge(alpha=alpha, kernel="precomputed").fit(own, coded - mean)
        return (made.predict(between) + mean).argmax(axis=1)

    return work


def from_table(rows: int) -> Callable[[], Any]:
    """A table of 10 x 10 pairs with lists of 32 numbers, 30 of the pairs unseen."""
    import pyarrow as pa

    import recombine
    from recombine.verbs.predict.answers import answers
    from recombine.verbs.predict.examples.table_forecast import Examples, Known, forecast_from

    rng = np.random.default_rng(0)
    codes = rng.integers(10, size=(rows, 2))
    codes = codes[(codes.sum(axis=1) % 10) >= 3]
    x = np.eye(10)[codes].reshape(len(codes), 20) + 0.5 * rng.normal(size=(len(codes), 20))
    flat = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel().astype(np.float32)), 20)
    table = pa.table({"a": codes[:, 0].astype(str), "b": codes[:, 1].astype(str), "y": codes[:, 0], "x": flat})
    how: Any = {"factors": ["a", "b"], "target": "y"}

    def work() -> Any:
        support = recombine.read(table, **how)
        known = Known(support, answers(support), None, 30)
        return forecast_from(table, known, Examples(inputs="x"), how).expected.value

    return work


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    rounds = 1 if given.smoke else 3
    lines, figures = [], []
    for rows in SMOKE if given.smoke else FULL:
        for name, mine, theirs in (("SVC", ours_margin, theirs_margin), ("KernelRidge", ours_ridge, theirs_ridge)):
            found = measure.take_turns({name: (theirs, rows), "recombine": (mine, rows)}, rounds=rounds)
            agreed = float(np.mean(found[name].answer == found["recombine"].answer))
            ratio = found["recombine"].cpu / max(found[name].cpu, 1e-9)
            lines.append([name, rows, found[name].cpu, found["recombine"].cpu, ratio, agreed])
            figures.append({"beside": name, "rows": rows, "cpu_ratio": ratio, "agreed": agreed})
            assert agreed > 0.95, "the answers differ"
    measure.table(["beside", "rows", "theirs CPU s", "ours CPU s", "ratio", "agreed"], lines)
    lines = []
    for rows in TABLES_SMOKE if given.smoke else TABLES_FULL:
        found = measure.take_turns({"forecast": (from_table, rows)}, rounds=1)["forecast"]
        lines.append([f"{rows:,}", found.median, found.cpu, found.peak_gib, found.answer])
        figures.append({"table": rows, "seconds": found.median, "cpu": found.cpu, "forecast": found.answer})
    measure.table(["rows of the table", "seconds", "CPU s", "GiB", "forecast"], lines)
    measure.write("examples", given, figures)


if __name__ == "__main__":
    main()
