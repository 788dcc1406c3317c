"""Does a network hold separate parts for separate components? Masks are searched for, taken out, and held to controls.

A mask is learned on one component alone, with the weights frozen. It is judged by what is lost without it: a mask that
does its component alone proves nothing, because masks can build almost any function out of random weights.

One probe from its checks to its answer: the whole network, the search, the baselines, the judging.
"""

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn

from recombine.base.checks import check_seed, check_whole
from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine.base.seeds import derived
from recombine_lab.models.layers import Forward, evaluating
from recombine_lab.probes.probe import MEASURED, Probe, measures_table
from recombine_lab.probes.subnetwork_probe import mask_search
from recombine_lab.probes.subnetwork_probe import verdict as telling
from recombine_lab.probes.subnetwork_probe.ablation import Judge, Right, check_units
from recombine_lab.probes.subnetwork_probe.accuracy_summary import PartSummaries, Rights, Summary
from recombine_lab.probes.subnetwork_probe.agreement import EstimatorAnswer, combined
from recombine_lab.probes.subnetwork_probe.component_usage import (
    AS_GOOD,
    CORE,
    MASKS,
    NEARLY_ALL,
    NETWORKS,
    usage,
    used_mask,
)
from recombine_lab.probes.subnetwork_probe.components import Component, components_of, poolable
from recombine_lab.probes.subnetwork_probe.mask_cache import Keeper, fingerprint
from recombine_lab.probes.subnetwork_probe.mask_learning import Mask, MaskJob, MaskLearner, Subject
from recombine_lab.probes.subnetwork_probe.mask_search import Cast, MaskSearchResult, choose_largest, searched
from recombine_lab.probes.subnetwork_probe.mask_settings import MaskedWeights, MaskEvidence, MaskSearch, Search
from recombine_lab.probes.subnetwork_probe.masked_network import (
    Asker,
    ParameterLayout,
    State,
    layouts_of,
    owner_of,
    score_of,
    state_of,
    unwrapped,
)
from recombine_lab.probes.subnetwork_probe.verdict import Final, base_verdict, grade, verdict

_TOGETHER = 3_000_000
"""Masked weights that are learned side by side, at most."""
_MOST_TOGETHER = 64
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_PICTURES = 50_000
"""Numbers in a batch of inputs above which several networks with convolutions are asked faster one by one."""
_SMALL = 5_000_000
"""Weights up to which several re-initialised networks are kept at hand."""


UsedMasks = Mapping[str, Mapping[str, list[tuple[MaskJob, Mask]]]]
"""For everybody and each component, the masks of all that is used, with what says whose network they belong to."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Probing:
    """A probe while it is made."""

    model: nn.Module
    asker: Asker
    layouts: tuple[ParameterLayout, ...]
    components: tuple[Component, ...]
    search: Search
    masked: MaskedWeights
    evidence: MaskEvidence
    chances: Mapping[str, float]
    settings: Mapping[str, Any]
    """All of them as plain data: for the provenance, and for a folder to say what its masks belong to."""
    seed: int
    command: str | None

    def answer(self, *, at_once: int | None, resume: str | Path | None, told: Progress) -> EstimatorAnswer:
        """Check, search, judge, and say."""
        with evaluating(self.model), _plainly():
            state = state_of(self.model)
            for one in self.components:
                self.asker.check(state, one.fit.rows(slice(0, 8)))
            together = self._together(at_once, state)
            settings = (self.masked.group, self.masked.ablation, self.seed, together)
            judge = Judge(self.model, self.asker, self.layouts, self.components, *settings)
            told("asking the whole network", 0.0)
            whole = judge.whole(state)
            if min(right.mean() for right in whole.values()) < self.evidence.base_accuracy:
                return EstimatorAnswer(self._refused(whole), {}, {})
            keeper = Keeper.open(resume, {**self.settings, **fingerprint(state, self.layouts, self.components)})
            cast = Cast(self.model, state, self.components, self.seed, 64 if _count(state) <= _SMALL else 1)
            disturbed = self._own_examples(judge, state) < self.evidence.sufficient
            half = 0.45 if disturbed else 0.9
            found = self._searched(cast, keeper, together, lambda done: told("learning masks", 0.02 + half * done))
            largest = None
            if disturbed:
                saying = lambda done: told("learning masks without a penalty", 0.02 + half * (1 + done))  # noqa: E731
                largest = self._unpenalised(cast, keeper, together, saying)
            told("judging masks", 0.92)
            return self._told(judge, cast, keeper, (found, largest), whole)

    @staticmethod
    def _own_examples(judge: Judge, state: State) -> float:
        """The least that the whole network does of a component's own held-out examples, the others left to chance."""
        every = {one.name: torch.ones(one.mask, dtype=torch.bool) for one in judge.layouts}
        return min(judge.alone(every, state, one.held_out) for one in judge.components)

    @property
    def size(self) -> int:
        """How many weights are masked."""
        return sum(layout.size for layout in self.layouts)

    def _together(self, at_once: int | None, state: State) -> int:
        """How many masks are learned side by side: as many as are asked for, fit, and can be."""
        wanted = at_once or self._worth_asking_together()
        if wanted > 1:
            self.asker.try_together(state, self.layouts, self.components[0].fit.rows(slice(0, 4)))
        return wanted if self.asker.together else 1

    def _worth_asking_together(self) -> int:
        """Many small networks are asked faster as one; large ones, and convolutions of large pictures, are not."""
        rows = self.components[0].fit.rows(slice(0, self.search.batch))
        convolved = any(isinstance(owner_of(self.model, one.name), _CONVOLUTIONS) for one in self.layouts)
        if convolved and sum(one.numel() for one in rows.tensors.values()) > _PICTURES:
            return 1
        return max(1, min(_MOST_TOGETHER, _TOGETHER // self.size))

    @property
    def searched_on(self) -> list[str]:
        """Everybody who gets a search: the network, and controls that can have one."""
        asked = self.evidence.controls
        controls = ["re-initialised"] if "re-initialised" in asked else []
        return [MEASURED, *controls, *(["shuffled"] if "shuffled" in asked and poolable(self.components) else [])]

    def _searched(self, cast: Cast, keeper: Keeper, together: int, told: Callable[[float], None]) -> MaskSearchResult:
        """The sparsest masks that do a component."""
        return searched(
            self._learner(self.search, cast),
            cast,
            keeper,
            seeds=dict.fromkeys(self.searched_on, self.evidence.seeds),
            sufficient=self.evidence.sufficient,
            at_once=together,
            told=told,
        )

    def _unpenalised(
        self, cast: Cast, keeper: Keeper, together: int, told: Callable[[float], None]
    ) -> MaskSearchResult:
        """The largest masks that do a component: nothing but what disturbs it is left out."""
        return searched(
            self._learner(self.search.without_penalty(), cast),
            cast,
            keeper,
            seeds={who: self._parts_of(who) for who in self.searched_on},
            sufficient=self.evidence.sufficient,
            at_once=together,
            told=told,
            choice=choose_largest,
        )

    def _learner(self, search: Search, cast: Cast) -> MaskLearner:
        ceiling = -math.log(max(min(self.chances.values()), 1e-6))
        device = next(iter(cast.state.values())).device
        return MaskLearner(self.asker, self.layouts, search, self.seed, ceiling, device)

    def _parts_of(self, who: str) -> int:
        """How many parts of all that is used are judged."""
        return max(self.evidence.seeds, NETWORKS if who == "re-initialised" else 0)

    def _told(
        self,
        judge: Judge,
        cast: Cast,
        keeper: Keeper,
        results: tuple[MaskSearchResult, MaskSearchResult | None],
        whole: Right,
    ) -> EstimatorAnswer:
        """From masks to the answer; the second result is of masks without a penalty, where these say what is used."""
        found, largest = results
        names = [one.name for one in self.components]
        final: dict[str, Final] = {who: {name: found.final(who, name) for name in names} for who in self.searched_on}
        judged = {
            who: {name: _rights(judge, cast, who, name, final[who]) for name in names} for who in self.searched_on
        }
        judged |= self._baselines(judge, cast, final[MEASURED])
        if largest is None:
            used, core = self._used_by_slope(judge, cast, final)
        else:
            used, core = _masks_of(largest, self.searched_on, names), judged[MEASURED]
        parts = self._parts(judge, cast, judged, used, core, _own(found, largest, names))
        masks = {name: [one.mask for _, one in final[MEASURED][name]] for name in names}
        keeper.choose(
            {name: {job.seed: self._arrays(one.mask) for job, one in final[MEASURED][name]} for name in names}
        )
        tried = telling.spread(judge, cast, found, parts.carved)
        mine = {name: [mask for _, mask in used[MEASURED][name]] for name in names}
        probe = self._probe(
            outcome=parts.outcome,
            verdict=verdict(parts),
            grade=grade(parts, self.evidence.seeds),
            reasons=self._reasons(parts, tried),
            numbers=telling.numbers(parts, masks, mine, self.layouts, tried),
            figures=telling.figures(parts),
            tables={
                "measures": measures_table(telling.measures(parts, whole)),
                "masks": telling.masks_table(parts.carved, final),
                "search": pa.Table.from_pylist(tried),
                "overlap": telling.overlap_table(masks, self.layouts),
            },
        )
        return EstimatorAnswer(probe, masks, mine)

    def _parts(
        self,
        judge: Judge,
        cast: Cast,
        judged: dict[str, dict[str, Rights]],
        used: UsedMasks,
        core: dict[str, Rights],
        own: Mapping[str, float] | None,
    ) -> PartSummaries:
        """The learned masks, all that is used and its core, judged alike."""
        every = {
            who: {name: self._rights_of(judge, cast, name, masks) for name, masks in by_component.items()}
            for who, by_component in used.items()
        }
        if "random" in self.evidence.controls:
            mine = {name: [mask for _, mask in masks] for name, masks in used[MEASURED].items()}
            every["random"] = {name: self._randomly(judge, cast, name, masks) for name, masks in mine.items()}
        rows = {one.name: len(one.test) for one in self.components}
        carved, all_used, core_used = (
            Summary(whose, self.chances, rows, self.evidence.sufficient) for whose in (judged, every, {MEASURED: core})
        )
        return PartSummaries(carved, all_used, core_used, own)

    @staticmethod
    def _rights_of(judge: Judge, cast: Cast, name: str, masks: Sequence[tuple[MaskJob, Mask]]) -> Rights:
        """Masks on the networks that they belong to, judged."""
        states = [cast.state_of(job.who, job.seed) for job, _ in masks]
        return Rights.of(name, judge.judged([mask for _, mask in masks], states))

    def _used_by_slope(
        self, judge: Judge, cast: Cast, final: Mapping[str, Final]
    ) -> tuple[UsedMasks, dict[str, Rights]]:
        """All that everybody uses, by the slopes of their losses; and the core of it, judged, of the network itself."""
        used: dict[str, dict[str, list[tuple[MaskJob, Mask]]]] = {}
        core: dict[str, Rights] = {}
        for who, by_component in final.items():
            for name, learned in by_component.items():
                configuration = learned[0][0].configuration
                jobs = [MaskJob(who, name, configuration, 1 + k) for k in range(self._parts_of(who))]
                both = [self._used(judge, cast.subject(job), job) for job in jobs]
                used.setdefault(who, {})[name] = [(job, mask) for job, (mask, _) in zip(jobs, both, strict=True)]
                if who == MEASURED:
                    cores = [(job, mask) for job, (_, mask) in zip(jobs, both, strict=True)]
                    core[name] = self._rights_of(judge, cast, name, cores)
        return used, core

    def _used(self, judge: Judge, subject: Subject, job: MaskJob) -> tuple[Mask, Mask]:
        """Nearly all that a component uses, as much as is enough to do it on held-out examples; and the core of it."""
        seed = derived(self.seed, "use", job.seed)
        use = usage(self.asker, subject.state, self.layouts, subject.component.fit, seed)
        held_out = partial(judge.alone, state=subject.state, data=subject.component.held_out)
        enough = held_out({name: torch.ones_like(one, dtype=torch.bool) for name, one in use.items()}) - AS_GOOD
        masks = (used_mask(use, share) for share in NEARLY_ALL)
        mask: Mask = {}
        for mask in masks:
            if held_out(mask) >= enough:
                break
        return mask, used_mask(use, CORE)

    def _randomly(self, judge: Judge, cast: Cast, name: str, masks: list[Mask]) -> Rights:
        """Random masks as large as what a component uses."""
        drawn = [
            mask_search.random_mask(masks[k % len(masks)], self.layouts, derived(self.seed, "random use", name, k))
            for k in range(MASKS)
        ]
        return self._unsearched_rights(judge, cast, name, drawn)

    def _refused(self, whole: Right) -> Probe:
        """The network itself does not do what parts of it are searched for."""
        least = self.evidence.base_accuracy
        reached = {name: float(right.mean()) for name, right in whole.items()}
        said = f"base_accuracy={least:g} is asked of the whole network on every test, before anything is learned."
        return self._probe(
            outcome="not sufficient",
            verdict=base_verdict(reached, least),
            grade="untested",
            reasons=(said,),
            numbers={f"whole network, {name}": value for name, value in reached.items()},
            figures=(),
            tables={"measures": measures_table(telling.whole_measures(whole))},
        )

    def _probe(self, **found: Any) -> Probe:
        made = Provenance(source=type(self.model).__name__, settings=dict(self.settings), command=self.command)
        rows = sum(len(one.fit) + len(one.held_out) + len(one.test) for one in self.components)
        return Probe(probe="subnetworks", rows=rows, provenance=made, **found)

    def _arrays(self, mask: Mask) -> dict[str, npt.NDArray[np.bool_]]:
        return {layout.name: layout.whole(mask[layout.name]).numpy() for layout in self.layouts}

    def _baselines(self, judge: Judge, cast: Cast, final: Final) -> dict[str, dict[str, Rights]]:
        """Masks as large as those that were found, which nobody searched for."""
        asked = [who for who in ("random", "magnitude", "saliency") if who in self.evidence.controls]
        found: dict[str, dict[str, Rights]] = {}
        for who in asked:
            for one in self.components:
                masks = [learned.mask for _, learned in final[one.name]]
                made = self._unsearched(who, judge, cast.state, one, masks)
                found.setdefault(who, {})[one.name] = self._unsearched_rights(judge, cast, one.name, made)
        return found

    @staticmethod
    def _unsearched_rights(judge: Judge, cast: Cast, name: str, masks: Sequence[Mask]) -> Rights:
        return Rights.of(name, judge.judged(masks, [cast.state] * len(masks)))

    def _unsearched(self, who: str, judge: Judge, state: State, component: Component, masks: list[Mask]) -> list[Mask]:
        if who == "random":
            return [self._random(judge, state, component, mask, k) for k, mask in enumerate(masks)]
        worth = (
            mask_search.magnitude(state, self.layouts)
            if who == "magnitude"
            else mask_search.saliency(self.asker, state, self.layouts, component.fit)
        )
        return [mask_search.top_mask(mask, worth) for mask in masks]

    def _random(self, judge: Judge, state: State, component: Component, like: Mask, number: int) -> Mask:
        """The best of as many random masks as configurations were tried, chosen as those were."""
        drawn = [
            mask_search.random_mask(like, self.layouts, derived(self.seed, "random mask", component.name, number, k))
            for k in range(len(self.search.configurations))
        ]
        return max(drawn, key=lambda mask: judge.alone(mask, state, component.held_out))

    def _reasons(self, parts: PartSummaries, tried: list[telling.Row]) -> tuple[str, ...]:
        group, ablation = self.masked.group, self.masked.ablation
        said = telling.reasons(parts, self.search, tried, group=group, ablation=ablation)
        if "shuffled" in self.searched_on:
            said.append("Shuffled components: masks are learned from random shares of all components' examples.")
        elif "shuffled" in self.evidence.controls:
            said.append("Components were not shuffled: their examples have different shapes.")
        if self.asker.apart_because and self.asker.apart_because != self.asker.NOT_TRIED:
            said.append(f"Masks were learned one by one: {self.asker.apart_because}.")
        if self.evidence.allow_repeats:
            said.append("Examples that masks were learned from may be among those that they are judged by.")
        return tuple(said)


@contextmanager
def _plainly() -> Iterator[None]:
    """Every part is asked by its own operations, one after the other.

    Compiled parts would be compiled again for every new set of weights, and torch's fused layers have no gradient when
    several are asked as one. What is looped over inside of a batch is no news to whoever reads the answer.
    """
    fused = torch.backends.mha.get_fastpath_enabled()
    eager: AbstractContextManager[Any] = nullcontext()
    if "torch._dynamo" in sys.modules:  # else nothing was compiled, and to ask takes seconds
        eager = torch.compiler.set_stance("force_eager")
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with eager, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*performance drop.*")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)


def _masks_of(found: MaskSearchResult, who: Sequence[str], names: Sequence[str]) -> UsedMasks:
    return {one: {name: [(job, it.mask) for job, it in found.final(one, name)] for name in names} for one in who}


def _own(sparsest: MaskSearchResult, largest: MaskSearchResult | None, names: Sequence[str]) -> dict[str, float] | None:
    """What the better of both kinds of masks does of each component's own held-out examples, in the mean over masks."""
    if largest is None:
        return None
    return {
        name: max(
            float(np.mean([one.held_out for _, one in result.final(MEASURED, name)])) for result in (sparsest, largest)
        )
        for name in names
    }


def _rights(judge: Judge, cast: Cast, who: str, name: str, final: Final) -> Rights:
    masks = [one.mask for _, one in final[name]]
    return Rights.of(name, judge.judged(masks, [cast.state_of(who, job.seed) for job, _ in final[name]]))


def _count(state: State) -> int:
    return sum(one.numel() for one in state.values())


def subnetworks(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    model: Any,
    score: Any = "accuracy",
    *,
    components: Mapping[str, Any] | None = None,
    forward: Forward | None = None,
    search: MaskSearch | None = None,
    masked: MaskedWeights | None = None,
    evidence: MaskEvidence | None = None,
    at_once: int | None = None,
    resume: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """Does a network hold a separate part for each component?

    - `model`: any torch module, or a run of a store. It is asked in evaluation mode and never changed.
    - `score`: "accuracy" for classes, "odd one out" for vectors (rows, items, d), or a function from the answers and
      the targets to the loss and to what is right, a number for every row.
    - `components`: for each component `(mask_train, test)`, each a pair `(inputs, targets)`; inputs are a tensor or
      tensors by name. Masks are learned from the first, where the other components vary freely, and judged by the
      second.
    - `forward`: how the model is asked about inputs, where `model(inputs)` or `model(**inputs)` is not the way.
    - `search`: how masks are learned. `masked`: on which weights. `evidence`: what they are held against.
    - `at_once`: masks that are learned side by side, unless given as many as fit. `resume`: a folder in which finished
      masks are kept.

    The outcome is one of: modular, redundant, collapse, anti-modular, not sufficient, unclear. Of several estimators it
    is what all of them say, else unclear; `agreement` has what each says.

    >>> import torch
    >>> from torch import nn
    >>> network = nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 4, bias=False))
    >>> with torch.no_grad():
    ...     _ = network[0].weight.copy_(torch.eye(8)), network[2].weight.copy_(torch.eye(4).repeat(1, 2))
    >>> def largest(half: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    ...     inputs = torch.zeros(rows, 8)
    ...     inputs[:, 4 * half : 4 * half + 4] = 9 * torch.rand(rows, 4, generator=torch.Generator().manual_seed(rows))
    ...     return inputs, inputs[:, 4 * half : 4 * half + 4].argmax(1)
    >>> components = {name: (largest(half, 300), largest(half, 200)) for half, name in enumerate(("left", "right"))}
    >>> found = subnetworks(
    ...     network, components=components, search=MaskSearch(steps=100), evidence=MaskEvidence(seeds=3)
    ... )
    >>> found.outcome
    'modular'
    """
    told = progress or silent
    if at_once is not None:
        check_whole("at_once", at_once, least=1)
    check_seed(seed)
    masked, evidence = masked or MaskedWeights(), evidence or MaskEvidence()
    module, searches = unwrapped(model), (search or MaskSearch()).searches()
    parts = components_of(components, seed=seed, allow_repeats=evidence.allow_repeats)
    layouts = layouts_of(module, parameters=masked.parameters, group=masked.group, heads=masked.heads)
    check_units(module, layouts, masked.group, masked.ablation)
    settings = {
        **{name: getattr(masked, name) for name in ("group", "heads", "ablation")},
        "controls": list(evidence.controls),
        **{name: getattr(evidence, name) for name in ("seeds", "sufficient", "base_accuracy", "chance")},
        "seed": seed,
        "score": score if isinstance(score, str) else getattr(score, "__name__", "a function"),
        "masked": [layout.name for layout in layouts],
    }
    asker = Asker(module, score_of(score), forward)
    answers: dict[str, EstimatorAnswer] = {}
    for k, one in enumerate(searches):
        asking = Probing(
            model=module,
            asker=asker,
            layouts=layouts,
            components=parts,
            search=one,
            masked=masked,
            evidence=evidence,
            chances={part.name: _chance(part, evidence.chance) for part in parts},
            settings={"search": one.plain(), **settings},
            seed=seed,
            command=command,
        )
        folder = None if resume is None else Path(resume) / one.estimator if len(searches) > 1 else resume
        answers[one.estimator] = asking.answer(at_once=at_once, resume=folder, told=_nth(told, k, len(searches)))
        if len(searches) == 1 or not answers[one.estimator].sparsest:  # one alone, or a network that is refused
            return answers[one.estimator].probe
    return combined(answers, layouts)


def _nth(told: Progress, place: int, count: int) -> Progress:
    """The progress of one of several that are asked one after the other."""

    def telling_all(what: str, share: float | None) -> None:
        told(what, None if share is None else (place + share) / count)

    return telling_all


def _chance(component: Component, given: float | None) -> float:
    """The accuracy of one answer for all on a component's test."""
    if given is not None:
        return given
    targets = component.test.targets
    if targets.ndim != 1 or targets.is_floating_point():
        raise SettingError(
            f"the targets of the test of {component.name!r} are {'×'.join(map(str, targets.shape))} {targets.dtype}",
            why="what one answer for all would reach cannot be counted: they are no classes",
            instead="write chance=0.25, or what it is",
        )
    found = float(np.unique(targets.cpu().numpy(), return_counts=True)[1].max()) / len(targets)
    if found >= 1:
        raise SettingError(
            f"the test of {component.name!r} has one target only",
            why="an answer that never changes is always right on it",
            instead="give a test in which the component varies",
        )
    return found
