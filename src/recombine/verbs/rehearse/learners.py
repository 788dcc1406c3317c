"""What can be rehearsed: anything that learns from some examples and answers others.

    by name       "relu:2", any salience of `predict`; "additive"; "nearest"      on combinations, in closed form
                  "examples", "relu:2", "ntk:2", "linear" with inputs             on rows (`kernel_learner`)
    an estimator  anything with fit(X, y) and predict(X), such as scikit-learn's  on rows: one-hot factors, or inputs
    a command     "python train.py {train} {test} {out}" (`command`)              on rows, as files
    one's own     an object with `name`, `level` and `answer(train, test, *, seed)`: the protocol below

An estimator is copied for every round, and never fitted in place.

A command that reads a table and writes predictions, as a learner.

`python train.py {train} {test} {out}`: for each round the rows to learn from and the rows to answer are written as CSV
files with all columns of the table (the target of the latter left out), and the command is run without a shell. It
writes a CSV file to {out} with a line for each row of {test}, in its order, under the target's name or under
`prediction`. `{seed}` stands for the round's seed.
"""

import copy
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from recombine.base.errors import RecombineError, SettingError, SourceError, TableError, nearest
from recombine.base.words import listing, span
from recombine.data.engine_errors import first_line
from recombine.data.space import Factor
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.predict import simple_rules
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.examples.input_kernels import kernels_of
from recombine.verbs.predict.kernel.network_kernels import FAMILIES
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import learn
from recombine.verbs.rehearse.kernel_learner import EXAMPLES, KernelOnInputs, on_inputs
from recombine.verbs.rehearse.round_examples import RehearsalExamples

TIME_LIMIT = 3600.0
"""Seconds for one run, unless somebody says otherwise."""
_PLACES = ("{train}", "{test}", "{out}")
_ANSWER = "prediction"
_SAID = 400  # characters of what it said last
_GRACE = 5.0
_NAMED = 5  # classes that an error names


def is_command(text: str) -> bool:
    """Whether a learner's name is a command: it has places for files, or several words.

    >>> is_command("python train.py {train} {test} {out}"), is_command("relu:2")
    (True, False)
    """
    return any(place in text for place in _PLACES) or " " in text.strip()


@dataclass(frozen=True)
class CommandLearner:
    """A command with {train}, {test} and {out} in it."""

    line: str
    time_limit: float | None = None
    level: Literal["combinations", "rows"] = "rows"

    def __post_init__(self) -> None:
        absent = [place for place in _PLACES if place not in self.line]
        if absent:
            raise SettingError(
                f"the command {self.line!r}",
                why=f"it has no {' and no '.join(absent)}, the files that it is to read and write",
                instead='write for example "python train.py {train} {test} {out}"',
            )

    @property
    def name(self) -> str:
        """The program and its script."""
        return " ".join(word for word in _words(self.line)[:2] if "{" not in word)

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """Write the files, run it, read its answers."""
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        assert test.rows is not None  # noqa: S101
        assert train.support.target is not None  # noqa: S101
        target = train.support.target.name
        with tempfile.TemporaryDirectory(prefix="recombine-") as folder:
            files = {name: Path(folder) / f"{name}.csv" for name in ("train", "test", "out")}
            _write(train.rows.table, files["train"])
            _write(test.rows.table.drop_columns([target]), files["test"])
            self._run({**{name: str(path) for name, path in files.items()}, "seed": str(seed)})
            return _read(files["out"], target, test.classes, len(test.rows.table), self.line)

    def _run(self, places: dict[str, str]) -> None:
        words = _words(self.line)
        for name, path in places.items():
            words = [word.replace(f"{{{name}}}", path) for word in words]
        limit = self.time_limit or TIME_LIMIT
        try:
            pipe = subprocess.PIPE
            running = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, errors="replace")  # noqa: S603
        except OSError as error:
            raise SourceError(
                f"cannot run {words[0]!r}",
                why=error.strerror or str(error),
                instead="give a program that is on the path, for example python",
            ) from error
        try:
            _, said = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired as error:
            _stop(running)
            raise SettingError(
                f"the command {self.line!r} did not end",
                why=f"it ran for {span(limit)}, which is the limit",
                instead="give it less to do, or more time: time_limit=7200 (--time-limit 7200)",
            ) from error
        except BaseException:  # Ctrl-C among them: what was started is stopped
            _stop(running)
            raise
        if running.returncode:
            lines = [line.strip() for line in said.splitlines() if line.strip()]
            raise SourceError(
                f"the command {self.line!r} failed with exit code {running.returncode}",
                why=lines[-1][-_SAID:] if lines else "it said nothing on standard error",
                instead="run it by hand on a table split in two, and mend it",
            )


def _words(line: str) -> list[str]:
    """The words of a command; a backslash escapes what follows, but parts folders on Windows."""
    return shlex.split(line if os.sep == "/" else line.replace("\\", "\\\\"))


def _stop(running: "subprocess.Popen[str]") -> None:
    """Ask it to end, and end it where it does not."""
    running.terminate()
    try:
        running.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        running.kill()
        running.communicate()


def _write(table: pa.Table, path: Path) -> None:
    """Columns that a CSV file cannot hold are left out: lists, structs, bytes."""
    flat = {field.name: table[field.name] for field in table.schema if not pa.types.is_nested(field.type)}
    for name, column in flat.items():
        if pa.types.is_dictionary(column.type):
            flat[name] = column.cast(column.type.value_type)
    pc.write_csv(pa.table(flat), path)


def _read(path: Path, target: str, classes: tuple[Any, ...] | None, rows: int, line: str) -> Numbers:
    again = f"write a CSV file with the column {target!r} or {_ANSWER!r}, a line for each row of {{test}}"
    if not path.is_file():
        raise SourceError(f"the command {line!r} wrote no {{out}}", why="it ended without one", instead=again)
    try:
        options = pc.ConvertOptions(column_types={} if classes is None else {target: pa.string(), _ANSWER: pa.string()})
        table = pc.read_csv(path, convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"cannot read what {line!r} wrote", why=str(error).splitlines()[0], instead=again) from error
    column = next((name for name in (target, _ANSWER) if name in table.column_names), None)
    if column is None:
        raise TableError(
            f"the command {line!r} wrote the columns {', '.join(table.column_names[:5])}",
            why=f"none of them is {target!r} or {_ANSWER!r}",
            instead=again,
        )
    if len(table) != rows:
        raise TableError(
            f"the command {line!r} wrote {len(table):,} answers",
            why=f"it was asked about {rows:,} rows",
            instead=again,
        )
    return _answers(table[column].to_pylist(), target, classes, line)


def _answers(said: list[Any], target: str, classes: tuple[Any, ...] | None, line: str) -> Numbers:
    """Places of classes, or numbers."""
    if classes is None:
        try:
            found = np.array(said, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.full(1, np.nan)
        if not np.isfinite(found).all():
            raise TableError(
                f"the command {line!r} wrote answers that are not numbers",
                why=f"{target!r} is a number",
                instead="write a finite number on every line, or say target_kind='label'",
            )
        return found
    known = Factor(target, classes)
    if all(isinstance(one, bool) for one in classes):  # Python writes True where the table says true
        said = [str(one).lower() for one in said]
    places = np.array([known.code(one) for one in said], dtype=np.float64)
    if (places < 0).any():
        raise TableError(
            f"the command {line!r} answered {said[int((places < 0).argmax())]!r}",
            why=f"the classes of {known.name!r} are {listing([repr(name) for name in known.labels[:_NAMED]])}"
            + (" and others" if len(known.labels) > _NAMED else ""),
            instead="write them as they stand in {train}; pandas turns '01' into 1 unless it is told dtype=str",
        )
    return places


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

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """Learn from `train`, answer `test`."""


Part = tuple[RehearsalExamples, RehearsalExamples, int]
"""One round: what is taught, what is asked, and the seed."""


@runtime_checkable
class AllAtOnce(Protocol):
    """A learner that takes all rounds together, as one that sends them to several machines does."""

    def answer_all(self, parts: Sequence[Part]) -> list[Numbers]:
        """What `answer` gives in each round."""


def learner_of(learner: Any, *, inputs: Any = None, time_limit: float | None = None) -> Learner:
    """What was given as a learner, as one; refused in words if it is none."""
    if isinstance(learner, type):
        raise SettingError(
            f"the class {learner.__name__} as a learner",
            why="a class has no settings yet, so there is nothing to teach",
            instead=f"make one: {learner.__name__}()",
        )
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, str):
        return _by_name(learner, inputs=inputs, time_limit=time_limit)
    lacking = [name for name in ("fit", "predict") if not callable(getattr(learner, name, None))]
    if lacking:
        raise SettingError(
            f"a learner of type {type(learner).__name__}",
            why=f"it has no {lacking[0]}(…), so it can't be taught and asked anew",
            instead="give a name such as 'relu:2', an estimator with fit(X, y) and predict(X), or a command",
        )
    return Estimator(learner)


def _by_name(name: str, *, inputs: Any, time_limit: float | None) -> Learner:
    if is_command(name):
        return CommandLearner(name, time_limit)
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
    return _RULES[name] if name in _RULES else KernelLearner(_known(name))


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
class KernelLearner:
    """A kernel learner over combinations: a network and its depth, as in `recombine.predict(salience=…)`.

    The hard margin for labels (what cross-entropy tends to); the squared loss for numbers, over sets, and where rows of
    one combination disagree.
    """

    salience: str
    level: Level = "combinations"
    stands_for_a_network: bool = True

    @property
    def name(self) -> str:
        """The network and its depth."""
        return self.salience

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:
        """Solve in closed form."""
        own = train.own
        weights = resolve(self.salience, train.support, seed=seed)
        exact = own.kind == "label" and not own.mixed and not train.support.space.set_factors
        taught = learn(train.support, own, weights, loss="margin" if exact else "squared", ridge=0.0, seed=seed)
        return decide(own, taught.fitted.scores(_codes(test)))


@dataclass(frozen=True)
class SimpleRule:
    """A rule over combinations that anybody could use: their scores from the answers of others."""

    name: str
    rule: Callable[[Support, Answers, Codes], Numbers]
    level: Level = "combinations"

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:  # noqa: ARG002 - nothing is drawn
        """Follow the rule."""
        own = train.own
        return decide(own, self.rule(train.support, own, _codes(test)))


_RULES = {
    "additive": SimpleRule("additive", simple_rules.additive_rule),  # one number for each value, added up
    "nearest": SimpleRule("nearest", simple_rules.nearest_seen),  # the mean of the seen ones that agree on most factors
}


def decide(own: Answers, scores: Numbers) -> Numbers:
    """Scores as answers: the place of the class that wins, or the number itself, within what a share can be."""
    return own.bounded(scores[:, 0]) if own.kind == "number" else own.decide(scores).astype(np.float64)


def _codes(examples: RehearsalExamples) -> Codes:
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

    def answer(self, train: RehearsalExamples, test: RehearsalExamples, *, seed: int) -> Numbers:  # noqa: ARG002 - as it was made
        """Fit a copy, and ask it."""
        assert train.rows is not None  # noqa: S101 - its level says that it takes rows
        fresh = copy_learner(self.made)
        whole = train.classes is not None
        told = train.rows.answers.astype(np.int64) if whole else train.rows.answers
        try:
            fresh.fit(inputs_shown(train), told)
            said = np.asarray(fresh.predict(inputs_shown(test)))
        except RecombineError:
            raise
        except Exception as error:
            raise SettingError(
                f"the learner {self.name} failed: {first_line(error)}",
                why=f"it was taught {len(told):,} rows of {len(train.support):,} combinations "
                f"({type(error).__name__} in its own code)",
                instead="try it on such rows by itself: fit(X, y), then predict(X)",
            ) from error
        answered = checked_answers(said, len(inputs_shown(test)), self.name)
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


def inputs_shown(examples: RehearsalExamples) -> Any:
    """What a learner on rows looks at: their inputs, else their factors, one-hot."""
    rows = examples.rows
    assert rows is not None  # noqa: S101 - as above
    if rows.inputs is not None:
        return rows.inputs.reshape(len(rows.inputs), -1)
    codes, sizes = examples.support.codes[rows.combination], examples.support.space.sizes
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)


def copy_learner(made: Any) -> Any:
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
