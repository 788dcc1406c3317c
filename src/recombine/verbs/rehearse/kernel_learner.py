"""The kernel machines on examples, as a learner: what wide networks would answer, in closed form.

Nobody knows what network will be trained, so several are asked together (`verbs.predict.examples.forecast_members` says
which): depths 1 to 3, unless one is named. Each gives its own answers; their mean is the score, and their spread widens
the interval.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.predict.examples import example_rows
from recombine.verbs.predict.examples.forecast_members import KernelRows, losses_of, made
from recombine.verbs.predict.examples.input_kernels import Kernel, Scaling, fetched, kernels_of, matrices
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers, Machine, margin
from recombine.verbs.rehearse.round_examples import RehearsalExamples

MOST_ROWS = 1_500
"""Rows that are fitted in a round, as evenly over the combinations as they allow."""
_ASKED = 4_000  # rows that are answered at a time
_HELD = 0.2  # of the rows, where no combination has a second one: the ridge is chosen on them
EXAMPLES = "examples"
_FAMILIES = (EXAMPLES, "relu", "ntk", "linear")
"""How such a learner is called: all depths together, or one kernel of `theory.examples` ("relu:2", "ntk:3")."""


def on_inputs(name: str) -> bool:
    """Whether a learner of this name can look at inputs, where there are any.

    >>> on_inputs("ntk:2"), on_inputs("additive")
    (True, False)
    """
    return name.partition(":")[0] in _FAMILIES


@dataclass(frozen=True)
class KernelOnInputs:
    """Kernel machines on the inputs of examples."""

    name: str = EXAMPLES
    level: Literal["combinations", "rows"] = "rows"
    stands_for_a_network: bool = True

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that are asked."""
        return kernels_of(None if self.name == EXAMPLES else self.name)

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """(members, n) What each machine answers on the test rows."""
        taught = _FittedMachines.of(train, self.kernels, seed)
        asked = _inputs(test)
        parts = np.array_split(asked, max(1, -(-len(asked) // _ASKED)))
        return np.concatenate([taught.answers(part) for part in parts], axis=1)


@dataclass(frozen=True, eq=False)
class _FittedMachines:
    """Machines fitted to the rows of one round."""

    scaling: Scaling
    inputs: Numbers
    kernels: tuple[Kernel, ...]
    machines: tuple[tuple[Machine, ...], ...]  # of each kernel
    kind: str

    @classmethod
    def of(cls, train: RehearsalExamples, kernels: tuple[Kernel, ...], seed: int) -> "_FittedMachines":
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        chosen = example_rows.drawn(train.rows.combination, MOST_ROWS, seed=seed)
        order, first = _held_last(train.rows.combination[chosen], seed)
        inputs = _inputs(train)[chosen][order]
        scaling = Scaling.of(inputs)
        classes = 0 if train.classes is None else len(train.classes)
        answered = CodedAnswers("label" if classes else "number", train.rows.answers[chosen][order][:, None], classes)
        scaled = scaling(inputs)
        found = matrices(list(kernels), scaled, scaled)
        machines = tuple(
            tuple(_machines(KernelRows(kernel, matrix, answered, first)))
            for kernel, matrix in zip(kernels, found, strict=True)
        )
        return cls(scaling, scaled, kernels, machines, answered.kind)

    def answers(self, asked: Numbers) -> Numbers:
        """(members, n)"""
        said = []
        for machines, between in zip(
            self.machines, matrices(list(self.kernels), self.scaling(asked), self.inputs), strict=True
        ):
            for machine in machines:
                scores = machine.answer(fetched(between))
                said.append(scores[:, 0] if self.kind == "number" else scores.argmax(axis=1).astype(np.float64))
        return np.array(said)


def _machines(rows: KernelRows) -> Iterator[Machine]:
    for loss in losses_of(rows.answers, None):
        if loss == "margin":
            yield margin(rows.matrix, rows.answers)
            continue
        (member,) = made(rows, (loss,))
        yield member.first if member.whole is None else member.whole


def _held_last(combination: Ints, seed: int) -> tuple[Ints, int]:
    """The rows in an order in which those that a ridge is chosen on stand last, and how many stand before them."""
    first, held = example_rows.held_out(combination, seed=seed)
    if not len(held):
        shuffled = np.random.default_rng(seed).permutation(len(combination))
        many = max(1, round(_HELD * len(combination)))
        first, held = shuffled[many:], shuffled[:many]
    return np.concatenate([first, held]), len(first)


def _inputs(examples: RehearsalExamples) -> Numbers:
    assert examples.rows is not None  # noqa: S101 - as above
    assert examples.rows.inputs is not None  # noqa: S101 - refused before where there are none
    found = examples.rows.inputs
    return np.asarray(found, dtype=np.float64).reshape(len(found), -1)
