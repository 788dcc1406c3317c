"""The search: every configuration on everybody, one of them chosen by sufficiency and sparsity, then more seeds of it.

Whoever is a control gets the same search. Nothing that is reported has a say in the choice: not what is left without
the mask, and no test.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from torch import nn

from recombine.seeds import derived
from recombine_lab.probes.masks.data import Component, shuffled
from recombine_lab.probes.masks.keeping import Keeper
from recombine_lab.probes.masks.learning import Job, Learned, Learner, Subject
from recombine_lab.probes.masks.network import State, reinitialised
from recombine_lab.probes.masks.settings import Configuration

SEARCH_SEED = 0
"""The mask seed of the search; those of the masks that are judged come after it."""


@dataclass(frozen=True, eq=False)
class Cast:
    """Everybody on whom masks are learned: the network, it re-initialised, and it with shuffled components."""

    model: nn.Module
    state: State
    components: tuple[Component, ...]
    seed: int
    most: int
    """Networks that are kept at hand; others are made again."""
    _states: dict[int, State] = field(default_factory=dict)
    _mixed: dict[int, tuple[Component, ...]] = field(default_factory=dict)

    def state_of(self, who: str, seed: int) -> State:
        """The weights of somebody; each mask seed has a re-initialised network of its own."""
        if who != "re-initialised":
            return self.state
        if seed not in self._states:
            while len(self._states) >= self.most:
                self._states.pop(next(iter(self._states)))
            self._states[seed] = reinitialised(self.model, derived(self.seed, "control", seed))
        return self._states[seed]

    def _shuffled(self, seed: int) -> tuple[Component, ...]:
        """The components mixed by a mask seed; examples may be large, so those of one seed are kept at a time."""
        if seed not in self._mixed:
            self._mixed.clear()
            self._mixed[seed] = shuffled(self.components, derived(self.seed, "control", seed))
        return self._mixed[seed]

    def subject(self, job: Job) -> Subject:
        """Somebody with the examples of a job's component."""
        told = self._shuffled(job.seed) if job.who == "shuffled" else self.components
        mine = next(one for one in told if one.name == job.component)
        others = tuple(one for one in told if one.name != job.component)
        return Subject(self.state_of(job.who, job.seed), mine, others)


@dataclass(frozen=True, eq=False)
class Found:
    """All masks of a search, and for each somebody and component the configuration that was chosen."""

    learned: Mapping[Job, Learned]
    chosen: Mapping[tuple[str, str], Configuration]
    seeds: int

    def final(self, who: str, component: str) -> list[tuple[Job, Learned]]:
        """The masks that are judged: the chosen configuration with each of the mask seeds."""
        made = self.chosen[who, component]
        jobs = [Job(who, component, made, SEARCH_SEED + k) for k in range(1, self.seeds + 1)]
        return [(job, self.learned[job]) for job in jobs]

    def of_search(self) -> list[tuple[Job, Learned]]:
        """The masks of the search itself."""
        return [(job, one) for job, one in self.learned.items() if job.seed == SEARCH_SEED]


def searched(
    learner: Learner,
    cast: Cast,
    keeper: Keeper,
    *,
    who: Sequence[str],
    seeds: int,
    sufficient: float,
    at_once: int,
    told: Callable[[float], None],
) -> Found:
    """Every configuration, then the chosen ones with more seeds."""
    names = [one.name for one in cast.components]
    grid = learner.search.configurations
    first = [Job(one, name, made, SEARCH_SEED) for one in who for name in names for made in grid]
    share = len(grid) / (len(grid) + seeds)
    learned = _learned(learner, cast, keeper, first, at_once, lambda done: told(share * done))
    chosen = {
        (one, name): choose({made: learned[Job(one, name, made, SEARCH_SEED)] for made in grid}, sufficient)
        for one in who
        for name in names
    }
    more = [
        Job(one, name, chosen[one, name], SEARCH_SEED + k) for one in who for name in names for k in range(1, seeds + 1)
    ]
    learned |= _learned(learner, cast, keeper, more, at_once, lambda done: told(share + (1 - share) * done))
    return Found(learned, chosen, seeds)


def choose(tried: Mapping[Configuration, Learned], sufficient: float) -> Configuration:
    """The sparsest of those that do their component on held-out examples; where none does, the one that does it best.

    >>> tried = {Configuration(0.01, 0.1, k): Learned({}, k, 0.5 + k, 0.0, 0.0) for k in (0.3, 0.45, 0.5)}
    >>> choose(tried, 0.9).penalty, choose(tried, 2.0).penalty
    (0.45, 0.5)
    """
    passing = [made for made, one in tried.items() if one.held_out >= sufficient]
    if passing:
        return min(passing, key=lambda made: (tried[made].density, -tried[made].held_out))
    return max(tried, key=lambda made: (tried[made].held_out, -tried[made].density))


def _learned(
    learner: Learner, cast: Cast, keeper: Keeper, jobs: Sequence[Job], at_once: int, told: Callable[[float], None]
) -> dict[Job, Learned]:
    """What is not kept already is learned, as many masks side by side as may be."""
    found = {job: kept for job in jobs if (kept := keeper.get(job)) is not None}
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        if job not in found:
            groups.setdefault(_alike(learner, cast, job), []).append(job)
    chunks = [group[k : k + at_once] for group in groups.values() for k in range(0, len(group), at_once)]
    missing, done = sum(map(len, chunks)), 0
    for chunk in chunks:
        subjects = [cast.subject(job) for job in chunk]
        made = learner.learn(chunk, subjects, partial(_within, told, done / missing, len(chunk) / missing))
        for job, one in zip(chunk, made, strict=True):
            keeper.put(job, one)
            found[job] = one
        done += len(chunk)
    return found


def _within(told: Callable[[float], None], start: float, share: float, part: float) -> None:
    told(start + share * part)


def _alike(learner: Learner, cast: Cast, job: Job) -> object:
    """Masks can be learned side by side where batches look alike and steps are equally many."""
    component = next(one for one in cast.components if one.name == job.component)
    form = tuple((name, tuple(one.shape[1:])) for name, one in component.fit.tensors.items())
    steps = learner.steps(Subject(cast.state, component, ()))
    rows = min(learner.search.batch, len(component.fit))
    return (steps, rows, form, job.component if learner.search.against else None)
