"""What can be rehearsed: anything that learns from some examples and answers others.

    by name       "relu:2", any salience of `predict`; "additive"; "nearest"      on combinations, in closed form
                  "examples", "relu:2", "ntk:2", "linear" with inputs             on rows (`on_inputs`)
    an estimator  anything with fit(X, y) and predict(X), such as scikit-learn's  on rows: one-hot factors, or inputs
    a command     "python train.py {train} {test} {out}" (`command`)              on rows, as files
    one's own     an object with `name`, `level` and `answer(train, test, *, seed)`: the protocol below

An estimator is copied for every round, and never fitted in place.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.errors import RecombineError, SettingError, TableError, nearest
from recombine.rehearsing.command import Command, is_command
from recombine.rehearsing.examples import Examples
from recombine.rehearsing.on_inputs import EXAMPLES, KernelOnInputs, on_inputs
from recombine.tables.engine_errors import first_line
from recombine.tables.support import Support
from recombine.theory import rules
from recombine.theory.answers import Answers
from recombine.theory.examples.kernels import kernels_of
from recombine.theory.learner import learn
from recombine.theory.networks import FAMILIES
from recombine.theory.resolve import resolve

Level = Literal["combinations", "rows"]


@runtime_checkable
class Learner(Protocol):
    """Learns from some examples and answers others: a class's place or a number for each.

    At the level "combinations" it gives one answer to each combination of `test.support`, at the level "rows" one to
    each row of `test.rows`. Several learners that are asked as one (depths, seeds) give an array of members by answers.
    Randomness comes from `seed` alone. One that has `stands_for_a_network` set is asked in place of a network that was
    not trained yet: the interval then holds how far such forecasts were from trained networks.
    """

    @property
    def name(self) -> str:
        """What it is called in a sentence."""

    @property
    def level(self) -> Level:
        """Whether it answers combinations or rows."""

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:
        """Learn from `train`, answer `test`."""


Part = tuple[Examples, Examples, int]
"""One round: what is taught, what is asked, and the seed."""


@runtime_checkable
class AllAtOnce(Protocol):
    """A learner that takes all rounds together, as one that sends them to several machines does."""

    def answer_all(self, parts: Sequence[Part]) -> list[Numbers]:
        """What `answer` gives in each round."""


def learner_of(given: Any, *, inputs: Any = None, time_limit: float | None = None) -> Learner:
    """What was given as a learner, as one; refused in words if it is none."""
    if isinstance(given, type):
        raise SettingError(
            f"the class {given.__name__} as a learner",
            why="a class has no settings yet, so there is nothing to teach",
            instead=f"make one: {given.__name__}()",
        )
    if isinstance(given, Learner):
        return given
    if isinstance(given, str):
        return _by_name(given, inputs=inputs, time_limit=time_limit)
    if not callable(getattr(given, "fit", None)) or not callable(getattr(given, "predict", None)):
        lacking = "fit" if not callable(getattr(given, "fit", None)) else "predict"
        raise SettingError(
            f"a learner of type {type(given).__name__}",
            why=f"it has no {lacking}(…), so it can't be taught and asked anew",
            instead="give a name such as 'relu:2', an estimator with fit(X, y) and predict(X), or a command",
        )
    return Estimator(given)


def _by_name(name: str, *, inputs: Any, time_limit: float | None) -> Learner:
    if is_command(name):
        return Command(name, time_limit)
    if name == EXAMPLES and inputs is None:
        raise SettingError(
            f"learner={name!r} without inputs",
            why="a kernel machine on examples compares their inputs",
            instead="add inputs=['x1', 'x2'], or an array with one row for each row of the table",
        )
    if inputs is not None and on_inputs(name):
        kernels_of(None if name == EXAMPLES else name)  # refuses a name that means nothing
        return KernelOnInputs(name)
    if inputs is not None:
        raise SettingError(
            f"inputs for the learner {name!r}",
            why="it works on combinations of factors, and would not look at them",
            instead="write learner='examples', or give an estimator",
        )
    return _RULES[name] if name in _RULES else Kernel(_known(name))


def _known(name: str) -> str:
    """A salience by its name; refused as a learner, which is what was asked for."""
    family = name.partition(":")[0]
    if family not in (*FAMILIES, "order", "fit") and not name.endswith((".parquet", ".pq")):
        raise SettingError(
            f"learner={name!r}",
            why="no learner has that name, and it is no command",
            instead=f"{nearest(family, [*FAMILIES, *_RULES, EXAMPLES])} (networks with their depth, as in 'relu:2'), "
            'or write a command: "python train.py {train} {test} {out}"',
        )
    return name


@dataclass(frozen=True)
class Kernel:
    """A kernel learner over combinations: a network and its depth, as in `recombine.predict(salience=…)`.

    The hard margin for labels (what cross-entropy tends to), the squared loss for numbers and where the rows of one
    combination disagree.
    """

    salience: str
    level: Level = "combinations"
    stands_for_a_network: bool = True

    @property
    def name(self) -> str:
        """The network and its depth."""
        return self.salience

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:
        """Solve in closed form."""
        own = train.own
        weights = resolve(self.salience, train.support, seed=seed)
        exact = own.kind == "label" and not own.mixed
        taught = learn(train.support, own, weights, loss="margin" if exact else "squared", ridge=0.0, seed=seed)
        return decided(own, taught.fitted.scores(_codes(test)))


@dataclass(frozen=True)
class SimpleRule:
    """A rule over combinations that anybody could use: their scores from the answers of others."""

    name: str
    rule: Callable[[Support, Answers, Codes], Numbers]
    level: Level = "combinations"

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:  # noqa: ARG002 - nothing is drawn
        """Follow the rule."""
        own = train.own
        return decided(own, self.rule(train.support, own, _codes(test)))


_RULES = {
    "additive": SimpleRule("additive", rules.additive_rule),  # one number for each value, added up
    "nearest": SimpleRule("nearest", rules.nearest_seen),  # the mean of the seen ones that agree on most factors
}


def decided(own: Answers, scores: Numbers) -> Numbers:
    """Scores as answers: the place of the class that wins, or the number itself."""
    return scores[:, 0] if own.kind == "number" else own.decide(scores).astype(np.float64)


def _codes(examples: Examples) -> Codes:
    return np.asfortranarray(examples.support.codes)


@dataclass(frozen=True, eq=False)
class Estimator:
    """Anything with fit(X, y) and predict(X), on one-hot factors or on inputs; copied before every fit."""

    made: Any
    level: Level = "rows"

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.made).__name__

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:  # noqa: ARG002 - as it was made
        """Fit a copy, and ask it."""
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        fresh = copied(self.made)
        whole = train.classes is not None
        told = train.rows.answers.astype(np.int64) if whole else train.rows.answers
        try:
            fresh.fit(shown(train), told)
            said = np.asarray(fresh.predict(shown(test)))
        except RecombineError:
            raise
        except Exception as error:
            raise SettingError(
                f"the learner {self.name} failed: {first_line(error)}",
                why=f"it was taught {len(told):,} rows of {len(train.support):,} combinations "
                f"({type(error).__name__} in its own code)",
                instead="try it on such rows by itself: fit(X, y), then predict(X)",
            ) from error
        answered = checked_answers(said, len(shown(test)), self.name)
        if train.classes is not None:
            _refuse_no_class(answered, len(train.classes), self.name)
        return answered


def _refuse_no_class(answered: Numbers, classes: int, name: str) -> None:
    """Refuse answers that are no class: a regression on labels would be wrong on every row, and nobody told."""
    strange = (answered != np.floor(answered)) | (answered < 0) | (answered >= classes)
    if strange.any():
        raise SettingError(
            f"the learner {name} answered {answered[strange.argmax()]:g}",
            why=f"the target is a label, whose classes it was taught as the whole numbers from 0 to {classes - 1}",
            instead="give a classifier, or say that the target is a number: target_kind='number' (--target-kind)",
        )


def shown(examples: Examples) -> Any:
    """What a learner on rows looks at: their inputs, else their factors, one-hot."""
    rows = examples.rows
    assert rows is not None  # noqa: S101 - as above
    if rows.inputs is not None:
        return rows.inputs.reshape(len(rows.inputs), -1)
    codes, sizes = examples.support.codes[rows.combination], examples.support.space.sizes
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)


def copied(made: Any) -> Any:
    """A fresh one with the same settings: by scikit-learn's own rule where it has one."""
    if hasattr(made, "get_params"):
        try:
            from sklearn.base import clone  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - only for whoever brings an estimator

            return clone(made)
        except (ImportError, TypeError):  # get_params of somebody else
            pass
    return copy.deepcopy(made)


def checked_answers(said: Numbers, rows: int, name: str) -> Numbers:
    """One finite answer for each row, as numbers."""
    if said.ndim == 2 and said.shape[1] == 1:
        said = said[:, 0]
    if said.shape != (rows,):
        raise TableError(
            f"the learner {name} gave answers of shape {said.shape}",
            why=f"{rows:,} rows were asked, and each has one answer",
            instead="let predict(X) give one answer for each row of X",
        )
    try:
        found = said.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"the learner {name} answered {said[0]!r}",
            why="it was taught whole numbers or numbers",
            instead="let predict(X) answer what fit(X, y) was taught",
        ) from error
    if not np.isfinite(found).all():
        raise TableError(
            f"the learner {name} gave {int((~np.isfinite(found)).sum()):,} answers that are not numbers",
            why="an answer that is NaN or infinite is neither right nor wrong",
            instead="see what its training came to: diverged, or one class only",
        )
    return found
