"""How a model is trained: a frozen set of settings, part of a run's identity; and what they say for each step."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_type_hints

from recombine.base.checks import WordedSettings, check_choice, check_number, check_whole
from recombine.base.errors import SettingError
from recombine_lab.base.catalogue import LATER, Catalogue

# The version of the numbers that training gives: how seeds are derived, examples drawn, steps taken, answers scored.
# Raise it when these change for an unchanged recipe; stored runs are then trained anew. Tasks, splits and models have
# versions of their own, in their catalogues.
TRAINING_NUMERICS = 1
_RECIPES = Catalogue("recipe", {"recipe": "recombine_lab.training.recipe:Recipe"})
_PRECISIONS = {"bf16": "bfloat16", "fp32": "float32", "32": "float32"}
"""As others write it."""
# What is written only together with a choice that uses it: setting, its unused value, the choice.
_IDLE: tuple[tuple[str, float, str, str], ...] = (
    ("momentum", 0.0, "optimiser", "sgd"),
    ("final_lr", 0.0, "schedule", "cosine"),
    ("decay", 1.0, "schedule", "staircase"),
    ("decay_every", 1, "schedule", "staircase"),
)


@dataclass(frozen=True, kw_only=True)
class Recipe(metaclass=WordedSettings):
    """How a model is trained.

    - `samples`: how many training examples are drawn once and then gone over again and again; "every" takes each
      example of a finite source once; None draws new examples at every step.
    - `batch`: examples a step; None takes all of a fixed set at once. A set is gone over in a new order each time; a
      batch that reaches its end goes on at the beginning of the next order, so that all batches have one size.
    - `loss`: "auto" is the squared error for values and the cross-entropy for classes and tokens (padding left out).
      "hinge", for classes, is the mean of max(0, 1 - score of the true class + best score of another).
    - `schedule`: "cosine" falls from `lr` to `final_lr`; "staircase" multiplies by `decay` after every `decay_every`
      steps. `warmup` steps rise evenly to the schedule.
    - `clip`: the largest norm of a step's gradient.
    - `evaluations`: how many times the tests are asked, at logarithmically spaced steps from 0 to the last, each test
      with `test_samples` examples, or all of them where there are fewer.
    - `patience`: stop after so many evaluations in a row without a better score on the test `seen`. Never on unseen.
    - `device`: "auto" takes a GPU where there is one. On a CPU a seed gives the same bits again; a GPU rounds its way.
    - `precision`: "bfloat16" (or "bf16") is mixed precision: weights stay in 32 bits. `deterministic` asks torch for
      algorithms that give the same numbers each time, where it has them, and is refused where it has none.
    - `together`: train same-shaped runs as one batched model: "always", "never", or where it was measured to be faster.
      The two ways round differently; "always" and "never" say which numbers are meant, "auto" leaves the last digits
      open.
    - `keep_model`: keep the trained weights with the run, so that `run.module()` gives the network; false saves room
      where there are many large ones.

    >>> Recipe(steps=100, lr=0.01).optimiser
    'adam'
    >>> Recipe(steps=100, momentum=0.9)
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: momentum=0.9 with optimiser='adam'
      why      only optimiser='sgd' uses it
      instead  write optimiser='sgd', or leave momentum out
    """

    steps: int
    lr: float = 1e-3
    loss: Literal["auto", "mse", "cross_entropy", "hinge"] = "auto"
    optimiser: Literal["sgd", "adam", "adamw"] = "adam"
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine", "staircase"] = "constant"
    final_lr: float = 0.0
    decay: float = 1.0
    decay_every: int = 1
    warmup: int = 0
    batch: int | None = 64
    samples: int | Literal["every"] | None = None
    test_samples: int = 1000
    clip: float | None = None
    evaluations: int = 8
    patience: int | None = None
    device: Literal["cpu", "cuda", "mps", "auto"] = field(default="cpu", metadata=LATER)
    precision: Literal["float32", "bfloat16"] = "float32"
    deterministic: bool = field(default=False, metadata=LATER)
    compile: bool = False
    threads: int = 1
    together: Literal["auto", "always", "never"] = "auto"
    keep_model: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", _PRECISIONS.get(str(self.precision), self.precision))
        for name, hint in get_type_hints(Recipe).items():
            _check_choice(name, getattr(self, name), get_args(hint))
        for name in ("steps", "batch", "samples", "test_samples", "patience", "evaluations", "decay_every", "threads"):
            _check_whole(name, getattr(self, name), least=1)
        _check_whole("warmup", self.warmup, least=0)
        _check_number("lr", self.lr, above=0.0)
        _check_number("clip", self.clip, above=0.0)
        _check_number("decay", self.decay, above=0.0)
        for name in ("weight_decay", "final_lr", "momentum"):
            _check_number(name, getattr(self, name), least=0.0)
        self._check_together()

    def _check_together(self) -> None:
        for name, unused, choice, value in _IDLE:
            if getattr(self, name) != unused and getattr(self, choice) != value:
                raise SettingError(
                    f"{name}={getattr(self, name)!r} with {choice}={getattr(self, choice)!r}",
                    why=f"only {choice}={value!r} uses it",
                    instead=f"write {choice}={value!r}, or leave {name} out",
                )
        if self.batch is None and self.samples is None:
            raise SettingError(
                "batch=None with samples=None",
                why="all examples at once need a set of examples, and new ones are drawn at every step",
                instead="write samples=1000 or samples='every', or a batch such as batch=64",
            )
        if self.warmup > self.steps:
            raise SettingError(
                f"warmup={self.warmup} with steps={self.steps}",
                why="training would end before the learning rate is reached",
                instead=f"write a warmup below {self.steps}",
            )
        if self.compile and self.together == "always":
            raise SettingError(
                "compile=True with together='always'",
                why="runs that are trained as one are traced already, and are not compiled again",
                instead="write together='never', or leave compile out",
            )

    def plain(self) -> dict[str, Any]:
        """Every setting, as JSON holds it; those that came later are left out where they change nothing.

        >>> "device" in Recipe(steps=1).plain(), Recipe(steps=1, device="auto").plain()["device"]
        (False, 'auto')
        """
        spec = _RECIPES.spec(self)
        del spec["name"]
        return spec


def recipe_of(recipe: Recipe | Mapping[str, Any]) -> Recipe:
    """A recipe, or the mapping that stands for one.

    >>> recipe_of({"steps": 10, "lr": 0.1}).lr
    0.1
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, Mapping):
        raise SettingError(
            f"{recipe!r} is not a recipe",
            why="a recipe has at least a number of steps",
            instead="write {steps: 1000}",
        )
    settings = {"name": "recipe", **recipe}
    if "precision" in settings:
        settings["precision"] = _PRECISIONS.get(str(settings["precision"]), settings["precision"])
    made: Recipe = _RECIPES.build(settings)
    return made


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if choices and all(isinstance(choice, str) for choice in choices):
        check_choice(name, value, choices)


def _check_whole(name: str, value: Any, *, least: int) -> None:
    if value is None or (name == "samples" and value == "every"):
        return
    instead = f"write {name}={max(least, 10)}" + (", 'every' or None" if name == "samples" else "")
    check_whole(name, value, least=least, instead=instead)


def _check_number(name: str, value: Any, *, above: float | None = None, least: float | None = None) -> None:
    if value is not None:
        usual = 0.9 if name in ("decay", "momentum") else 0.001
        check_number(name, value, above=above, least=least, instead=f"write for example {name}={usual}")


def rate(recipe: Recipe, step: int) -> float:
    """The learning rate of the update that follows `step` others.

    >>> recipe = Recipe(steps=2000, lr=0.01, schedule="staircase", decay=0.96, decay_every=100)
    >>> round(rate(recipe, 2000), 5)
    0.00442
    >>> cosine = Recipe(steps=100, lr=1.0, schedule="cosine", final_lr=0.2, warmup=4)
    >>> [round(rate(cosine, step), 3) for step in (0, 3, 50, 100)]
    [0.25, 0.998, 0.6, 0.2]
    """
    value = recipe.lr
    if recipe.schedule == "cosine":
        share = (1 + math.cos(math.pi * min(step / recipe.steps, 1.0))) / 2
        value = recipe.final_lr + (recipe.lr - recipe.final_lr) * share
    elif recipe.schedule == "staircase":
        value = recipe.lr * recipe.decay ** (step // recipe.decay_every)
    return value * min(1.0, (step + 1) / recipe.warmup) if recipe.warmup else value


def is_constant(recipe: Recipe) -> bool:
    """Whether every step has the same rate."""
    return recipe.schedule == "constant" and not recipe.warmup


def evaluation_steps(steps: int, evaluations: int) -> tuple[int, ...]:
    """Logarithmically spaced steps from 0, before any update, to the last; fewer where they would coincide.

    >>> evaluation_steps(1000, 5)
    (0, 1, 10, 100, 1000)
    >>> evaluation_steps(1000, 1)
    (1000,)
    >>> evaluation_steps(3, 8)
    (0, 1, 2, 3)
    """
    if evaluations == 1:
        return (steps,)
    spaces = max(evaluations - 2, 1)
    spaced = {round(steps ** (place / spaces)) for place in range(evaluations - 1)} if evaluations > 2 else set()
    return tuple(sorted({0, steps} | spaced))
