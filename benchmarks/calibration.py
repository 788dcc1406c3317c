"""Are the verdicts true? Planted worlds (`worlds.py`), what each verb promised, and what then happened.

    python benchmarks/calibration.py [--each 20] [--seed 0] [--sentences [--only impossible]] [--smoke]

For every world `audit`, `predict` and `evaluate` see the seen rows (`evaluate` also a model's answers for a third of
the unseen combinations) and promise a score with an interval and a grade. What happened is measured by code of this
file on the unseen rows: effects that an audit adds up are fitted here once more, by a plain least-squares solver; a
rule that it chose instead is asked itself.

Printed for each world and verb: how often the interval held what happened, how often it abstained, the grades with
the mean score that each came to. Below, what the sentences promise: nothing sound on noise or on a constant; what is
sound reaches what sound promises; grades separate. Worlds marked * are those that nothing was adjusted to.

With `--sentences`, whether the first sentence names what was planted (`sentence_worlds.py`).
"""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import measure
import recombine
import sentence_worlds
from recombine.base.grades import SOUND_FROM, Expected
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.rule_choice import ask_rule
from worlds import FAMILIES, HELD_BACK, NOISE, Codes, Numbers, World

GRADES = ("sound", "plausible", "weak", "failing", "untested")
MODELS = ("additive", "mostly right", "constant", "coin")
"""The models that `evaluate` is shown, by the seed of the world."""
MOST_ROWS = 8
"""Of one combination in a test set: a thousand of one and one of another say nothing about a third."""


@dataclass(frozen=True)
class Told:
    """One verb on one world: what it promised, and what came of it (NaN where nothing could)."""

    family: str
    verb: str
    seed: int
    grade: str
    promised: Expected | None
    happened: float
    others: int = 0  # combinations that it happened in, where these are others than the promise speaks of

    @property
    def tested(self) -> bool:
        """Whether a promise was made and can be held against anything."""
        return self.promised is not None and self.promised.low is not None and bool(np.isfinite(self.happened))

    @property
    def hopeless(self) -> bool:
        """Whether nothing good can truly be said: a world of noise, or a model that is a constant or a coin."""
        if self.verb == "evaluate":
            kind = MODELS[self.seed % len(MODELS)]
            return kind in ("constant", "coin") or (kind == "additive" and self.family in NOISE)
        return self.family in NOISE

    @property
    def kept(self) -> bool:
        """Whether what happened lies within what was promised.

        An evaluation's interval is for the mean over all combinations like the n tested ones. What is at hand is the
        mean of m others, which varies itself: their difference by 1/n + 1/m instead of 1/n.
        """
        wider = np.sqrt(1 + self.promised.tested / self.others) if self.others else 1.0
        low, value, high = self.promised.low, self.promised.value, self.promised.high
        return bool(value - wider * (value - low) - 1e-9 <= self.happened <= value + wider * (high - value) + 1e-9)


@dataclass(frozen=True, eq=False)
class Combinations:
    """Rows added up: a row a combination. Legend: c combinations, k factors, m classes (1 for a number)."""

    codes: Codes  # (c, k)
    values: Numbers  # (c, m)
    label: bool

    @property
    def answers(self) -> Any:
        """The answer of each: its mean, or the number of its commonest class."""
        return self.values.argmax(axis=1) if self.label else self.values[:, 0]


def combinations(world: World, side: str) -> Combinations:
    codes, answers = (world.seen, world.seen_answers) if side == "seen" else (world.unseen, world.unseen_answers)
    found, place, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    columns = [answers == label for label in classes(world)] if world.kind == "label" else [answers]
    sums = [np.bincount(place.ravel(), column.astype(float), minlength=len(found)) for column in columns]
    return Combinations(found, np.stack(sums, axis=1) / counts[:, None], world.kind == "label")


def classes(world: World) -> list[str]:
    return sorted({*world.seen_answers.tolist(), *world.unseen_answers.tolist()})


def design(codes: Codes, sizes: Iterable[int]) -> Numbers:
    """One column a value of each factor."""
    return np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)


def score(said: Any, truth: Combinations, mean: float) -> float:
    """Accuracy, or one less the squared error over that of the seen mean; NaN where there is nothing to score."""
    if not len(truth.codes):
        return float("nan")
    if truth.label:
        return float(np.mean(said == truth.answers))
    spread = float(np.sum((truth.answers - mean) ** 2))
    return 1 - float(np.sum((said - truth.answers) ** 2)) / spread if spread else float("nan")


def added_up(world: World, at: Codes) -> tuple[Any, Numbers]:
    """The additive rule's answers, fitted here to the seen combinations, and the leverage of each."""
    seen = combinations(world, "seen")
    sizes = np.maximum(seen.codes.max(axis=0), world.unseen.max(axis=0)) + 1
    inverse = np.linalg.pinv(design(seen.codes, sizes))
    asked = design(at, sizes)
    said = asked @ (inverse @ seen.values)
    return (said.argmax(axis=1) if seen.label else said[:, 0]), np.square(asked @ inverse).sum(axis=1)


def chosen(world: World, keep: Any) -> Combinations:
    """The unseen combinations that a promise speaks of."""
    unseen = combinations(world, "unseen")
    return Combinations(unseen.codes[keep], unseen.values[keep], unseen.label)


def seen_mean(world: World) -> float:
    return 0.0 if world.kind == "label" else float(combinations(world, "seen").answers.mean())


def audited(world: World) -> Told:
    found = recombine.audit(world.table(), factors=world.factors, target="answer")
    codes = combinations(world, "unseen").codes
    said, leverage = added_up(world, codes)
    if found.additive and found.additive.chosen != ADDITIVE and len(codes):
        said = by_chosen_rule(found, world, codes)
    reach = found.additive.reach if found.additive and found.additive.reach is not None else np.inf
    like = leverage <= reach * (1 + 1e-9)
    return _told("audit", world, found, score(said[like], chosen(world, like), seen_mean(world)))


def by_chosen_rule(found: Any, world: World, codes: Codes) -> Any:
    """What the rule answers that an audit chose over adding up; the audit speaks of it alone."""
    own = found.support.space.encode([[f"v{code}" for code in line] for line in codes.tolist()])
    said = ask_rule(found.additive.chosen, found.support, own)
    return said.argmax(axis=1) if world.kind == "label" else said[:, 0]


def predicted(world: World) -> Told:
    found = recombine.predict(
        world.table(), factors=world.factors, target="answer", examples=recombine.Examples(symbols=True)
    )
    lines = found.table.to_pydict()
    keys = zip(*(lines[name] for name in world.factors), strict=True)
    at = {key: place for place, key in enumerate(keys)}
    unseen = combinations(world, "unseen")
    places = np.array([at[tuple(f"v{code}" for code in codes)] for codes in unseen.codes.tolist()], dtype=int)
    like = np.asarray(lines["like_tested"], dtype=bool)[places] if len(places) else np.zeros(0, dtype=bool)
    named = np.asarray(lines["prediction"], dtype=object)[places[like]]
    said = np.array([classes(world).index(one) for one in named]) if world.kind == "label" else named.astype(float)
    return _told("predict", world, found, score(said, chosen(world, like), seen_mean(world)))


def evaluated(world: World) -> Told:
    """A model's answers for a third of the unseen combinations; what happens in the others is what it promises."""
    rng = np.random.default_rng([world.seed, 99])
    unseen = combinations(world, "unseen")
    asked = rng.random(len(unseen.codes)) < 1 / 3
    answers = model(world, rng)
    rows = {name: [] for name in (*world.factors, "answer", "said")}
    for side, keep in (("seen", None), ("unseen", asked)):
        for codes, truth in _rows(world, side, unseen, keep):
            for k, name in enumerate(world.factors):
                rows[name].append(f"v{codes[k]}")
            rows["answer"].append(truth)
            rows["said"].append(answers[codes])
    found = recombine.evaluate(
        rows, factors=world.factors, target="answer", prediction="said", train=world.table(), causes=False
    )
    happened = _row_score(world, answers, unseen, ~asked)
    return replace(_told("evaluate", world, found, happened), others=int((~asked).sum()))


def _rows(world: World, side: str, unseen: Combinations, keep: Any) -> Iterable[tuple[tuple[int, ...], Any]]:
    codes, answers = (world.seen, world.seen_answers) if side == "seen" else (world.unseen, world.unseen_answers)
    allowed = None if keep is None else {tuple(one) for one in unseen.codes[keep].tolist()}
    rows: Counter[tuple[int, ...]] = Counter()
    for one, answer in zip(map(tuple, codes.tolist()), answers.tolist(), strict=True):
        rows[one] += 1
        if (allowed is None or one in allowed) and rows[one] <= MOST_ROWS:
            yield one, answer


def _row_score(world: World, answers: Mapping[Any, Any], unseen: Combinations, keep: Any) -> float:
    """Over rows, as an evaluation scores them."""
    rows = list(_rows(world, "unseen", unseen, keep))
    if not rows:
        return float("nan")
    said, truth = ([answers[codes] for codes, _ in rows], [answer for _, answer in rows])
    if world.kind == "label":
        return float(np.mean([one == other for one, other in zip(said, truth, strict=True)]))
    mean = float(np.mean(world.seen_answers))
    spread = float(np.sum((np.array(truth) - mean) ** 2))
    return 1 - float(np.sum((np.array(said) - np.array(truth)) ** 2)) / spread if spread else float("nan")


def model(world: World, rng: np.random.Generator) -> dict[tuple[int, ...], Any]:
    """A model's answer for each combination, one of `MODELS` by the seed."""
    both = [combinations(world, side) for side in ("seen", "unseen")]
    codes = np.concatenate([one.codes for one in both])
    values = np.concatenate([one.values for one in both])
    if world.kind == "label":
        names, truth = np.array(classes(world)), values.argmax(axis=1)
        coin = rng.integers(0, len(names), size=len(codes))
        kinds = (
            added_up(world, codes)[0],
            np.where(rng.random(len(codes)) < 0.9, truth, coin),
            np.full(len(codes), both[0].values.mean(axis=0).argmax()),
            coin,
        )
        said: list[Any] = names[kinds[world.seed % len(MODELS)]].tolist()
    else:
        noise = values[:, 0].std() * rng.standard_normal(len(codes))
        kinds = (
            added_up(world, codes)[0],
            values[:, 0] + 0.2 * noise,
            np.full(len(codes), both[0].values.mean()),
            values.mean() + noise,
        )
        said = kinds[world.seed % len(MODELS)].tolist()
    return dict(zip(map(tuple, codes.tolist()), said, strict=True))


def _told(verb: str, world: World, found: Any, happened: float) -> Told:
    return Told(world.family, verb, world.seed, found.grade, found.expected, happened)


def told_by(verb: str, world: World) -> Told:
    """What a verb promised and what happened; a refusal in words counts as untested."""
    try:
        return VERBS[verb](world)
    except recombine.RecombineError:
        return Told(world.family, verb, world.seed, "untested", None, float("nan"))


VERBS: Mapping[str, Callable[[World], Told]] = {"audit": audited, "predict": predicted, "evaluate": evaluated}


def print_worlds(told: list[Told]) -> None:
    rows = []
    for family in FAMILIES:
        for verb in VERBS:
            here = [one for one in told if (one.family, one.verb) == (family, verb)]
            tested = [one for one in here if one.tested]
            kept = f"{np.mean([one.kept for one in tested]):.2f}" if tested else "-"
            star = "*" if family in HELD_BACK else ""
            rows.append([family + star, verb, str(len(here)), str(len(tested)), kept, *map(str, _by_grade(here))])
    measure.table(["world", "verb", "worlds", "promised", "held", *GRADES], rows)


def _by_grade(told: list[Told]) -> list[str]:
    """How many got each grade, and the mean score that those came to."""
    found = []
    for grade in GRADES:
        scores = [one.happened for one in told if one.grade == grade and np.isfinite(one.happened)]
        count = sum(one.grade == grade for one in told)
        found.append(f"{count} ({np.mean(scores):.2f})" if scores else str(count))
    return found


def summary(told: list[Told], verb: str, families: Iterable[str]) -> dict[str, Any]:
    """What the sentences of one verb promise, over some worlds. R² below 0 counts as 0 in means."""
    here = [one for one in told if one.verb == verb and one.family in families]
    tested = [one for one in here if one.tested]
    scores = defaultdict(list)
    for one in here:
        if np.isfinite(one.happened):
            scores[one.grade].append(max(one.happened, 0.0))
    sound = [one for one in here if one.grade == "sound" and np.isfinite(one.happened)]
    noise = [one for one in here if one.hopeless]
    mean = {grade: float(np.mean(found)) for grade, found in scores.items()}
    return {
        "worlds": len(here),
        "promises": len(tested),
        "held": float(np.mean([one.kept for one in tested])) if tested else None,
        "sound on noise or a constant": f"{sum(one.grade == 'sound' for one in noise)} of {len(noise)}",
        "sound": len(sound),
        "sound that reach the low end": _share(one.happened >= one.promised.low - 1e-9 for one in sound if one.tested),
        f"sound that reach {SOUND_FROM}": _share(one.happened >= SOUND_FROM for one in sound),
        f"failing that reach {SOUND_FROM}": _share(score >= SOUND_FROM for score in scores["failing"]),
        "mean score sound": mean.get("sound"),
        "mean score failing": mean.get("failing"),
        "apart": mean["sound"] - mean["failing"] if {"sound", "failing"} <= mean.keys() else None,
    }


def _share(hits: Iterable[bool]) -> float | None:
    found = list(hits)
    return float(np.mean(found)) if found else None


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--each", type=int, default=20, help="worlds of each of the families")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--sentences", action="store_true", help="what first sentences name, of 5 times as many worlds")
    parser.add_argument("--only", default="", help="with --sentences: what the name of a world must hold")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    each = 1 if given.smoke else given.each
    if given.sentences:
        print_sentences(given, each * 5)
        return
    told = []
    for make in FAMILIES.values():
        worlds = [make(seed) for seed in range(given.seed, given.seed + each)]
        told += [told_by(verb, world) for world in worlds for verb in VERBS]
    print_worlds(told)
    found = {}
    for title, families in {
        "all worlds": tuple(FAMILIES),
        "worlds that nothing was adjusted to": HELD_BACK,
    }.items():
        print(f"\n{title}")
        found[title] = {verb: summary(told, verb, families) for verb in VERBS}
        names = list(found[title]["audit"])
        measure.table(["", *VERBS], [[name, *(_text(found[title][verb][name]) for verb in VERBS)] for name in names])
    measure.write("calibration", given, found)


def print_sentences(given: Any, worlds: int) -> None:
    """How often the first sentence names what was planted."""
    kinds = (sentence_worlds.PLANTED, sentence_worlds.EVALUATED, sentence_worlds.SWAPPED, sentence_worlds.SUSPECTED)
    planted = tuple(one for kind in kinds for one in kind if given.only in one.name)
    found = {one.name: sentence_worlds.shares(one, worlds=worlds, seed=given.seed) for one in planted}
    rows = [[name, worlds, *(f"{100 * share:.1f}" for share in one.values())] for name, one in found.items()]
    measure.table(["planted", "worlds", "told %", "another thing, or what is not there %"], rows)
    measure.write("calibration_sentences", given, found)


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
