"""The paired experiment: the same model, seeds and budget, with and without a redundant input to lean on.

In A the redundant factor tells something of the answer, in B and B-noise it does not. Does A learn faster, and does it
then fall further on unseen combinations? Every seed is a pair; intervals are over seed pairs.

One task in three settings: A as it is, B with the redundant factor randomised, B-noise with noise in its place.

Tasks that come with such settings of their own (`Toy`, `DigitPairs`) are taken at their word. For any other: in B the
redundant factor of every training example is drawn evenly among its values, whatever the others are. In B-noise the
combinations stay those of A, and every input that the redundant factor ever changes gets the number that it has in
another row, each input from a row of its own, so that nothing is left but its spread. What is asked stays as in A; only
`seen` is asked like the training examples in B. In B the combinations asked about have been seen: it cannot be helped.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from recombine.base.checks import check_choice
from recombine.base.errors import SettingError, nearest
from recombine.base.grades import Grade
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine.base.seeds import derived
from recombine.base.words import amount, measure, percent
from recombine.data.space import Space
from recombine.numerics.intervals import student_mean_interval, wilson_interval
from recombine.numerics.resampling import FEWEST
from recombine.output.figures import Curve, Curves
from recombine_lab.base.catalogue import Spec
from recombine_lab.models.model import Model
from recombine_lab.probes.influence_probe.factor_locations import discovered
from recombine_lab.probes.influence_probe.module_answers import Floats
from recombine_lab.probes.probe import Measure, Probe, measures_table
from recombine_lab.runs.run import Run
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import Exposure, Parts, Source, split_of
from recombine_lab.tasks.task import Batch, Codes, Part, Shapes, Task
from recombine_lab.training.configurations import seeds_of
from recombine_lab.training.fit import fit

SettingName = Literal["A", "B", "B-noise"]
SETTINGS: tuple[SettingName, ...] = get_args(SettingName)
_TRIED = 64


def in_setting(task: Task, split: Any, redundant: str | None, setting: SettingName) -> tuple[Task, Any]:
    """The task and the split of a setting.

    >>> from recombine_lab.tasks import Toy
    >>> in_setting(Toy(), "own", None, "B")[0].setting
    'B'
    """
    if setting in own_settings(task):
        return replace(task, setting=setting), split  # type: ignore[type-var]
    if setting == "A":
        return task, split
    place = _place(task, redundant)
    if setting == "B":
        _check_redundant(task, place)
        return task, _Randomised(split_of(split, task), place)
    base = split_of(split, task)
    return _Noised(base=task, mask=_mask(task, base, place)), _MarkedExposure(base)


def own_settings(task: Task) -> tuple[str, ...]:
    """The settings that a task has itself."""
    return get_args(get_type_hints(type(task)).get("setting"))


def _place(task: Task, redundant: str | None) -> int:
    names = list(task.space.names)
    if redundant not in names:
        raise SettingError(
            f"redundant={redundant!r}",
            why=f"the task's factors are {', '.join(names)}, and one of them is randomised in B",
            instead=nearest(str(redundant), names),
        )
    return names.index(redundant)


def _check_redundant(task: Task, place: int) -> None:
    """A factor that the answer depends on cannot be randomised: the task would be another one."""
    codes = task.every()
    truth = task.truth(codes)
    if truth is None:
        return
    rest = np.unique(np.delete(codes, place, axis=1), axis=0, return_inverse=True)[1]
    values = np.unique(np.stack([rest, np.unique(truth, return_inverse=True)[1]], axis=1), axis=0)
    if len(values) > len(np.unique(rest)):
        raise SettingError(
            f"redundant={task.space.names[place]!r}",
            why="the right answer depends on it, so that it is not redundant",
            instead="name a factor that the answer does not depend on",
        )


@dataclass(frozen=True, eq=False)
class _EvenSource(Source):
    """A source with one column of its latents drawn evenly."""

    base: Source
    place: int
    values: Tensor | None

    def draw(self, n: int, *, seed: int) -> Tensor:
        latents = self.base.draw(n, seed=seed).clone()
        rng = torch.Generator().manual_seed(derived(seed, "randomised"))
        if self.values is None:
            latents[:, self.place] = torch.rand(n, generator=rng)
        else:
            latents[:, self.place] = self.values[torch.randint(len(self.values), (n,), generator=rng)]
        return latents

    def every(self) -> Tensor | None:
        listed = self.base.every()
        if listed is None or self.values is None:
            return None
        wide = listed.repeat_interleave(len(self.values), 0)
        wide[:, self.place] = self.values.repeat(len(listed))
        found: Tensor = torch.unique(wide, dim=0)
        return found


@dataclass(frozen=True, eq=False)
class _Randomised(Exposure):
    """Setting B of any split."""

    base: Exposure
    place: int

    def parts(self, task: Task, *, seed: int) -> Parts:
        parts = self.base.parts(task, seed=seed)
        listed = parts.train.every()
        values = None if listed is None else torch.unique(listed[:, self.place])
        train = _EvenSource(parts.train, self.place, values)
        return Parts(train, {name: train if name == "seen" else one for name, one in parts.tests.items()})


@dataclass(frozen=True, eq=False)
class _MarkedSource(Source):
    """A source whose latents say in one column more that noise is to be put in."""

    base: Source

    def draw(self, n: int, *, seed: int) -> Tensor:
        return _marked(self.base.draw(n, seed=seed))

    def every(self) -> Tensor | None:
        listed = self.base.every()
        return None if listed is None else _marked(listed)


def _marked(latents: Tensor) -> Tensor:
    return torch.cat([latents, torch.ones_like(latents[:, :1])], dim=1)


@dataclass(frozen=True, eq=False)
class _MarkedExposure(Exposure):
    """Setting B-noise of any split: training is marked, what is asked is not."""

    base: Exposure

    def parts(self, task: Task, *, seed: int) -> Parts:
        own = task.base if isinstance(task, _Noised) else task
        parts = self.base.parts(own, seed=seed)
        return Parts(_MarkedSource(parts.train), parts.tests)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Noised(Task):
    """A task that renders marked latents with noise where a factor is."""

    base: Task
    mask: Tensor

    @property
    def space(self) -> Space:
        return self.base.space

    @property
    def shapes(self) -> Shapes:
        return self.base.shapes

    def truth(self, combinations: Codes) -> npt.NDArray[Any] | None:
        return self.base.truth(combinations)

    def latents(self, combinations: Codes, *, seed: int) -> Tensor:
        return self.base.latents(combinations, seed=seed)

    def combinations(self, latents: Tensor) -> Codes:
        return self.base.combinations(latents[:, : self._width])

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        batch = self.base.render(latents[:, : self._width], seed=seed, part=part)
        if latents.shape[1] == self._width:
            return batch
        rng = torch.Generator().manual_seed(derived(seed, "noise"))
        inputs = batch.inputs.clone()
        held = inputs[:, self.mask]
        order = torch.rand(held.shape, generator=rng).argsort(dim=0)
        inputs[:, self.mask] = held.gather(0, order)
        return Batch(inputs, batch.targets)

    @property
    def _width(self) -> int:
        return len(self.base.space.factors)


def _mask(task: Task, split: Exposure, place: int) -> Tensor:
    """The inputs that the factor ever changes."""
    parts = split.parts(task, seed=0)
    latents = torch.cat([one.draw(_TRIED, seed=0) for one in (parts.train, *parts.tests.values())])
    name = task.space.names[place]

    def swapped(_: str, donors: npt.NDArray[np.int64]) -> Tensor:
        changed = latents.clone()
        changed[:, place] = latents[torch.from_numpy(donors), place]
        return task.render(changed, seed=0, part="train").inputs

    found = discovered(task.render(latents, seed=0, part="train").inputs, (name,), swapped)
    if name not in found.masks:
        raise SettingError(
            f"B-noise with redundant={name!r}",
            why="which inputs it changes cannot be found, so that no noise can be put in their place",
            instead="leave B-noise out: settings=('A', 'B')",
        )
    return found.masks[name]


OUTCOMES = {
    "shortcut": "the gap between seen and unseen combinations is surely larger in A than in B",
    "no shortcut": "it is surely not larger by `least` or more",
    "unclear": "not enough seed pairs to tell",
}
LEAST = 0.05
Bounds = tuple[float, float]
EARLY = 32
"""Training speed is compared at the evaluation nearest to this part of the steps: fixed beforehand, not chosen."""


@dataclass(frozen=True, eq=False)
class _ConditionCurves:
    """The curves of one setting: (seeds, evaluations) on what is like training, and on what is asked about."""

    steps: tuple[int, ...]
    seen: Floats
    asked: Floats
    share: bool
    """Whether scores are shares of right answers; of numbers they are R², which has no least value."""

    @property
    def gap(self) -> Floats:
        return np.asarray(self.seen - self.asked)

    @property
    def score_bounds(self) -> Bounds:
        return (0.0 if self.share else -math.inf), 1.0

    def difference_bounds(self, times: int = 1) -> Bounds:
        """Of a difference of two scores; `times` 2 of two such differences."""
        most = float(times) if self.share else math.inf
        return -most, most


def paired(  # noqa: PLR0913 - each is one plain question
    task: Task | str | Spec,
    *,
    model: Model | str | Spec,
    recipe: Any,
    split: Any = "own",
    redundant: str | None = None,
    settings: Sequence[SettingName] | None = None,
    seeds: int | Sequence[int] = 20,
    least: float = LEAST,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """Train in A, B and B-noise with the same seeds, and compare training speed and gap pair by pair.

    `redundant` names the factor that is randomised; tasks with a `setting` of their own need none. `settings` are all
    that the task can be put in, A first.

    >>> from recombine_lab.tasks import Toy
    >>> recipe = {"steps": 8, "batch": 10, "test_samples": 50, "evaluations": 3}
    >>> found = paired(Toy(), model={"name": "mlp", "hidden": [4]}, recipe=recipe, seeds=2)
    >>> found.outcome
    'unclear'
    """
    tell = progress or silent
    built: Task = TASKS.build(task) if isinstance(task, str | Mapping) else task
    chosen = _chosen(built, redundant, settings)
    numbers = seeds_of(seeds)
    found: dict[str, _ConditionCurves] = {}
    for k, name in enumerate(chosen):
        tell(f"training in setting {name}", k / len(chosen))
        asked, shown = in_setting(built, split, redundant, name)
        runs = fit(asked, shown, model, recipe, seeds=numbers, progress=None)
        found[name] = _curves(runs, name, share=built.shapes.kind != "values")
    return _probe(found, numbers, least, str(type(built).__name__), command)


def _chosen(task: Task, redundant: str | None, settings: Sequence[SettingName] | None) -> tuple[SettingName, ...]:
    own = own_settings(task)
    given = tuple(settings or ([one for one in SETTINGS if one in own] if own and redundant is None else SETTINGS))
    for one in given:
        check_choice("settings", one, SETTINGS)
    if len(given) < 2 or given[0] != "A":
        raise SettingError(
            f"settings={given!r}",
            why="A is held against the others",
            instead="write settings=('A', 'B'), or leave it out",
        )
    return given


def _curves(runs: Sequence[Run], name: str, *, share: bool) -> _ConditionCurves:
    lost = [run for run in runs if run.status != "finished"]
    if lost:
        raise SettingError(
            f"{amount(len(lost), 'run')} of setting {name} {lost[0].status}",
            why=f"seed {lost[0].configuration.seed}: {lost[0].reason}",
            instead="change the recipe, for example a smaller lr; no seed is left out",
        )
    parts = [one for one in dict.fromkeys(runs[0].tables["curve"]["part"].to_pylist()) if one != "train"]
    asked = next((one for one in ("unseen", "test") if one in parts), None)
    if "seen" not in parts or asked is None:
        raise SettingError(
            f"a split that asks {', '.join(parts)}",
            why="the gap is that between `seen` and `unseen` combinations",
            instead="give a split that holds combinations out",
        )
    steps, seen = _scores(runs, "seen")
    return _ConditionCurves(steps, seen, _scores(runs, asked)[1], share)


def _scores(runs: Sequence[Run], part: str) -> tuple[tuple[int, ...], Floats]:
    tables = [run.tables["curve"] for run in runs]
    rows = [[one for one in table.to_pylist() if one["part"] == part] for table in tables]
    steps = tuple(int(one["step"]) for one in rows[0])
    return steps, np.array([[np.nan if one["score"] is None else one["score"] for one in run] for run in rows])


def _probe(
    found: Mapping[str, _ConditionCurves], seeds: tuple[int, ...], least: float, source: str, command: str | None
) -> Probe:
    first = found["A"]
    early = int(np.argmin(np.abs(np.log1p(first.steps) - np.log1p(first.steps[-1] / EARLY))))
    measures, pairs = [], {}
    for name, one in found.items():
        measures += [
            _mean(name, f"seen at step {one.steps[early]}", one.seen[:, early], one.score_bounds),
            _mean(name, "seen at the end", one.seen[:, -1], one.score_bounds),
            _mean(name, "unseen at the end", one.asked[:, -1], one.score_bounds),
            _mean(name, "gap", one.gap[:, -1], one.difference_bounds()),
        ]
        if name != "A":
            pairs[name] = (first.seen[:, early] - one.seen[:, early], first.gap[:, -1] - one.gap[:, -1])
    for name, both in pairs.items():
        for times, (word, values) in enumerate(zip(("speed", "gap"), both, strict=True), start=1):
            measures += [
                _mean(f"A less {name}", word, values, first.difference_bounds(times)),
                _agree(f"A less {name}", f"{word}: pairs that agree", values),
            ]
    outcome, grade, verdict, reasons = _said(found, pairs, early, least)
    numbers = {f"{row.where}: {row.name}": row.value for row in measures}
    return Probe(
        probe="influence",
        outcome=outcome,
        verdict=verdict,
        grade=grade,
        reasons=reasons,
        rows=len(seeds) * len(found),
        numbers=numbers,
        figures=(_figure(found, "seen"), _figure(found, "asked")),
        tables={"measures": measures_table(measures), "pairs": _pairs(found, seeds, early)},
        provenance=Provenance(source=source, settings={"seeds": list(seeds)}, command=command),
    )


def _over_seeds(values: Floats, bounds: Bounds) -> tuple[float | None, float | None]:
    """Student's interval for the mean over seeds, within what it can be; none of fewer than five."""
    if len(values) < FEWEST or not np.isfinite(values).all():
        return None, None
    return student_mean_interval(values, least=bounds[0], most=bounds[1]) or (None, None)


def _mean(where: str, name: str, values: Floats, bounds: Bounds) -> Measure:
    low, high = _over_seeds(values, bounds)
    return Measure(where, name, float(values.mean()), low=low, high=high, n=len(values))


def _agree(where: str, name: str, values: Floats) -> Measure:
    """The share of seed pairs in which A is ahead; Wilson's interval."""
    share, count = float((values > 0).mean()), len(values)
    low, high = wilson_interval(share, count, freedom=max(count - 1.0, 1.0))
    return Measure(where, name, share, low=low, high=high, n=count)


def _said(
    found: Mapping[str, _ConditionCurves], pairs: Mapping[str, tuple[Floats, Floats]], early: int, least: float
) -> tuple[str, Grade, str, tuple[str, ...]]:
    name, (speed, gap) = next(iter(pairs.items()))
    speed_bounds, gap_bounds = (found["A"].difference_bounds(times) for times in (1, 2))
    low, high = _over_seeds(gap, gap_bounds)
    outcome, grade = "unclear", "untested"
    if low is not None and high is not None:
        outcome = "shortcut" if low > 0 else "no shortcut" if high < least else "unclear"
        grade = {"shortcut": "failing", "no shortcut": "sound"}.get(outcome, "untested")
    first, other = found["A"], found[name]
    verdict = (
        f"The gap between seen and unseen combinations is {measure(float(first.gap[:, -1].mean()))} with the redundant"
        f" factor at hand (A) and {measure(float(other.gap[:, -1].mean()))} without ({name}) after"
        f" {first.steps[-1]:,} steps: {_difference(gap, gap_bounds)}; at step {first.steps[early]:,} A is ahead in"
        f" training by {_difference(speed, speed_bounds)}."
    )
    reasons = []
    if "B" in pairs:
        reasons.append("In B the combinations asked about have been seen: its smaller gap has two causes at once.")
    for more, (_, apart) in list(pairs.items())[1:]:
        reasons.append(f"Against {more} the gap differs by {_difference(apart, gap_bounds)}.")
    return outcome, grade, verdict, tuple(reasons)  # type: ignore[return-value]


def _difference(values: Floats, bounds: Bounds) -> str:
    low, high = _over_seeds(values, bounds)
    ends = "" if low is None or high is None else f" ({measure(low)} to {measure(high)})"
    above = percent(float((values > 0).mean()))
    return f"{measure(float(values.mean()))}{ends} over {amount(len(values), 'seed pair')}, {above} of them above 0"


def _pairs(found: Mapping[str, _ConditionCurves], seeds: tuple[int, ...], early: int) -> pa.Table:
    rows = [
        {
            "setting": name,
            "seed": seed,
            "seen early": float(one.seen[k, early]),
            "seen": float(one.seen[k, -1]),
            "unseen": float(one.asked[k, -1]),
            "gap": float(one.gap[k, -1]),
        }
        for name, one in found.items()
        for k, seed in enumerate(seeds)
    ]
    return pa.Table.from_pylist(rows)


def _figure(found: Mapping[str, _ConditionCurves], what: str) -> Curves:
    curves = []
    for name, one in found.items():
        values: Floats = getattr(one, what)
        ends = [_over_seeds(values[:, k], one.score_bounds) for k in range(values.shape[1])]
        known = ends[0][0] is not None
        low, high = (tuple(end[k] for end in ends) if known else () for k in (0, 1))
        curves.append(Curve(name, tuple(values.mean(axis=0).tolist()), low, high, control=name != "A"))
    title = "Combinations as in training" if what == "seen" else "Unseen combinations (in B they have been seen)"
    places = tuple(str(step) for step in found["A"].steps)
    return Curves(title, "Mean over seeds, with its 95 % interval.", "step", "score", places, tuple(curves))
