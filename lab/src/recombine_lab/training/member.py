"""One run before and while it is trained: what it is made of, prepared when it is first needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from recombine.base.errors import SettingError, nearest
from recombine.base.records import Provenance
from recombine.base.seeds import derived
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Configuration, Run, Status, domain_of
from recombine_lab.tasks.exposure import Exposure, HeldOut, Parts
from recombine_lab.tasks.task import Task
from recombine_lab.training.batches import TrainingExamples, examples_of
from recombine_lab.training.learners import device_of
from recombine_lab.training.losses import Loss, loss_of
from recombine_lab.training.questions import (
    Evaluated,
    EvaluationSet,
    SetScores,
    ask,
    evaluation_of,
    metrics,
    question_of,
    tables,
)
from recombine_lab.training.recipe import Recipe

STOPS_ON = "seen"
_MOST_LISTED = 10_000
"""Values of all factors together, about 100 kB in a run's record."""
_SPLIT: WeakKeyDictionary[HeldOut, tuple[Task, Parts]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """A run to be done: its configuration, and the things that the configuration names."""

    configuration: Configuration
    task: Task
    exposure: Exposure
    model: Model
    recipe: Recipe
    weights: Mapping[str, Tensor] | None = None
    """What training starts from, in place of the run's own initial weights: all of them, or some."""


@dataclass(eq=False)
class Member:
    """A job in work."""

    job: Job
    seconds: float = 0.0
    evaluations: list[Evaluated] = field(default_factory=list)
    answered: dict[str, SetScores] = field(default_factory=dict)
    result: Run | None = None

    @property
    def key(self) -> str:
        """The run's address."""
        return self.job.configuration.key

    @property
    def seed(self) -> int:
        """The seed that everything random of the run derives from."""
        return self.job.configuration.seed

    @cached_property
    def parts(self) -> Parts:
        """What is shown and what is asked."""
        exposure, task = self.job.exposure, self.job.task
        # A splitter has a seed of its own: its split is the same for every run, and slow to make.
        if not isinstance(exposure, HeldOut):
            return exposure.parts(task, seed=derived(self.seed, "split"))
        known = _SPLIT.get(exposure)
        if known is None or known[0] is not task:
            _SPLIT[exposure] = known = task, exposure.parts(task, seed=0)
        return known[1]

    @cached_property
    def examples(self) -> TrainingExamples:
        """What is shown."""
        return examples_of(self.job.task, self.parts.train, self.job.recipe, seed=self.seed)

    @cached_property
    def questions(self) -> tuple[EvaluationSet, ...]:
        """What is asked."""
        tests, recipe = self.parts.tests, self.job.recipe
        if recipe.patience is not None and STOPS_ON not in tests:
            raise SettingError(
                f"patience={recipe.patience}",
                why=f"training stops early by the test {STOPS_ON!r}, and this split has {', '.join(tests) or 'none'}",
                instead="leave patience out",
            )
        samples = recipe.test_samples
        return tuple(
            question_of(name, self.job.task, source, samples=samples, seed=self.seed) for name, source in tests.items()
        )

    @cached_property
    def loss(self) -> Loss:
        """What is minimised."""
        return loss_of(self.job.recipe, self.job.task.shapes)

    def start(self) -> nn.Module:
        """A new module with the run's own initial weights, drawn on the processor: they are the same anywhere."""
        made = self.job.model.start(self.job.task.shapes, seed=derived(self.seed, "weights"))
        if self.job.weights is not None:
            _put(self.job.weights, made)
        return made.to(device_of(self.job.recipe))

    def starter(self) -> Callable[[], nn.Module]:
        """How to build the network again; its settings alone do not say it where data or classes are in memory."""
        return partial(self.job.model.start, self.job.task.shapes, seed=0)

    def evaluate(self, module: nn.Module, step: int) -> tuple[Evaluated, ...]:
        """Ask everything, and keep it."""
        self.answered = {question.name: ask(module, question, self.loss) for question in self.questions}
        found = tuple(evaluation_of(step, question, self.answered[question.name]) for question in self.questions)
        self.evaluations += found
        return found

    def has_waited(self) -> bool:
        """Whether the last evaluations brought nothing better on what is seen."""
        patience = self.job.recipe.patience
        scores = [one.score for one in self.evaluations if one.part == STOPS_ON]
        if patience is None or len(scores) <= patience:
            return False
        known = [-float("inf") if score is None else score for score in scores]
        return max(known[-patience:]) <= max(known[:-patience])

    def finish(self, status: Status, reason: str | None, *, steps: int, together: int) -> Run:
        """The run as it is kept; what it needed is let go."""
        diverged = status == "diverged"
        task = self.job.task
        self.result = Run(
            configuration=self.job.configuration,
            status=status,
            reason=reason,
            steps=steps,
            seconds=self.seconds,
            together=together,
            metrics=metrics(self.evaluations, diverged=diverged),
            tables=tables(
                task.space,
                evaluations=self.evaluations,
                questions=self.questions,
                answered={} if diverged else self.answered,
                support=self.examples.support(),
            ),
            provenance=Provenance(source=str(self.job.configuration.task["name"])),
            domain=domain_of(task.space, most=_MOST_LISTED),
            scored="r2" if task.shapes.kind == "values" else "accuracy",
        )
        self.answered = {}
        for prepared in ("parts", "examples", "questions"):
            self.__dict__.pop(prepared, None)
        return self.result


def _put(weights: Mapping[str, Tensor], module: nn.Module) -> None:
    """Weights in the place of a module's own; what they do not name stays as it is."""
    try:
        strange = module.load_state_dict(dict(weights), strict=False).unexpected_keys
    except RuntimeError as error:
        raise SettingError(
            "weights of other shapes", why=str(error).splitlines()[-1].strip(), instead="give those of this very model"
        ) from error
    if strange:
        raise SettingError(
            f"weights for {strange[0]!r}",
            why="the model has no weight of that name",
            instead=nearest(strange[0], list(module.state_dict())),
        )
