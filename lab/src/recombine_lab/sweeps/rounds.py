"""The rounds of a rehearsal over Ray: one task each, on this machine or on a cluster, whatever the learner.

A round's answers hang on its examples and its seed alone, so they are the same wherever it runs, and a round whose
machine is lost is run again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recombine.algebra.groups import Numbers
from recombine.checks import check_whole
from recombine.errors import RecombineError, SourceError
from recombine.rehearsing.examples import Examples
from recombine.rehearsing.learners import Learner, Level, Part, learner_of
from recombine_lab.sweeps.ray_pool import connect, ray_itself

_RETRIES = 3


@dataclass(frozen=True, eq=False)
class OverRay:
    """A learner whose rounds are run by Ray. Made by `over_ray`."""

    learner: Learner
    address: str | None
    workers: int | None

    @property
    def name(self) -> str:
        """The learner's own."""
        return self.learner.name

    @property
    def level(self) -> Level:
        """The learner's own."""
        return self.learner.level

    @property
    def stands_for_a_network(self) -> bool:
        """The learner's own."""
        return bool(getattr(self.learner, "stands_for_a_network", False))

    def answer(self, train: Examples, test: Examples, *, seed: int) -> Numbers:
        """One round alone, here."""
        return self.learner.answer(train, test, seed=seed)

    def answer_all(self, parts: Sequence[Part]) -> list[Numbers]:
        """All rounds, as many at once as there are processors."""
        ray = ray_itself()
        ours = not ray.is_initialized()
        if ours:
            connect(ray, self.address, self.workers)
        try:
            task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_answered)
            learner = ray.put(self.learner)
            return [_heard(ray, one) for one in [task.remote(learner, *part) for part in parts]]
        finally:
            if ours:
                ray.shutdown()


def over_ray(learner: Any, *, address: str | None = None, workers: int | None = None) -> OverRay:
    """Any learner of `recombine.rehearse`, whose rounds are then run by Ray: at an address, or on this machine.

    >>> from recombine_lab import learner
    >>> over_ray(learner({"name": "mlp", "hidden": [16]}, {"steps": 200, "samples": "every"}), workers=2).name
    'mlp (3 seeds)'
    """
    if workers is not None:
        check_whole("workers", workers, least=1)
    return OverRay(learner_of(learner), address, workers)


@dataclass(frozen=True)
class _Refused:
    """An error of ours in parts, because its class takes them by name and so does not travel."""

    kind: type[RecombineError]
    what: str
    why: str
    instead: str


def _answered(learner: Learner, train: Examples, test: Examples, seed: int) -> Numbers | _Refused:
    """What runs on a worker."""
    try:
        return learner.answer(train, test, seed=seed)
    except RecombineError as error:
        return _Refused(type(error), error.what, error.why, error.instead)


def _heard(ray: Any, reference: Any) -> Numbers:
    """A round's answers; what a learner was refused for is raised here, as if it had run here."""
    try:
        found: Numbers | _Refused = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise SourceError(
            "a round of the rehearsal was lost",
            why=str(error).strip().splitlines()[0],
            instead="look at the cluster, or rehearse without over_ray(…)",
        ) from error
    if isinstance(found, _Refused):
        raise found.kind(found.what, why=found.why, instead=found.instead)
    return found
