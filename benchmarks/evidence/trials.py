"""One table of a family through its verb: what was said, and what is true. A record is plain data, to be judged later.

Records keep the sentences, so that two states of the library can be judged by one and the same rule.
"""

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import recombine
from evidence import audit_worlds, diff_worlds, evaluate_worlds
from evidence.audit_truth import additive_truth, learner_truth, predicted_truth
from evidence.counted_tables import INTERVALS, audit_of, evaluation_of, richer_answers, spoken_of
from evidence.diff_worlds import Compare, Compared
from evidence.drawing import AuditWorld, CannotPlantError, EvaluateWorld, Rng, generator
from evidence.statement_worlds import CAUSES, DEVIATIONS, GROUPS, CauseWorld, DeviationWorld, GroupWorld
from recombine.verbs.evaluate.model_comparison import comparison
from recombine.verbs.evaluate.outcome_reader import PairedOutcomes

Record = dict[str, Any]
NAMED_FROM = 0.05
"""The rate of false ones that deviations are told at."""


@dataclass(frozen=True)
class Trial:
    """A family under one verb, and how many tables of it are drawn unless somebody says otherwise."""

    verb: str
    family: str
    run: Callable[[Rng], Record]
    tables: int
    sealed: bool = False

    @property
    def name(self) -> str:
        return f"{self.verb}: {self.family}"

    def records(self, tables: int) -> Iterator[Record]:
        """One record a table; a draw that cannot be planted is followed by the next, an error is a record too."""
        for number in range(tables):
            yield {"verb": self.verb, "family": self.family, "number": number} | self._once(number)

    def _once(self, number: int) -> Record:
        for attempt in range(50):
            try:
                return self.run(generator(self.verb, self.family, number, attempt))
            except CannotPlantError:
                continue
            except Exception as error:  # noqa: BLE001 - one table that fails must not end a run of an hour
                return {"error": f"{type(error).__name__}: {error}"}
        return {"error": "no table of this family could be drawn"}


def try_audit(rng: Rng, *, plant: Callable[[Rng], AuditWorld]) -> Record:
    """An audit, and the score of the additive rule on the unseen combinations that it speaks of."""
    world = plant(rng)
    combination, values = world.sample(np.flatnonzero(world.seen), rng)
    if len(np.unique(values)) < 2:
        raise CannotPlantError
    found = audit_of(world.table(combination, values), world.factors)
    expected = found.expected
    spoken, said = spoken_of(found, world.codes), richer_answers(found, world)
    true = additive_truth(world, combination, values, rng, of=expected.of, spoken_of=spoken, said=said)
    return _said(found) | {
        "rule": getattr(found.additive, "chosen", None),
        "interval": [true.of_spoken, expected.value, expected.low, expected.high],
        "true": true.of_determined,
        "true_constant": true.of_constant,
        "determined": true.determined,
        "of": expected.of,
        "as_many": true.as_many,
        "tested": expected.tested,
    }


def try_rehearsal(rng: Rng, *, plant: Callable[[Rng], AuditWorld]) -> Record:
    """A rehearsal of a linear learner on one-hot factors, and its score after it was taught all that is seen."""
    from sklearn.linear_model import LogisticRegression, Ridge  # noqa: PLC0415 - slow to load

    world = plant(rng)
    combination, values = world.sample(np.flatnonzero(world.seen), rng)
    if len(np.unique(values)) < 2:
        raise CannotPlantError
    learner = LogisticRegression(C=10.0, max_iter=500) if world.classes else Ridge(alpha=0.5)
    found = recombine.rehearse(world.table(combination, values), learner, factors=world.factors, target="y")
    expected = found.expected
    true = learner_truth(world, learner, combination, values, rng)
    return _said(found) | {"interval": [true, expected.value, expected.low, expected.high], "true": true}


def try_prediction(rng: Rng, *, plant: Callable[[Rng], AuditWorld]) -> Record:
    """A forecast over combinations, and how its answers fare on the unseen ones that are like the tested."""
    world = plant(rng)
    combination, values = world.sample(np.flatnonzero(world.seen), rng)
    if len(np.unique(values)) < 2:
        raise CannotPlantError
    found = recombine.predict(world.table(combination, values), factors=world.factors, target="y")
    lines = found.table.filter(found.table["like_tested"]).to_pydict()
    names = zip(*(lines[name] for name in world.factors), strict=True)
    true = predicted_truth(world, dict(zip(names, lines["prediction"], strict=True)), combination, values, rng)
    expected = found.expected
    return _said(found) | {"interval": [true, expected.value, expected.low, expected.high], "true": true}


def try_evaluation(rng: Rng, *, plant: Callable[[Rng], EvaluateWorld]) -> Record:
    """An evaluation: the scores of both sides, the gap between them, and the gap to seen ones like the unseen."""
    world = plant(rng)
    found = evaluation_of(world.table(rng), world.factors)
    true = world.true_scores()
    said = {name: found.side(name) for name in ("seen", "unseen")}
    intervals = {name: [true.get(name), side.score, side.low, side.high] for name, side in said.items()}
    balanced = next((one for one in found.balanced if one.side == "unseen"), None)
    if balanced is not None:  # errors do not depend on the class
        intervals["balanced"] = [true.get("unseen"), balanced.score, balanced.low, balanced.high]
    if found.expected.lift is not None and world.right is not None:  # of four classes that no rule can tell
        low, lift, high = found.expected.lift
        intervals["lift"] = [true["unseen"] - 0.25, lift, low, high]
    for name in ("gap", "matched"):
        one = getattr(found, name)
        if one is not None:
            intervals[name] = [true.get(name), one.value, one.low, one.high]
    return _said(found) | {"intervals": intervals, "named": found.deviations.found}


def try_group(rng: Rng, *, plant: Callable[[Rng], GroupWorld]) -> Record:
    """The worst group that is named, and the true score of that one."""
    world = plant(rng)
    group = evaluation_of(world.table, ["bg", "y"]).group
    place = tuple(int(group.combination[name][1:]) for name in ("bg", "y"))
    return {
        "interval": [float(world.right[place]), group.score, group.low, group.high],
        "others": float(np.median(world.right)),
        "planted": bool(world.right.min() < world.right.max()),
        "right_one": bool(world.right[place] == world.right.min()),
    }


def try_worst(rng: Rng, *, plant: Callable[[Rng], EvaluateWorld]) -> Record:
    """The first, the third and the tenth of the worst combinations that are listed, and the true share of each."""
    world = plant(rng)
    found = evaluation_of(world.table(rng), world.factors)
    true = dict(zip(map(tuple, world.codes.tolist()), world.right.tolist(), strict=True))
    intervals = {}
    for rank in (1, 3, 10):
        one = found.worst[rank - 1]
        place = tuple(int(one.combination[name].removeprefix(name)) for name in world.factors)
        intervals[f"no. {rank}"] = [true[place], one.shrunk, one.low, one.high]
    return {"intervals": intervals}


def try_deviations(rng: Rng, *, plant: Callable[[Rng], DeviationWorld]) -> Record:
    """Which combinations are named, and how many of these do deviate."""
    world = plant(rng)
    found = evaluation_of(world.table, ["a", "b"])
    columns = [found.table[name].to_pylist() for name in ("a", "b", "q")]
    named = [(int(a[1:]), int(b[1:])) for a, b, q in zip(*columns, strict=True) if q is not None and q <= NAMED_FROM]
    bad = {tuple(code) for code in world.codes[world.bad].tolist()}
    hits = sum(one in bad for one in named)
    return {"named": len(named), "false": len(named) - hits, "hits": hits, "planted": len(bad)}


def try_causes(rng: Rng, *, plant: Callable[[Rng], CauseWorld]) -> Record:
    """Which factor the answers are said to hang on, and what errors are put down to."""
    world = plant(rng)
    found = evaluation_of(world.table, ["a", "b"], causes=True)
    swap = found.swap.verdict if found.swap else ""
    leading = found.anatomy.leading if found.anatomy else None
    hangs = re.search(r"\b(?:hangs?|depends?) on (\w+)", swap)
    return {
        "followed": world.followed,
        "hangs_on": hangs.group(1) if hangs else None,
        "leading": leading,
        "swap": swap,
        "verdict": found.verdict,
    }


def try_diff(rng: Rng, *, compare: Compare) -> Record:
    """Two results compared: the grade, and with it how a gate ends; the differences where the true one is known."""
    pair = compare(rng)
    found = recombine.diff(pair.old, pair.new)
    record = _said(found) | {
        "worse": pair.worse,
        "grades": [pair.old.grade, pair.new.grade],
        "outcomes": [score.outcome for score in found.scores],
    }
    return record if pair.difference is None else record | {"intervals": _differences(found, pair, pair.difference)}


def _differences(found: Any, pair: Compared, truth: float) -> dict[str, Any]:
    """Of a diff, and of an evaluation of the one against the other."""
    old, new = pair.old.outcomes, pair.new.outcomes
    both = comparison(old, PairedOutcomes(old.rows, old.total, new.total), INTERVALS, other="new")
    beside = {f"against, {side.name}": side for side in both.sides if side.name in ("seen", "unseen")}
    several = {score.name: score for score in found.scores} | beside
    return {name: [truth, one.difference, one.low, one.high] for name, one in several.items()}


def _said(found: Any) -> Record:
    return {"grade": found.grade, "verdict": found.verdict, "reasons": list(found.reasons)}


def trials() -> list[Trial]:
    """Every family under every verb that it is for; the sealed ones where they are at hand."""
    return [*_open(), *_sealed()]


REHEARSED = (
    *("hetero", "nested", "zipf", "mnar_easy", "few", "pairheld", "logit", "logit_mnar_easy", "rare", "fewlabel"),
    *("uneven_blocks", "mixed_missing", "blocks_add_up"),
)


def _open() -> Iterator[Trial]:
    audits = audit_worlds.PLANTED | audit_worlds.NEW
    for family, audited in audits.items():
        yield Trial("audit", family, partial(try_audit, plant=audited), 150)
    for family, tested in (evaluate_worlds.PLANTED | evaluate_worlds.NEW).items():
        yield Trial("evaluate", family, partial(try_evaluation, plant=tested), 100)
    for family in REHEARSED:
        yield Trial("rehearse", family, partial(try_rehearsal, plant=audits[family]), 25)
        yield Trial("predict", family, partial(try_prediction, plant=audits[family]), 25)
    for family, grouped in GROUPS.items():
        yield Trial("worst group", family, partial(try_group, plant=grouped), 150)
    for family, ranked in evaluate_worlds.WORST.items():
        yield Trial("worst combination", family, partial(try_worst, plant=ranked), 100)
    for family, deviating in DEVIATIONS.items():
        yield Trial("deviates", family, partial(try_deviations, plant=deviating), 80)
    for family, caused in CAUSES.items():
        yield Trial("causes", family, partial(try_causes, plant=caused), 40)
    for family, compared in (diff_worlds.UNCHANGED | diff_worlds.WORSE).items():
        yield Trial("diff", family, partial(try_diff, compare=compared), 80)


def _sealed() -> Iterator[Trial]:
    if importlib.util.find_spec("sealed_worlds") is None:
        return
    import sealed_worlds as sealed  # noqa: PLC0415 - may not be there

    for family, plant in sealed.AUDIT.items():
        yield Trial("audit", family, partial(try_audit, plant=plant), 150, sealed=True)
    for family, plant in sealed.EVALUATE.items():
        yield Trial("evaluate", family, partial(try_evaluation, plant=plant), 100, sealed=True)
    for family in sealed.UNCHANGED_AUDITS:
        compare = partial(diff_worlds.audits, plant=sealed.AUDIT[family])
        yield Trial("diff", f"audit {family}", partial(try_diff, compare=compare), 80, sealed=True)
    for family in sealed.UNCHANGED_EVALUATIONS:
        compare = partial(diff_worlds.evaluations, plant=sealed.EVALUATE[family])
        yield Trial("diff", f"evaluate {family}", partial(try_diff, compare=compare), 80, sealed=True)


def chosen_by_answer() -> frozenset[str]:
    """Families whose seen combinations were chosen by their answer."""
    names: Mapping[str, Any] = {}
    if importlib.util.find_spec("sealed_worlds") is not None:
        import sealed_worlds  # noqa: PLC0415 - may not be there

        names = vars(sealed_worlds)
    return frozenset((*audit_worlds.CHOSEN_BY_ANSWER, *names.get("CHOSEN_BY_ANSWER", ())))
