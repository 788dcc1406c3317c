"""All measures of all layers, and of every control beside them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine.base.seeds import derived
from recombine.verbs.predict.kernel.salience import Salience
from recombine_lab.probes.geometry_probe.answers import (
    PARTIAL,
    STRIPES,
    AnswerTargets,
    ErrorTally,
    answer_measures,
    coverage_measures,
    from_memory,
    partial_input,
    readout,
    resting,
    tallied,
)
from recombine_lab.probes.geometry_probe.cells import Cells, CellSelection, gram_of, looked_at
from recombine_lab.probes.geometry_probe.controls import (
    LOOKUP,
    MATCHED,
    RANDOM,
    SHUFFLED,
    TRUTH,
    UNTRAINED,
    lookup_table,
    matched_memory,
)
from recombine_lab.probes.geometry_probe.design import Flags
from recombine_lab.probes.geometry_probe.inputs import GeometryInputs
from recombine_lab.probes.geometry_probe.intervals import Ends, jackknife, left_out, predicted
from recombine_lab.probes.geometry_probe.kernel_measures import (
    RANK,
    RANK_99,
    Estimate,
    MeasuredInterval,
    kernel_measures,
)
from recombine_lab.probes.geometry_probe.layer_sources import LayerOutput
from recombine_lab.probes.geometry_probe.stripes import stripe_shares
from recombine_lab.probes.geometry_probe.variance_shares import idle_factors, salience_of
from recombine_lab.probes.probe import MEASURED, Measure

TARGETS = "targets"
"""Where a measure of the truth alone stands."""
Key = tuple[str, str]
"""A place and who is measured there."""


@dataclass(eq=False)
class Measured:
    """What was found: numbers of what is asked about, and draws of the controls.

    `still` has the factors that a layer does not vary with, `tally` the unseen answers one by one.
    """

    own: dict[Key, dict[str, MeasuredInterval]] = field(default_factory=dict)
    draws: dict[Key, dict[str, list[MeasuredInterval]]] = field(default_factory=lambda: defaultdict(dict))
    salience: dict[str, Salience] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)
    answer: str | None = None
    tally: ErrorTally | None = None
    factors: int = 2
    still: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def add(self, where: str, who: str, found: Mapping[str, MeasuredInterval]) -> None:
        """One more draw of a control."""
        for name, one in found.items():
            self.draws[where, who].setdefault(name, []).append(one)

    def get(self, where: str, name: str, who: str = MEASURED) -> MeasuredInterval:
        """A measure with its interval; of a control with few draws or none that differ, its range is one number."""
        if (where, who) in self.own:
            return self.own[where, who].get(name, MeasuredInterval(None))
        mean, (low, high) = _predicted(self.draws.get((where, who), {}).get(name, []))
        return MeasuredInterval(mean, mean if low is None else low, mean if high is None else high)

    def measures(self, cells: int) -> list[Measure]:
        """Every number, a row each."""
        found = [
            Measure(where, name, one.value, who, one.low, one.high, cells)
            for (where, who), named in self.own.items()
            for name, one in named.items()
        ]
        for (where, who), named in self.draws.items():
            for name, draws in named.items():
                mean, (low, high) = _predicted(draws)
                found.append(Measure(where, name, mean, who, low, high, len(draws)))
        order = {where: place for place, where in enumerate([TARGETS, *self.layers])}
        return sorted(found, key=lambda one: (order[one.where], one.name, one.who != MEASURED))


def _predicted(draws: Sequence[MeasuredInterval]) -> tuple[float | None, Ends]:
    """Where one more draw of a control would fall, within what the measure can be."""
    least, most = (draws[0].least, draws[0].most) if draws else (-np.inf, np.inf)
    return predicted([one.value for one in draws], least=least, most=most)


@dataclass(frozen=True, eq=False)
class Call:
    """One call of `measured`: what is asked, and how."""

    asked: GeometryInputs
    repeats: int
    seed: int
    rest: float | npt.ArrayLike | None
    progress: Progress

    @cached_property
    def looked(self) -> CellSelection:
        """Which combinations are looked at."""
        return looked_at(self.asked.design)

    def cells(self, features: npt.NDArray[np.floating]) -> Cells:
        """The dot products of some features (c, d)."""
        return self.framed(gram_of(features[self.looked.all]))

    def framed(self, gram: npt.NDArray[np.float64]) -> Cells:
        """Dot products with what they are of."""
        design, rows = self.asked.design, self.looked.all
        seen = None if design.seen is None else design.seen[rows]
        return Cells(gram, design.cells[rows], design.sizes, design.ordered, seen)

    def whole(self, every: Cells) -> Cells | None:
        """The part of it that is a grid without holes."""
        if not self.looked.enough:
            return None
        if len(self.looked.whole) == len(every) and every.whole:
            return every
        return every.part(np.searchsorted(self.looked.all, self.looked.whole))

    def kernel(self, every: Cells, *, sure: bool = False, ranks: bool = True) -> dict[str, MeasuredInterval]:
        """The measures of dot products."""
        names = self.asked.design.names
        return kernel_measures(every, self.whole(every), names=names, seed=self.seed, sure=sure, ranks=ranks)

    def rng(self, *names: str | int) -> np.random.Generator:
        """Chance by name."""
        return np.random.default_rng(derived(self.seed, *names))

    @cached_property
    def question(self) -> AnswerTargets | None:
        """The truth that answers are held against, where it is known, and some were seen and some were not."""
        truth, seen = self.asked.truth, self.asked.design.seen
        if truth is None or seen is None or seen.all() or not seen.any():
            return None
        rows = self.looked.all
        rest = resting(truth[rows], seen[rows], self.rest)
        return AnswerTargets(truth[rows], rest, self.framed(np.zeros((len(rows), len(rows)))))

    @cached_property
    def truth_superposition(self) -> npt.NDArray[np.float64]:
        """(c,) R² of the truth itself."""
        assert self.question is not None  # noqa: S101 - asked only where there is a question
        return self.question.superposition_of(self.question.truth)

    def answers(self, features: npt.NDArray[np.floating], *, sure: bool = False) -> dict[str, MeasuredInterval]:
        """The measures of answers (c, d) of the combinations that are looked at."""
        if self.question is None:
            return {}
        return answer_measures(features, self.question, self.truth_superposition, sure=sure)


def measured(call: Call) -> Measured:
    """Every layer, every control, every seed."""
    found = Measured(factors=len(call.asked.design.names))
    names = call.asked.source.names
    found.layers, found.answer = list(names), names[-1] if call.asked.truth is not None else None
    _truth(call, found)
    shared = _same_everywhere(call)
    for place, layer in enumerate(call.asked.source.layers(names)):
        call.progress(f"measuring {layer.name}", place / (2 * len(names)))
        _one_layer(call, found, layer)
        for who, draws in shared:
            found.add(layer.name, who, draws)
    _untrained(call, found)
    found.reasons += _said(call)
    return found


def _truth(call: Call, found: Measured) -> None:
    """What the right outputs themselves measure, and output coverage."""
    truth = call.asked.truth
    if truth is None or found.answer is None:
        return
    found.own[found.answer, TRUTH] = call.kernel(call.cells(truth), sure=True)
    if call.question is not None:
        found.own[found.answer, TRUTH] |= call.answers(call.question.truth, sure=True)
        found.own[TARGETS, TRUTH] = coverage_measures(call.question)


def _same_everywhere(call: Call) -> list[tuple[str, dict[str, MeasuredInterval]]]:
    """Controls that do not depend on the layer: the table of unrelated vectors, and random features."""
    count = len(call.looked.all)
    found = [(LOOKUP, call.kernel(lookup_table(call.framed(np.eye(count)))))]
    numbers = replace(call.asked.code, numbers=call.asked.code.numbers[call.looked.all])
    for draw in range(call.repeats):
        call.progress("random features", None)
        every = call.framed(numbers.random_features(call.rng(RANDOM, draw)))
        found.append((RANDOM, call.kernel(every, ranks=draw == 0)))
    return found


def _one_layer(call: Call, found: Measured, layer: LayerOutput) -> None:
    every = call.cells(layer.features)
    own = call.kernel(every, sure=True) | _drawn(call, layer, sure=True)
    whole = call.whole(every)
    salience = None if whole is None else salience_of(whole)
    if salience is not None:
        found.salience[layer.name] = salience
    if whole is not None:
        found.still[layer.name] = tuple(call.asked.design.names[k] for k in idle_factors(whole))
        matched = matched_memory(whole)
        found.add(layer.name, MATCHED, kernel_measures(matched, matched, names=call.asked.design.names, seed=call.seed))
    orders = [call.rng(SHUFFLED, draw) for draw in range(call.repeats)]
    for rng in orders:
        # exchanging rows and columns leaves the spectrum as it is
        shuffled = call.kernel(every.shuffled(rng), ranks=False)
        found.add(layer.name, SHUFFLED, shuffled | {name: own[name] for name in (RANK, RANK_99) if name in own})
    if layer.name == found.answer:
        own |= _answer(call, found, layer)
    found.own[layer.name, MEASURED] = own


def _drawn(call: Call, layer: LayerOutput, *, sure: bool = False) -> dict[str, MeasuredInterval]:
    """Measures that need the features themselves: stripes, and the answers to one factor alone."""
    return _stripes(call, layer, sure=sure) | _partial(call, layer, sure=sure)


def _stripes(call: Call, layer: LayerOutput, *, sure: bool) -> dict[str, MeasuredInterval]:
    whole, axes, shape = call.looked.whole, call.asked.axes, layer.shape
    if not axes or shape is None or not len(whole):
        return {}
    features, codes = layer.features[whole], call.asked.design.cells[whole]
    shares = stripe_shares(features, codes, shape, axes)
    if shares is None:
        return {}
    blocks = left_out(codes) if sure else []
    without = {id(mask): stripe_shares(features[mask], codes[mask], shape, axes) for masks in blocks for mask in masks}

    def other(place: int) -> Estimate:
        def share(mask: Flags) -> float | None:
            found = without[id(mask)]
            return None if found is None else found[place]

        return share

    return {
        name: MeasuredInterval(value, *jackknife(other(place), value, blocks, least=0, most=1), 0, 1)
        for place, (name, value) in enumerate(zip(STRIPES, shares, strict=True))
    }


def _partial(call: Call, layer: LayerOutput, *, sure: bool) -> dict[str, MeasuredInterval]:
    alone, design = _alone_sum(call, layer), call.asked.design
    if alone is None:
        return {}
    unseen = np.ones(len(alone), dtype=bool) if design.seen is None or design.seen.all() else ~design.seen
    products = partial_input(layer.features, alone)
    value = products.correlation(unseen)
    blocks = left_out(design.cells, unseen) if sure else []
    ends = jackknife(lambda mask: products.correlation(mask & unseen), value, blocks, least=-1, most=1)
    return {PARTIAL: MeasuredInterval(value, *ends, -1, 1)}


def _alone_sum(call: Call, layer: LayerOutput) -> npt.NDArray[np.float32] | None:
    """(c, d) The sum of what is given for each factor of a combination alone; None if a value was not shown alone."""
    design = call.asked.design
    total = np.zeros_like(layer.features)
    for factor, size in enumerate(design.sizes):
        rows = design.alone[:, 1] == factor
        value = design.alone[rows, 2]
        if len(np.unique(value)) < size:
            return None
        sums = np.zeros((size, layer.alone.shape[1]))
        np.add.at(sums, value, layer.alone[rows])
        total += (sums / np.bincount(value, minlength=size)[:, None]).astype(np.float32)[design.cells[:, factor]]
    return total


def _answer(call: Call, found: Measured, layer: LayerOutput) -> dict[str, MeasuredInterval]:
    truth, question = call.asked.truth, call.question
    assert truth is not None  # noqa: S101 - it is the answer only where the truth is known
    if truth.shape[1] != layer.features.shape[1]:
        raise SettingError(
            f"a truth of {truth.shape[1]:,} numbers for {layer.name!r}, which gives {layer.width:,}",
            why="each output is held against its own target",
            instead="give targets of the model's outputs, or name the layer that gives them last",
        )
    if question is None:
        return {}
    answers = layer.features[call.looked.all]
    for draw in range(call.repeats):
        order = call.rng(SHUFFLED, draw).permutation(len(answers))
        found.add(layer.name, SHUFFLED, call.answers(answers[order]))
        kernel = replace(call.asked.code, numbers=call.asked.code.numbers[call.looked.all])
        features = kernel.random_features(call.rng(RANDOM, draw))
        found.add(layer.name, RANDOM, call.answers(readout(features, question)))
    found.add(layer.name, LOOKUP, call.answers(from_memory(question)))
    found.tally = tallied(answers, question)
    return call.answers(answers, sure=True)


def _untrained(call: Call, found: Measured) -> None:
    """The same architecture with weights drawn anew."""
    names = call.asked.source.names
    for draw in range(call.repeats):
        call.progress(f"the network before training, {draw + 1} of {call.repeats}", 0.5 + draw / (2 * call.repeats))
        try:
            source = call.asked.source.redrawn(derived(call.seed, UNTRAINED, draw))
        except SettingError as error:  # the other controls say enough without a network that cannot be drawn anew
            found.reasons.append(f"The network before training could not be made: {error.what}; {error.why}.")
            return
        if source is None:
            return
        for layer in source.layers(names):
            numbers = call.kernel(call.cells(layer.features), ranks=draw == 0) | _drawn(call, layer)
            if layer.name == found.answer:
                numbers |= call.answers(layer.features[call.looked.all])
            found.add(layer.name, UNTRAINED, numbers)


def _said(call: Call) -> list[str]:
    """What a reader must know of the grid."""
    design, looked = call.asked.design, call.looked
    said = []
    if int(design.counts.max()) > 1:
        least, most = int(design.counts.min()), int(design.counts.max())
        said.append(f"Each combination is the mean of {f'{least} to {most}' if least < most else most} rows.")
    if design.missing:
        said.append(
            f"{design.missing:,} combinations have no row: steps are taken where neighbours are there, and all else is "
            f"measured on {len(looked.whole):,} combinations that form a grid without holes."
        )
    elif len(looked.whole) < len(design.cells):
        said.append(f"The grid of {len(design.cells):,} combinations was thinned evenly to {len(looked.whole):,}.")
    unordered = [name for name, has_order in zip(design.names, design.ordered, strict=True) if not has_order]
    if len(design.names) - len(unordered) < 2:
        said.append("Steps between neighbouring values need two factors whose values have an order.")
    return said
