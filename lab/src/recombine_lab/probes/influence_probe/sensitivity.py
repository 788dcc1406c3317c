"""On which input factor does each answer hang? Every measure of one network, and of the controls beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from recombine.base.seeds import derived
from recombine.numerics.resampling import IntervalSettings
from recombine_lab.probes.influence_probe.factor_locations import Form, Located
from recombine_lab.probes.influence_probe.factor_measures import (
    MOST_OUTPUTS,
    Bits,
    FactorEstimate,
    binned,
    bits,
    corrected_bits,
    drop,
    lost,
    share,
    slopes,
    swap,
)
from recombine_lab.probes.influence_probe.module_answers import Asking, Floats
from recombine_lab.probes.influence_probe.probe_examples import Ints, codes_of, combinations_of

SWAP, PERMUTATION, SLOPE, BITS = "swap", "permutation importance", "gradient", "information"
ANSWER = "answer"


@dataclass(frozen=True, eq=False)
class SensitivityQuestion:
    """What is asked of every network, before, during and after training.

    `codes` has each factor's values as numbers, `combination` the number of each row's combination, `follow` what
    derivatives are taken by and the layer that it goes through (None: the inputs themselves).
    """

    asking: Asking
    where: Located
    codes: Mapping[str, Ints]
    combination: Ints
    target: str
    redundant: str
    follow: tuple[Form, str | None]
    seed: int
    settings: IntervalSettings

    def other(self, factor: str) -> str:
        """What must be known before a factor can be said to tell something of its own."""
        return self.redundant if factor == self.target else self.target


@dataclass(frozen=True)
class FactorSensitivity:
    """How far one network's answers hang on one factor.

    `same` is the swap with a row of the same value, `shuffled` with the factor's values shuffled; `given` is what the
    factor tells of the answer once the target factor is known (of the target factor: once the redundant one is).
    """

    swap: FactorEstimate
    same: FactorEstimate
    shuffled: FactorEstimate
    permutation: FactorEstimate
    slope: float | None
    outputs: tuple[float, ...]
    bits: Bits
    given: Bits


def question_of(
    asking: Asking,
    where: Located,
    table: pa.Table,
    *,
    target: str,
    redundant: str,
    follow: tuple[Form, str | None],
    seed: int,
) -> SensitivityQuestion:
    """The question, with the factors' values as numbers."""
    names = list(dict.fromkeys((target, redundant, *where.factors)))
    return SensitivityQuestion(
        asking=asking,
        where=where,
        codes={name: codes_of(table, name)[0] for name in names},
        combination=combinations_of(table, names)[0],
        target=target,
        redundant=redundant,
        follow=follow,
        seed=seed,
        settings=IntervalSettings(seed=derived(seed, "intervals") % 2**32),
    )


def hung(module: nn.Module, ask: SensitivityQuestion) -> dict[str, FactorSensitivity]:
    """Every measure for every factor that can be exchanged."""
    before = ask.asking.scores(module, ask.where.inputs)
    by_output, _ = _slopes(module, ask)
    return {factor: _hung(module, ask, factor, before, by_output.get(factor)) for factor in ask.where.factors}


def _hung(
    module: nn.Module, ask: SensitivityQuestion, factor: str, before: Tensor, by_output: Floats | None
) -> FactorSensitivity:
    answer = answer_codes(ask, before)
    codes = ask.codes[factor]
    shuffled = np.random.default_rng(derived(ask.seed, "shuffled", factor)).permutation(codes)
    drawn = {
        "swap": _swap(module, ask, factor, codes, before),
        "same": _swap(module, ask, factor, codes, before, same=True),
        "shuffled": _swap(module, ask, factor, shuffled, before),
    }
    shares = {name: share(one, ask.combination, ask.settings, f"{factor} {name}") for name, one in drawn.items()}
    return FactorSensitivity(
        swap=shares["swap"],
        same=shares["same"],
        shuffled=shares["shuffled"],
        permutation=_permutation(module, ask, factor, before),
        slope=None if by_output is None else float(by_output.mean()),
        outputs=() if by_output is None else tuple(by_output.tolist()),
        bits=bits(codes, answer, other=ask.codes[ask.other(factor)], seed=ask.seed),
        given=bits(codes, answer, given=ask.codes[ask.other(factor)], seed=ask.seed),
    )


def _swap(
    module: nn.Module, ask: SensitivityQuestion, factor: str, codes: Ints, before: Tensor, *, same: bool = False
) -> Floats:
    return swap(module, ask.asking, ask.where, factor, codes, before=before, seed=ask.seed, same=same)


def _permutation(module: nn.Module, ask: SensitivityQuestion, factor: str, before: Tensor) -> FactorEstimate:
    found = lost(module, ask.asking, ask.where, factor, before=before, seed=ask.seed)
    if found is None:
        return FactorEstimate(None)
    shares = ask.asking.kind == "classes"
    return drop(*found, ask.combination, ask.settings, f"{factor} permutation", shares=shares)


def _slopes(module: nn.Module, ask: SensitivityQuestion) -> tuple[dict[str, Floats], list[int]]:
    form, layer = ask.follow
    if not ask.where.masks or (form == "embedding" and layer is None):
        return {}, []
    return slopes(module, ask.asking, ask.where, layer=layer, seed=ask.seed)


def answer_codes(ask: SensitivityQuestion, scores: Tensor) -> Ints:
    """(n,) The answers as numbers from 0 on; values in bins of equal count."""
    given = ask.asking.answers(scores)
    if ask.asking.kind == "classes" and given.ndim == 1:
        return np.unique(given.numpy(), return_inverse=True)[1].astype(np.int64)
    if ask.asking.kind == "classes":
        return np.unique(given.flatten(1).numpy(), axis=0, return_inverse=True)[1].astype(np.int64)
    return binned(given.flatten(1)[:, 0].double().numpy())


@dataclass(frozen=True)
class Untrained:
    """The same of networks with new random weights: mean and 95 % range over them."""

    networks: int
    swap: Mapping[str, Floats]
    permutation: Mapping[str, Floats]
    slope: Mapping[str, Floats]
    bits: Mapping[str, Floats]


def untrained(modules: Any, ask: SensitivityQuestion) -> Untrained:
    """Swap, permutation, derivative and information of several networks; their intervals are over networks."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in (SWAP, PERMUTATION, SLOPE, BITS)}
    count = 0
    for module in modules:
        count += 1
        before = ask.asking.scores(module, ask.where.inputs)
        by_output, _ = _slopes(module, ask)
        for factor in ask.where.factors:
            changed = _swap(module, ask, factor, ask.codes[factor], before)
            lost_there = lost(module, ask.asking, ask.where, factor, before=before, seed=ask.seed)
            for name, value in (
                (SWAP, float(np.nanmean(changed)) if np.isfinite(changed).any() else np.nan),
                (PERMUTATION, np.nan if lost_there is None else float((lost_there[0] - lost_there[1]).mean())),
                (SLOPE, float(by_output[factor].mean()) if factor in by_output else np.nan),
                (BITS, corrected_bits(ask.codes[factor], answer_codes(ask, before), ask.codes[ask.other(factor)])),
            ):
                found[name].setdefault(factor, []).append(value)
    arrays = [{factor: np.array(values) for factor, values in found[name].items()} for name in found]
    return Untrained(count, *arrays)


def score_bits(module: nn.Module, ask: SensitivityQuestion) -> list[dict[str, Any]]:
    """What each factor tells of each single output, a row each."""
    scores = ask.asking.scores(module, ask.where.inputs)
    flat = scores.reshape(len(scores), -1)[:, :MOST_OUTPUTS]
    columns = {ANSWER: answer_codes(ask, scores)} | {
        f"output {k}": binned(flat[:, k].double().numpy()) for k in range(flat.shape[1])
    }
    rows = []
    for factor in ask.where.factors:
        for name, output in columns.items():
            alone = bits(ask.codes[factor], output, other=ask.codes[ask.other(factor)], seed=ask.seed)
            given = bits(ask.codes[factor], output, given=ask.codes[ask.other(factor)], seed=ask.seed)
            rows.append(
                {
                    "factor": factor,
                    "output": name,
                    "bits": alone.value,
                    "counted": alone.counted,
                    "shuffled": alone.null,
                    "shuffled_95": alone.null_high,
                    "given": ask.other(factor),
                    "bits_given": given.value,
                    "shuffled_95_given": given.null_high,
                }
            )
    return rows


def right(module: nn.Module, ask: SensitivityQuestion) -> FactorEstimate:
    """The share of right answers, with its interval; None for values."""
    found = ask.asking.right(ask.asking.scores(module, ask.where.inputs))
    if found is None or ask.asking.kind != "classes":
        return FactorEstimate(None)
    return share(found, ask.combination, ask.settings, "right")


def majority(ask: SensitivityQuestion) -> float | None:
    """The share of right answers of one answer for all."""
    truth = ask.asking.truth
    if truth is None or ask.asking.kind != "classes" or truth.ndim > 1:
        return None
    return float(torch.bincount(truth.long()).max() / len(truth))
