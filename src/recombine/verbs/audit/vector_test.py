"""How far adding up holds where answers are vectors: over outputs, beside rules that anybody could use, and within the
range that the noise leaves.

Every seen combination is held out in turn and worked out from the others by least squares, all outputs at once. The
pooled R² is that of the additive test (`additivity`); here are the other scores of it, output by output and direction
by direction, and the same of simpler rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recombine.base.errors import SettingError, nearest
from recombine.base.words import percent, percent_range
from recombine.data.space import Factor, Value, text
from recombine.data.support import Support
from recombine.data.vector_answers import VectorAnswers
from recombine.numerics.groups import ANY, Ints, Numbers
from recombine.numerics.resampling import IntervalSettings
from recombine.numerics.simple_rules import MEAN
from recombine.numerics.vector_rules import ADDITIVE, LEAST_SQUARES, NO_CHANGE, SCALED, ControlDesign, LeastSquares
from recombine.numerics.vector_scores import Vectors, compare, replicate_ceiling
from recombine.numerics.vector_summary import (
    R2,
    OutputScores,
    VectorRule,
    VectorScore,
    output_scores,
    rule_of,
    summarised,
)

Control = str | Mapping[str, Value]
"""The value that stands for nothing done: of each factor that has one, or one word for all of them."""

_MOST_TESTED = 2_000
_WIDEST = 2_000
"""Values and elements of all factors, up to which least squares is solved for all combinations at once."""


@dataclass(frozen=True)
class VectorTest:
    """The scores of adding up on combinations held out, of simpler rules, and output by output.

    `replicated` combinations have two rows at least, whose halves tell what can be reached.
    """

    target: str
    tested: int
    untestable: int
    replicated: int
    scores: tuple[VectorScore, ...]
    rules: tuple[VectorRule, ...]
    outputs: OutputScores
    rows_left_out: int = 0

    def score(self, name: str) -> VectorScore | None:
        """One of the scores, by its name."""
        return next((one for one in self.scores if one.name == name), None)

    @property
    def sentence(self) -> str:
        """What could be reached, and how much of it was."""
        found = self.score(R2)
        if found is None or found.positive is None:
            return "How much could be explained at most is not known: no combination has two rows." if found else ""
        if found.positive <= 0:
            return "Two halves of the rows agree in nothing: what combinations differ by is noise."
        share = "" if found.reached is None else f", of which adding up reaches {_part(found.reached)}"
        return f"Two halves of the rows agree so far that {percent(found.positive)} can be explained{share}."

    @property
    def reasons(self) -> tuple[str, ...]:
        """What else the vectors say."""
        said = []
        rules = [one for one in self.rules if one.r2 is not None]
        if rules:
            listed = ", ".join(f"{one.name} {percent(one.r2 or 0.0)}{self._of(one)}" for one in rules)
            said.append(f"Over {self.outputs.outputs:,} outputs, held out (R²): {listed}.")
        one = self.outputs
        if one.lower is not None and one.median is not None and one.upper is not None:
            most = "" if one.reachable_median is None else f"; {percent(one.reachable_median)} can be explained"
            said.append(
                f"Output by output half of them are explained by {percent_range(one.lower, one.upper)} "
                f"(median {percent(one.median)}{most})."
            )
        others = [found for found in self.scores if found.name != R2 and found.reached is not None]
        if others:
            listed = ", ".join(f"{found.name} {percent(found.reached or 0.0)}" for found in others)
            said.append(f"Of the way from the mean to what noise allows, adding up goes: {listed}.")
        if self.rows_left_out:
            said.append(f"{self.rows_left_out:,} rows miss one of their outputs and were left out of the means.")
        return tuple(said)

    def _of(self, rule: VectorRule) -> str:
        return "" if rule.told == self.tested else f" (of {rule.told:,})"


def vector_test(support: Support, control: Control | None = None, *, seed: int = 0) -> VectorTest | None:
    """Test adding up on vectors; None where answers are none, or too few or too wide to hold any out."""
    vectors = support.vectors
    if control is not None and vectors is None:
        raise SettingError(
            f"control={control!r} without a vector as the target",
            why="differences from the control are scored where answers are vectors",
            instead="leave it out, or name a vector: target='gene_*'",
        )
    effects = support.space.effects
    if vectors is None or effects.width > _WIDEST:
        return None
    design = control_design(support, control)
    known = np.flatnonzero(vectors.count > 0)
    fit = LeastSquares.of(effects.rows(support.codes[known]).dense())
    tried = known if len(known) <= _MOST_TESTED else _drawn(known, seed)
    said = fit.held_out(vectors.means[known], np.searchsorted(known, tried))
    told = np.isfinite(said[:, 0])
    tested = tried[told]
    if len(tested) < 2:
        return None
    mean = vectors.means[known].mean(axis=0, dtype=np.float64)
    return _scored(support, vectors, design, tested, said[told], mean, untestable=int((~told).sum()), seed=seed)


def _scored(
    support: Support,
    vectors: VectorAnswers,
    design: ControlDesign | None,
    tested: Ints,
    said: Numbers,
    mean: Numbers,
    *,
    untestable: int,
    seed: int,
) -> VectorTest:
    truth = vectors.means[tested]
    reference = None if design is None else references(design, vectors.means, support, tested)
    own = compare(truth, said, mean=mean, control=reference)
    constant = compare(truth, np.broadcast_to(mean, truth.shape), mean=mean, control=reference)
    ceiling = replicate_ceiling(*vectors.halves(tested), vectors.count[tested], mean=mean, control=reference)
    rules = [rule_of(LEAST_SQUARES, own, len(tested)), rule_of(MEAN, constant, len(tested))]
    for name, answers in control_rules(design, vectors.means, support, tested):
        told = np.isfinite(answers).all(axis=1)
        if told.sum() > 1:
            part = None if reference is None else reference[told]
            found = compare(truth[told], answers[told], mean=mean, control=part)
            rules.append(rule_of(name, found, int(told.sum())))
    return VectorTest(
        target=vectors.name,
        tested=len(tested),
        untestable=untestable,
        replicated=ceiling.combinations,
        scores=summarised(own, constant, ceiling, IntervalSettings(seed=seed)),
        rules=tuple(sorted(rules, key=lambda one: -(one.r2 if one.r2 is not None else -np.inf))),
        outputs=output_scores(own, ceiling),
        rows_left_out=vectors.rows_left_out,
    )


def control_rules(
    design: ControlDesign | None, means: Vectors, support: Support, tested: Ints
) -> Iterator[tuple[str, Numbers]]:
    """What the rules that know a control say of seen combinations, each held out; one matrix at a time."""
    if design is None:
        return
    codes = support.codes[tested]
    own = design.references(codes) == tested  # the control is no prediction of itself
    yield NO_CHANGE, np.where(own[:, None], np.nan, design.no_change(means, codes))
    yield ADDITIVE, design.additive(means, codes)
    yield SCALED, design.scaled(means, codes, tested, held_out=True)


def references(design: ControlDesign, means: Vectors, support: Support, rows: Ints) -> Numbers:
    """(r, m) The control of each of some seen combinations; NaN where it has none, or is one itself."""
    codes = support.codes[rows]
    return np.where((design.references(codes) == rows)[:, None], np.nan, design.no_change(means, codes))


def control_design(support: Support, control: Control | None) -> ControlDesign | None:
    """Which value of each factor is the control; None where there is none. Of a set it is the empty set, if that was
    seen and no other is named.

    >>> import recombine
    >>> table = {"a": ["ctrl", "x"], "b": ["ctrl", "y"], "line": ["K562", "RPE1"]}
    >>> support = recombine.read(table, factors=["a", "b", "line"])
    >>> control_design(support, "ctrl").control.tolist(), control_design(support, {"b": "y"}).control.tolist()
    ([0, 0, -1], [-1, 1, -1])
    >>> control_design(recombine.read({"given": ["x", "x+y", "ctrl"]}, sets={"g": "given:+"}), None).control.tolist()
    [0]
    """
    space = support.space
    codes = np.full(len(space.factors), ANY)
    for k in space.set_factors:
        empty = space.factors[k].code(())
        codes[k] = empty if (support.codes[:, k] == empty).any() else ANY
    if isinstance(control, str):
        named = {factor.name: factor.code(control) for factor in space.factors}
        if all(code == ANY for code in named.values()):
            raise _no_control(f"control={control!r}", "no factor has such a value", control, space.factors)
        control = {name: control for name, code in named.items() if code != ANY}
    for name, value in (control or {}).items():
        factor = space.factors[space.position(name)]
        codes[space.position(name)] = factor.code(value)
        if factor.code(value) == ANY:
            what = f"control={{{name!r}: {text(value)!r}}}"
            raise _no_control(what, f"{name!r} has no such value", text(value), [factor])
    if (codes == ANY).all():
        return None
    place = support.groups(range(len(space.factors))).lookup
    return ControlDesign(support.codes, codes, place, space.effects.kinds)


def _no_control(what: str, why: str, value: str, factors: Sequence[Factor]) -> SettingError:
    return SettingError(
        what, why=why, instead=nearest(value, [label for factor in factors for label in factor.effect_labels])
    )


def _part(share: float) -> str:
    return "nothing" if share <= 0 else percent(share)


def _drawn(known: Ints, seed: int) -> Ints:
    chosen = np.random.default_rng(seed).choice(len(known), _MOST_TESTED, replace=False)
    return known[np.sort(chosen)]
