"""Who is asked: the learners that a forecast is the mean of, and the one among them that explains.

Nobody knows what network will be trained, or says so: `model=` gives its kind and depth. Else three wide ReLU networks
with one, two and three hidden layers are asked, each as likely as the others, and the middle one explains. A classifier
that is trained to its end keeps a margin, so that is the loss for labels; the squared loss is for numbers. For labels
the squared loss is asked too, not for the forecast but for a doubt: an answer that changes with the loss,
or with the depth, is marked unsure.

Where the margin cannot be had (rows of one combination disagree) or would take too long, the squared loss stands in,
and the prediction says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recombine.base.errors import SettingError
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.predict import simple_rules
from recombine.verbs.predict.answers import Answers
from recombine.verbs.predict.ensembles import Ensemble
from recombine.verbs.predict.kernel.order_weights import MOST_FACTORS
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.kernel.solver import eliminable
from recombine.verbs.predict.learner import FittedLearner, Loss, learn

PRIOR = ("relu:1", "relu:2", "relu:3")
"""Wide ReLU networks of one, two and three hidden layers: as likely as each other, if nobody says what is trained."""
MIDDLE = PRIOR[1]
_MOST_MATRIX = 10**10  # questions times combinations cubed: some seconds for one margin
_LARGEST_MATRIX = 1_500
_MOST_ELIMINATED = 20_000  # questions times combinations of two factors
_CHEAP, _CHEAP_PAIRS, _STILL_CHEAP = 3_000, 50_000, 20_000
_LEVEL = 1e-9


@dataclass(frozen=True)
class ChosenLearners:
    """Whom to ask, by their salience; all of them with one loss. `notes` say what was not as it should be."""

    saliences: tuple[Salience | str, ...]
    explains: Salience | str
    loss: Loss
    beside: Loss | None = None
    notes: tuple[str, ...] = ()


def choose_learners(
    support: Support,
    own: Answers,
    *,
    salience: Salience | str | None = None,
    loss: Loss | None = None,
    model: Any = None,
    with_truth: bool = False,
) -> ChosenLearners:
    """From what was said of the learner: all, some, or nothing.

    >>> import recombine
    >>> from recombine.verbs.predict.answers import answers
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": ["no", "yes", "yes"]}
    >>> seen = recombine.read(table, factors=["a", "b"], target="y")
    >>> found = choose_learners(seen, answers(seen))
    >>> found.saliences, found.explains, found.loss
    (('relu:1', 'relu:2', 'relu:3'), 'relu:2', 'margin')
    """
    if salience is not None:
        _refuse_both(salience, model)
        return ChosenLearners((salience,), salience, loss or "squared")
    named, unknown = (None, "") if model is None else family_of(model)
    chosen, stands_in = (loss, "") if loss is not None else _usual_loss(support, own)
    beside: Loss | None = "squared" if chosen == "margin" and loss is None else None
    notes = [note for note in (unknown, stands_in) if note]
    if named is not None:
        return ChosenLearners((named,), named, chosen, beside, tuple(notes))
    if not _cheap(support, with_truth=with_truth):
        notes.append(
            f"depths 1 and 3 were not asked: with {len(support):,} combinations of {len(support.space.names)} factors "
            "each would take as long again"
        )
        return ChosenLearners((MIDDLE,), MIDDLE, chosen, None, tuple(notes))
    return ChosenLearners(PRIOR, MIDDLE, chosen, beside, tuple(notes))


def _refuse_both(salience: Salience | str, model: Any) -> None:
    if model is not None:
        raise SettingError(
            f"both salience={salience!r} and a model",
            why="either says what the learner weighs",
            instead="give one of them",
        )


def _usual_loss(support: Support, own: Answers) -> tuple[Loss, str]:
    """The margin for labels, and why not where it is not."""
    if own.kind == "number":
        return "squared", ""
    stands_in = "the squared loss stands in for the margin, to which cross-entropy tends"
    if own.mixed:
        few = "1 combination has" if own.mixed == 1 else f"{own.mixed:,} combinations have"
        return "squared", f"{few} rows of several classes, so {stands_in}"
    if support.space.set_factors:
        return "squared", f"over sets {stands_in}"
    if len(support.space.names) > MOST_FACTORS or not _affordable(support, own):
        return "squared", f"with so many combinations and classes {stands_in}"
    return "margin", ""


def _affordable(support: Support, own: Answers) -> bool:
    """Whether a hard margin is found in some seconds."""
    n, questions = len(own), own.questions
    if n <= _LARGEST_MATRIX and questions * n**3 <= _MOST_MATRIX:
        return True
    return len(support.space.names) == 2 and eliminable(support) and questions * n <= _MOST_ELIMINATED


def _cheap(support: Support, *, with_truth: bool) -> bool:
    """Whether two more learners cost little beside one, or are worth it: the score is theirs where a truth is known."""
    pairs = len(support.space.names) == 2 and not support.space.set_factors and len(support) <= _CHEAP_PAIRS
    return pairs or len(support) <= (_STILL_CHEAP if with_truth else _CHEAP)


def family_of(model: Any) -> tuple[str | None, str]:
    """The kind and depth of a network, as a salience is written; or None, and why.

    A model may be a text ("relu:1"), anything that has a `kernel_family` (the lab's models), or a torch module made of
    linear layers with one kind of activation between them.

    >>> family_of("relu:1")
    ('relu:1', '')
    """
    name = type(model).__name__
    if isinstance(model, str):
        return model, ""
    found = model.kernel_family if hasattr(model, "kernel_family") else _of_module(model)
    if isinstance(found, str):
        return found, ""
    return None, f"no kernel over factors is known for {name}, so depths 1 to 3 of a ReLU network stand in"


_LINEAR, _RECTIFIED = "Linear", {"ReLU": "relu", "LeakyReLU": "leaky", "GELU": "relu", "ELU": "relu", "SiLU": "relu"}
_HARMLESS = {"Flatten", "Identity", "Dropout", "Sequential", "ModuleList", "Softmax", "LogSoftmax", "Unflatten"}


def _of_module(model: Any) -> str | None:
    """Of a torch module, by the names of its layers: nothing of torch is loaded here."""
    modules = getattr(model, "modules", None)
    if not callable(modules):
        raise SettingError(
            f"model was given a {type(model).__name__}",
            why="it says which kind of network will be trained, and how deep it is",
            instead="give a model of recombine_lab, a torch module, or its kind and depth: model='relu:2'",
        )
    kinds = [type(one).__name__ for one in modules() if not _holds_others(one)]
    linear = kinds.count(_LINEAR)
    between = {kind for kind in kinds if kind in _RECTIFIED}
    strange = [kind for kind in kinds if kind not in {_LINEAR, *_RECTIFIED, *_HARMLESS}]
    if strange or len(between) != 1 or linear < 2:
        return None
    return f"{_RECTIFIED[between.pop()]}:{linear - 1}"


def _holds_others(module: Any) -> bool:
    return next(iter(module.children()), None) is not None


@dataclass(frozen=True, eq=False)
class Panel:
    """The learners that were asked: the one that explains, those whose mean is the forecast, and those beside them."""

    learner: FittedLearner
    members: tuple[FittedLearner, ...]
    beside: tuple[FittedLearner, ...] = ()

    @classmethod
    def of(cls, learner: FittedLearner, members: Sequence[str], beside: Sequence[str] = ()) -> "Panel":
        """From the learner that explains, and the names of the others."""
        return cls(learner, _named(learner, members), _named(learner, beside))

    @cached_property
    def others(self) -> tuple[FittedLearner, ...]:
        """Everybody but the one that explains."""
        return tuple(one for one in (*self.members, *self.beside) if one is not self.learner)

    @property
    def names(self) -> tuple[str, ...]:
        """The members by name."""
        return tuple(named(one) for one in self.members)

    def ensemble(self, codes: Codes, truth: Numbers) -> Ensemble:
        """What each member would get on combinations whose truth is known, and the best one answer for all of them."""
        own = self.learner.answers
        base, constant = _scored(own, simple_rules.mean_answer(own, codes), truth), None
        scores = np.stack([_scored(own, one.fitted.scores(codes), truth) for one in self.members])
        if own.kind == "number":
            return Ensemble(self.names, scores, base, "R²")
        other = simple_rules.commonest(own, np.asarray(truth[:, None] == np.arange(len(own.classes)), dtype=np.float64))
        if other is not None:
            constant, base = other[0], other[1]
        return Ensemble(self.names, scores, base, "accuracy", constant)


def fit_panel(
    chosen: ChosenLearners, support: Support, own: Answers, weights: Salience, *, ridge: float, seed: int
) -> Panel:
    """Fit them all; `weights` is what the one that explains was resolved to."""
    learner = learn(support, own, weights, loss=chosen.loss, ridge=ridge, seed=seed)
    if len(chosen.saliences) == 1 and chosen.beside is None:
        return Panel(learner, (learner,))
    members = [f"{one} {chosen.loss}" for one in chosen.saliences]
    beside = [] if chosen.beside is None else [f"{one} {chosen.beside}" for one in chosen.saliences]
    return Panel.of(learner, members, beside)


def named(learner: FittedLearner) -> str:
    """A learner by its salience and its loss."""
    return f"{learner.salience.name} {learner.loss}"


def _named(learner: FittedLearner, names: Sequence[str]) -> tuple[FittedLearner, ...]:
    return tuple(learner if name == named(learner) else _sibling(learner, name) for name in names)


def _sibling(learner: FittedLearner, name: str) -> FittedLearner:
    """Another learner of the same answers."""
    salience, _, loss = name.rpartition(" ")
    weights = resolve(salience, learner.support, seed=learner.seed)
    return FittedLearner(learner.support, learner.answers, weights, loss, learner.ridge, learner.seed)  # type: ignore[arg-type]


def _scored(own: Answers, scores: Numbers, truth: Numbers) -> Numbers:
    """The squared error, or the share of right answers: where classes are level, each of them is as likely."""
    if own.kind == "number":
        return np.square(own.bounded(scores[:, 0]) - truth)
    if own.questions == 1:
        right = (2 * truth - 1) * scores[:, 0]
        return np.where(np.abs(right) <= _LEVEL, 0.5, right > 0).astype(np.float64)
    best = scores >= scores.max(axis=1, keepdims=True) - _LEVEL
    return np.asarray(best[np.arange(len(truth)), truth.astype(np.int64)] / best.sum(axis=1))
