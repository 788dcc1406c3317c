"""Do the seen points fix every component, if the composition function is known?

After Wiedemer et al., *Compositional Generalization from First Principles* (NeurIPS 2023), definitions 3 and 4 and
theorem 1. Points are what a model is trained on; their columns belong to slots, one for each component.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from recombine.base.checks import check_number, check_seed
from recombine.base.errors import SettingError
from recombine.base.progress import Progress, silent
from recombine.base.records import Provenance
from recombine.base.seeds import derived
from recombine_lab.probes.probe import MEASURED, Measure, Probe, measures_table
from recombine_lab.probes.run_inputs import run_name
from recombine_lab.probes.support_probe import neighbours as near
from recombine_lab.probes.support_probe.component_comparison import recovery_measures, recovery_words
from recombine_lab.probes.support_probe.component_outputs import (
    Components,
    check_composes,
    components_of,
    composed_of,
    usual_shape,
)
from recombine_lab.probes.support_probe.connectivity import LONGER, longest_step
from recombine_lab.probes.support_probe.measures import RANKED, SITES, SupportQuery, links_of, measures_of, written_out
from recombine_lab.probes.support_probe.points import MOST_ASKED, SupportPoints, points_of
from recombine_lab.probes.support_probe.run_points import RunPoints, points_of_run
from recombine_lab.probes.support_probe.verdict import (
    DIAGONAL,
    EVEN,
    HOLES,
    SupportMeasures,
    figures_of,
    hole_words,
    holes_of,
    judged,
    numbers_of,
    parts_words,
    reasons,
    unasked_words,
)


def support(  # noqa: PLR0913 - each is a thing of its own that a user may know
    points: Any = None,
    *,
    model: Any = None,
    slots: Any = None,
    composition: Any = None,
    components: Any = None,
    truth: Any = None,
    query: Any = None,
    bandwidth: float | None = None,
    reach: float = 0.5,
    seed: int = 0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Probe:
    """Whether the seen points fix every component of what is composed, and so every new combination of them.

    - `points`: (n, entries) what was seen, as an array, a table or a Parquet file.
    - `slots`: which columns belong to which component, by name or place; a number cuts them into equal parts.
    - `composition`: a name ("add", "alpha", "concatenation", "hard_occlusion", "product", "soft_occlusion"), or any
      differentiable function of a tensor (n, slots, …). It is soft occlusion unless given.
    - `components`: what each slot gives, by which the Jacobians are taken and which is compared with `truth`: a
      function for each slot, one function (values, slot), a `Sprites` task, or a model with `.components(points)`.
      Random smooth ones where none are given. Where `truth` is given too, Jacobians are taken at the truth.
    - `query`: what is asked about, as `points`, or "box" for the whole range of each entry; new combinations of seen
      values unless given. A stretch of an entry that was never seen counts where one of these points lies in it.
    - `bandwidth`: how near a seen value must be, as a share of an entry's range; unless given, as near as so many
      values drawn evenly would be.
    - `reach`: how far a change of a component reaches, as a share of an entry's range, where it is taken as smooth.
    - `model`: a run of the lab on sprites, which says all of this by itself.

    `outcome` is "sufficient", "insufficient" or "unclear". Beside each measure stand as many points drawn evenly, and
    an exact diagonal, on which all slots are alike and nothing can be told apart.

    >>> rng = np.random.default_rng(0)
    >>> alike = np.repeat(rng.random((150, 1)), 2, axis=1)
    >>> support(alike, slots=2, composition="add").outcome
    'insufficient'
    >>> support(rng.random((150, 2)), slots=2, composition="add").outcome
    'sufficient'
    """
    check_seed(seed)
    if bandwidth is not None:
        check_number("bandwidth", bandwidth, above=0, most=1)
    check_number("reach", reach, above=0)
    tell: Progress = progress or silent
    tell("reading the points", 0.0)
    if model is not None:
        given = _given_by(model, points, slots=slots, composition=composition, components=components, seed=seed)
        seen = points_of(given.points, slots=given.slots, query=given.query if query is None else query, seed=seed)
        seen = replace(seen, query_is="the whole space of the task" if query is None else seen.query_is)
        asked = _asked(seen, given.composition, given.learned, given.truth, (bandwidth, reach), seed)
        extra = [given.said] if given.said else []
        source = run_name(model)
    else:
        _check_given(points, slots)
        seen = points_of(points, slots=slots, query=query, seed=derived(seed, "query"))
        asked = _asked(seen, composition or "soft_occlusion", components, truth, (bandwidth, reach), seed)
        extra, source = [], _source(points)
    return _probed(
        seen, asked, extra, tell, seed, Provenance(source=source, settings=_settings(asked), command=command)
    )


@dataclass(frozen=True, eq=False)
class _SupportSubject:
    """What is asked, and the learned components beside the true ones where both are known."""

    asked: SupportQuery
    learned: Components | None
    truth: Components | None


def _probed(
    points: SupportPoints, asked: _SupportSubject, extra: list[str], tell: Progress, seed: int, provenance: Provenance
) -> Probe:
    rng = np.random.default_rng(derived(seed, "controls"))
    n = len(points.seen)
    measures: list[Measure] = []
    controls = {
        MEASURED: points,
        EVEN: points.showing(points.box(n, rng)),
        DIAGONAL: points.showing(points.diagonal(n, rng)),
    }
    for place, (who, one) in enumerate(controls.items()):
        tell(f"measuring {'the seen points' if who == MEASURED else who}", (1 + place) / (2 + len(controls)))
        measures += measures_of(one, asked.asked, who)
    if asked.learned is not None and asked.truth is not None:
        tell("comparing learned components with true ones", 0.9)
        found = recovery_measures(points, asked.asked, asked.learned, asked.truth)
        measures += found
        extra = [*extra, recovery_words(found, asked.asked.composed)]
    known = SupportMeasures(measures, [slot.name for slot in points.slots])
    holes = holes_of(points)
    said = judged(
        known,
        composed=asked.asked.composed.called,
        rows=n,
        holes=hole_words(holes),
        parts=parts_words(points, links_of(points, asked.asked)),
    )
    why = reasons(
        known,
        kind=asked.asked.components.kind,
        query_is=points.query_is,
        sketched=not written_out(asked.asked),
        extra=[*unasked_words(holes, known), *extra],
    )
    return Probe(
        probe="support",
        outcome=said.outcome,
        verdict=said.sentence,
        grade=said.grade,
        reasons=why,
        rows=n,
        numbers=numbers_of(known),
        figures=figures_of(known, points),
        tables={"measures": measures_table(measures), "holes": pa.Table.from_pylist(holes, schema=HOLES)},
        provenance=provenance,
    )


# -- what is asked ---------------------------------------------------------------------------------------------------


def _given_by(run: Any, points: Any, *, seed: int, **others: Any) -> RunPoints:
    doubled = [name for name, value in {"points": points, **others}.items() if value is not None]
    if doubled:
        raise SettingError(
            f"model and {doubled[0]}",
            why="a run says by itself which points it was shown and how they are composed",
            instead=f"leave out {doubled[0]}, or give points, slots, composition and components without model",
        )
    return points_of_run(run, seed=seed)


def _check_given(points: Any, slots: Any) -> None:
    for name, value in (("points", points), ("slots", slots)):
        if value is None:
            raise SettingError(
                f"no {name}",
                why="the probe asks whether seen points fix the component of each slot",
                instead="write support(points, slots=2), or give a run: support(model=run)",
            )


def _source(points: Any) -> str:
    return str(points) if isinstance(points, str | Path) else "points"


def _settings(asked: _SupportSubject) -> dict[str, Any]:
    one = asked.asked
    return {
        "composition": one.composed.called,
        "components": one.components.kind,
        "bandwidths": list(one.bandwidths),
        "reach": one.reach,
    }


def _asked(
    points: SupportPoints, composition: Any, components: Any, truth: Any, near_by: tuple[float | None, float], seed: int
) -> _SupportSubject:
    composed = composed_of(composition)
    true = None if truth is None else components_of(truth, points, shape=None, seed=seed, kind="true")
    kind = "true" if _is_true(components) and truth is None else "learned"
    own = None
    if components is not None or true is None:
        made = derived(seed, "components")
        own = components_of(components, points, shape=usual_shape(composed), seed=made, kind=kind)
    at = true or own
    assert at is not None  # noqa: S101 - random ones where nothing was given
    check_composes(composed, at, points)
    sample = at.at(points.query[:RANKED])
    composed = composed.looked_at(SITES, sample, np.random.default_rng(derived(seed, "sites")))
    asked = SupportQuery(
        composed, at, _bandwidths(points, near_by[0], seed), _steps(points, seed), sample, seed, near_by[1]
    )
    return _SupportSubject(asked, own if true is not None else None, true)


def _is_true(components: Any) -> bool:
    """Modules and what they give are learned; functions are taken for the truth."""
    parts = list(components) if isinstance(components, Sequence | torch.nn.ModuleList) else [components]
    return not any(isinstance(part, torch.nn.Module) for part in parts)


def _bandwidths(points: SupportPoints, bandwidth: float | None, seed: int) -> tuple[float, ...]:
    if bandwidth is not None:
        return tuple(float(bandwidth) for _ in points.slots)
    rng = np.random.default_rng(derived(seed, "bandwidth"))
    even, values = points.box(len(points.seen), rng), points.box(MOST_ASKED, rng)
    return tuple(
        near.even_bandwidth(
            len(near.distinct(points.scaled(points.seen, slot.columns))),
            points.scaled(values, slot.columns),
            points.scaled(even, slot.columns),
        )
        for slot in points.slots
    )


def _steps(points: SupportPoints, seed: int) -> tuple[tuple[float, ...], ...]:
    """For each slot how far apart values of one piece may be, as a whole and entry by entry; levels are all apart."""
    even = points.box(len(points.seen), np.random.default_rng(derived(seed, "steps")))

    def step(columns: Sequence[int]) -> float:
        if len(columns) == 1 and points.levels[columns[0]]:
            return 0.5
        count = len(near.distinct(points.scaled(points.seen, columns)))
        return LONGER * longest_step(near.distinct(points.scaled(even[:count], columns)))

    return tuple((step(slot.columns), *(step([column]) for column in slot.columns)) for slot in points.slots)
