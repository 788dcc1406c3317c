"""Random tables against their twin: every count, measurement and sentence; and closed forms at larger sizes."""
# ruff: noqa: PLC0415 - the library is loaded by those who run cases, and in children after what befalls them

import math
import re
from typing import Any

import numpy as np

from attacks.case import Case
from attacks.command import SPOILT, command, strict_json, well_ended
from attacks.drawn import Drawn, draw
from attacks.twin import MISSING, Combination, Twin, kernel_answers

_CLOSE = 1e-6
_FAITHFUL = 1e-9


def attack(case: Case) -> None:
    """One table, asked everything; now and then a larger one."""
    if case.number % 40 == 39:
        return _long(case)
    drawn = draw(case.rng)
    kinds = (_audit, _audit, _predict, _evaluate, _split, _commands)
    return kinds[case.number % len(kinds)](case, drawn)


def _read(case: Case, drawn: Drawn, twin: Twin) -> Any:
    """The support, or nothing where the table was refused for a reason that the twin sees too."""
    import recombine

    try:
        return recombine.read(drawn.columns, **drawn.asked())
    except recombine.RecombineError as error:
        case.expect(twin.refusable, f"read refused a table that is in order: {error.what}; {error.why}")
        return None


def _audit(case: Case, drawn: Drawn) -> None:
    import recombine

    twin = Twin(drawn)
    support = _read(case, drawn, twin)
    if support is None:
        return
    try:
        found = recombine.audit(support)
    except recombine.RecombineError as error:
        case.expect(twin.refusable, f"audit refused a table that is in order: {error.what}; {error.why}")
        return
    counts = twin.counts()
    told = {name: number for name, number in vars(found.counts).items() if name != "thin"}  # a part of the seen ones
    case.expect(told == counts, f"counts {told}, but really {counts}")
    case.expect(0 <= found.counts.thin <= counts["seen"], f"{found.counts.thin} thin of {counts['seen']} seen")
    for covered in found.coverage:
        real = twin.coverage(covered.order)
        case.expect((covered.seen, covered.possible) == real, f"order {covered.order}: {covered}, but really {real}")
    names = list(drawn.factors)
    for pair in found.dependence:
        real_v = twin.cramers_v(*map(names.index, pair.factors))
        # the root of what rounding leaves of 0
        case.expect(
            _near(pair.cramers_v, real_v, atol=1e-7), f"Cramér's V of {pair.factors} {pair.cramers_v}, really {real_v}"
        )
    _leverages(case, found, twin)
    _sentences(case, found, twin)
    _told(case, found, twin)
    _within(case, support, twin)
    strict_json(case, _dumped(case, found), "audit")
    if case.chance(0.3):
        found._repr_html_()


def _dumped(case: Case, found: Any) -> str:
    import json

    try:
        return json.dumps(found.record().to_json(), allow_nan=False)
    except ValueError:
        case.expect(False, f"the record of {type(found).__name__} holds a number that JSON does not know")
        return "{}"


def _leverages(case: Case, found: Any, twin: Twin) -> None:
    asked = sorted(twin.determined)[:40]
    if not asked:
        return
    told = found.explain([_own(one, twin) for one in asked])["leverage"].to_numpy(zero_copy_only=False).astype(float)
    real = twin.leverage(asked)
    off = ~np.isclose(told, real, rtol=_CLOSE, atol=1e-8)
    case.expect(not off.any(), f"leverage {told[off][:2]}, really {real[off][:2]} of {asked[int(off.argmax())]}")


def _own(one: Combination, twin: Twin) -> tuple[Any, ...]:
    """A combination in the table's own values, whole numbers where they are."""
    raw = twin.drawn.columns
    pairs = zip(one, twin.drawn.factors, strict=True)
    return tuple(int(v) if _whole(raw[name]) and v != MISSING else v for v, name in pairs)


def _whole(column: list[Any]) -> bool:
    return any(isinstance(value, int) for value in column)


def _sentences(case: Case, found: Any, twin: Twin) -> None:
    said = " ".join([found.verdict, *found.reasons])
    spoilt = SPOILT.search(said)
    case.expect(spoilt is None, f"a sentence holds {spoilt[0] if spoilt else ''!r}: {said}")
    counts = twin.counts()
    first = re.search(r"([\d,]+) of ([\d,]+) combinations? (?:was|were) seen", found.verdict)
    if first:
        told = tuple(int(number.replace(",", "")) for number in first.groups())
        case.expect(told == (counts["seen"], counts["space"]), f"{found.verdict!r}, really {counts}")
    whole = re.search(r"All ([\d,]+) combinations were seen", found.verdict)
    if whole:
        case.expect(counts["seen"] == counts["space"], f"{found.verdict!r}, really {counts}")
    if found.grade == "complete":
        case.expect(not counts["novel"], f"graded complete, but {counts['novel']} combinations hold a value never seen")
    for name, values in zip(twin.drawn.factors, twin.values, strict=True):
        k = twin.drawn.factors.index(name)
        lost = len(values) - len({one[k] for one in twin.seen})
        named = re.search(rf"(\d+) of (\d+) values of {name}\b", said)
        case.expect(
            (named and (int(named[1]), int(named[2])) == (lost, len(values))) or (not named and not lost),
            f"{lost} of {len(values)} values of {name} were never seen; the audit says: {said}",
        )


def _told(case: Case, found: Any, twin: Twin) -> None:
    """What each part tells of the target."""
    if found.redundancy is None or not twin.answered or twin.drawn.extreme:
        return
    names = list(twin.drawn.factors)
    for part in found.redundancy.parts:
        chosen = tuple(sorted(map(names.index, part.factors)))
        real = twin.told(chosen)
        case.expect(_near(part.told, real), f"{part.factors} tell {part.told} of {twin.drawn.kind}, really {real}")
        if twin.drawn.kind == "label":
            best = twin.accuracy(chosen)
            case.expect(_near(part.score, best), f"accuracy from {part.factors} {part.score}, really {best}")


def _within(case: Case, support: Any, twin: Twin) -> None:
    """The mean of each combination, and the noise around it."""
    from recombine.verbs.predict.answers import answers

    if twin.drawn.kind != "number" or twin.constant or twin.drawn.extreme:
        return
    found = answers(support)
    largest = max(abs(row.answer) for row in twin.answered)
    groups = twin.groups(tuple(range(len(twin.values))))
    for row, value in zip(found.rows.tolist(), found.values[:, 0].tolist(), strict=True):
        one = tuple(str(item) for item in support.combination(row).values())
        real = float(twin.mean_and_scatter(groups[one])[1])
        case.expect(_near(value, real, rtol=_FAITHFUL, atol=1e-12 * largest), f"mean of {one} {value}, really {real}")
    real_within = twin.within()
    least = (1e-14 * largest) ** 2  # a few times the rounding of the numbers themselves
    case.expect(_near(found.within, real_within, atol=least), f"noise {found.within}, really {real_within}")


def _predict(case: Case, drawn: Drawn) -> None:
    """The squared loss against a dense solve."""
    import recombine

    twin = Twin(drawn)
    if drawn.kind is None:
        return _audit(case, drawn)
    support = _read(case, drawn, twin)
    if support is None:
        return None
    weights = [round(case.rng.uniform(0, 1), 3), *(round(case.rng.uniform(0.05, 1), 3) for _ in drawn.factors)]
    ridge = case.rng.choice((0.0, 0.1, 1.0))
    try:
        found = recombine.predict(
            support, salience="order:" + ",".join(map(str, weights)), fit=recombine.FitSettings(ridge=ridge)
        )
    except recombine.RecombineError as error:
        case.expect(
            twin.constant or twin.refusable, f"predict refused a table that is in order: {error.what}; {error.why}"
        )
        return None
    _dumped(case, found)
    spoilt = SPOILT.search(" ".join([found.verdict, *found.reasons]))
    case.expect(spoilt is None, f"a sentence holds {spoilt[0] if spoilt else ''!r}: {found.verdict} {found.reasons}")
    if not drawn.extreme:
        _scores(case, found, twin, weights, ridge)
    return None


def _scores(case: Case, found: Any, twin: Twin, weights: list[float], ridge: float) -> None:
    groups = twin.groups(tuple(range(len(twin.values))))
    seen = sorted(groups)
    counts = np.array([float(sum(row.weight for row in groups[one])) for one in seen])
    table = found.table.to_pydict()
    asked = [tuple(map(str, row)) for row in zip(*(table[name] for name in twin.drawn.factors), strict=True)]
    if twin.drawn.kind == "number":
        answers = np.array([[float(twin.mean_and_scatter(groups[one])[1])] for one in seen])
        told = np.array(table["prediction"])
    else:
        answers, told = _signs(groups, seen), np.array(table["score"])
    real = kernel_answers(seen, answers, counts, asked, weights, ridge)
    best = real[:, 0] if real.shape[1] == 1 else real.max(axis=1)
    reach = max(float(np.abs(answers).max()), 1e-300)
    off = np.abs(told - best) > 1e-6 * reach
    case.expect(not off.any(), f"prediction {told[off][:2]}, really {best[off][:2]} ({weights}, ridge {ridge})")


def _signs(groups: Any, seen: list[Combination]) -> np.ndarray:
    """Two classes are -1 and +1; more are one question each."""
    classes = sorted({row.answer for one in seen for row in groups[one]})
    shares = np.array(
        [
            [
                float(sum(r.weight for r in groups[one] if r.answer == c) / sum(r.weight for r in groups[one]))
                for c in classes
            ]
            for one in seen
        ]
    )
    return 2 * (shares[:, 1:] if len(classes) == 2 else shares) - 1


def _evaluate(case: Case, drawn: Drawn) -> None:
    """Accuracy on every side."""
    import recombine

    rng = case.rng
    size = len(drawn.columns["a"])
    sides = [rng.choice(("train", "test", "test")) for _ in range(size)]
    truth, said = ([rng.choice("xyz") for _ in range(size)] for _ in range(2))
    factors = {name: drawn.columns[name] for name in drawn.factors}
    table = {**factors, "y": truth, "said": said, "split": sides}
    whole = [all(factors[name][k] is not None for name in factors) for k in range(size)]
    rows = [k for k in range(size) if whole[k]]
    train = {k for k in rows if sides[k] == "train"}
    try:
        found = recombine.evaluate(
            table,
            factors=list(drawn.factors),
            target="y",
            prediction="said",
            split="split",
            causes=False,
            intervals=recombine.IntervalSettings(draws=200),
        )
    except recombine.RecombineError as error:
        few = len(train) in (0, len(rows)) or any(len({factors[n][k] for k in rows}) < 2 for n in factors)
        tested = set(rows) - train
        foreign = not {said[k] for k in tested} & {truth[k] for k in tested}  # not one answer could be right
        case.expect(few or foreign, f"evaluate refused a table that is in order: {error.what}; {error.why}")
        return
    _dumped(case, found)
    trained = Twin(Drawn({n: [factors[n][k] for k in sorted(train)] for n in factors}, drawn.factors))
    for name, chosen in _sides(trained, factors, [k for k in rows if sides[k] == "test"]).items():
        side = found.side(name)
        real = sum(truth[k] == said[k] for k in chosen) / len(chosen) if chosen else None
        right = side.rows == len(chosen) and (side.score is None) == (real is None)
        case.expect(
            right and (real is None or _near(side.score, real)),
            f"{name}: {side.score} on {side.rows} rows, really {real} on {len(chosen)}",
        )
    spoilt = SPOILT.search(" ".join([found.verdict, *found.reasons]))
    case.expect(spoilt is None, f"a sentence holds {spoilt[0] if spoilt else ''!r}: {found.verdict} {found.reasons}")


def _sides(trained: Twin, factors: dict[str, list[Any]], tested: list[int]) -> dict[str, list[int]]:
    combination = {k: tuple(str(column[k]) for column in factors.values()) for k in tested}
    known = [{one[k] for one in trained.seen} for k in range(len(factors))]
    novel = {k for k in tested if any(value not in known[f] for f, value in enumerate(combination[k]))}
    seen = {k for k in tested if combination[k] in trained.seen}
    fixed = {k for k in tested if combination[k] in trained.determined}
    return {
        "all": tested,
        "seen": [k for k in tested if k in seen],
        "unseen": [k for k in tested if k not in seen | novel],
        "determined": [k for k in tested if k in fixed],
        "novel": [k for k in tested if k in novel],
    }


def _split(case: Case, drawn: Drawn) -> None:
    """What every splitter promises, held against it row by row."""
    import recombine

    rng = case.rng
    table = {name: ["none" if v is None else str(v) for v in drawn.columns[name]] for name in drawn.factors}
    guarantee = rng.choice(("values", "determined", "none"))
    folds = rng.randint(2, 4)
    share = rng.choice((0.1, 0.2, 0.4, 0.6))
    kfold = rng.random() < 0.4
    try:
        if kfold:
            splitter = recombine.CombinationKFold(list(drawn.factors), n_splits=folds, random_state=case.number)
        else:
            splitter = recombine.HoldOutCombinations(
                list(drawn.factors), test_size=share, guarantee=guarantee, random_state=case.number
            )
        sides = [(set(train.tolist()), set(test.tolist())) for train, test in splitter.split(table)]
    except recombine.RecombineError:
        return  # a promise that cannot be kept is refused; that it is refused rightly is shown by the library's tests
    size = len(table["a"])
    rows = list(zip(*table.values(), strict=True))
    for train, test in sides:
        case.expect(train and test and not train & test, f"{splitter}: sides are empty or overlap")
        case.expect(train | test == set(range(size)), f"{splitter}: rows are on no side")
        case.expect(not {rows[k] for k in train} & {rows[k] for k in test}, f"{splitter}: a combination on both sides")
        if not kfold and guarantee != "none":
            kept = [{rows[k][f] for k in train} for f in range(len(table))]
            lost = [k for k in test if any(v not in kept[f] for f, v in enumerate(rows[k]))]
            case.expect(not lost, f"{splitter}: training lost a value")
        if not kfold and guarantee == "determined":
            trained = Twin(Drawn({n: [table[n][k] for k in sorted(train)] for n in table}, drawn.factors))
            case.expect({rows[k] for k in test} <= trained.determined, f"{splitter}: held out what is not determined")
    if kfold:
        case.expect(sorted(k for _, test in sides for k in test) == list(range(size)), f"{splitter}: not each row once")


def _commands(case: Case, drawn: Drawn) -> None:
    """The same table as a file, asked by a command: JSON that parses, words without nan."""
    import csv

    lines = zip(*drawn.columns.values(), strict=True)
    with (case.folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(drawn.columns)
        writer.writerows(["" if item is None else item for item in line] for line in lines)
    words = ["t.csv", "-f", ",".join(drawn.factors), "--missing", drawn.missing]
    if drawn.target and case.chance(0.8):
        words += ["-t", "y", "--target-kind", str(drawn.kind)]
    if drawn.weight:
        words += ["--weight", "w"]
    for name, values in drawn.domain.items():
        words += ["--domain", f"{name}={','.join(map(str, values))}"]
    verb = (
        case.rng.choice(("audit", "audit", "plan", "predict")) if "-t" in words else case.rng.choice(("audit", "plan"))
    )
    extra = {"plan": ["--goal", case.rng.choice(("determined", "pairs", "leverage"))]}.get(verb, [])
    asked = [verb, *words, *extra]
    as_json = command([*asked, "--json", "--out", "saved"], folder=case.folder)
    if well_ended(case, as_json, asked) and as_json.out:
        strict_json(case, as_json.out, " ".join(asked))
    plain = command([*asked, "--report", "page.html"], folder=case.folder)
    if well_ended(case, plain, asked):
        spoilt = SPOILT.search(plain.out)
        case.expect(spoilt is None, f"{' '.join(asked)} prints {spoilt[0] if spoilt else ''!r}")


# Larger tables, whose leverage is known in closed form or by a banded solve -------------------------------------------


def _long(case: Case) -> None:
    """Chains, rings and bands of more values than can be inverted densely."""
    import recombine
    from recombine.verbs.audit.determinacy import determinacy
    from recombine.verbs.audit.leverage import Leverage

    kind = case.rng.choice((_chain, _ring, _band))
    size = case.rng.choice((1_200, 1_600, 2_500, 3_000))
    pairs, asked, real = kind(case, size)
    names = tuple(f"v{place}" for place in range(size))
    space = recombine.Space(tuple(recombine.Factor(name, names) for name in "ab"))
    codes = np.asfortranarray(np.unique(np.array(pairs, dtype=np.int32), axis=0))
    support = recombine.Support(space, codes, np.ones(len(codes)), rows=len(codes))
    told = Leverage(support, determinacy(support)).of(np.array(asked, dtype=np.int32))
    off = ~np.isclose(told, real, rtol=_CLOSE)
    case.expect(
        not off.any(),
        f"{kind.__name__[1:]} of {size} x {size}: {off.sum()} of {len(asked)} leverages are wrong, "
        f"such as {told[off][:2]}, really {real[off][:2]}",
    )


Large = tuple[list[tuple[int, int]], list[tuple[int, int]], np.ndarray]


def _asked(case: Case, size: int) -> list[tuple[int, int]]:
    drawn = [(case.rng.randrange(size), case.rng.randrange(size)) for _ in range(6)]
    return [(size - 1, 0), (0, size - 1), *drawn]


def _chain(case: Case, size: int) -> Large:
    """a0 b0 a1 b1 …: the resistance between two is the number of steps."""
    pairs = [(k, k) for k in range(size)] + [(k + 1, k) for k in range(size - 1)]
    asked = _asked(case, size)
    return pairs, asked, np.array([float(abs(2 * a - (2 * b + 1))) for a, b in asked])


def _ring(case: Case, size: int) -> Large:
    """The chain, closed: d steps one way and n - d the other, side by side."""
    pairs = [(k, k) for k in range(size)] + [((k + 1) % size, k) for k in range(size)]
    asked = _asked(case, size)
    steps = [abs(2 * a - (2 * b + 1)) for a, b in asked]
    return pairs, asked, np.array([d * (2 * size - d) / (2 * size) for d in steps])


def _band(case: Case, size: int) -> Large:
    """Each product in four consecutive weeks: the graph's Laplacian with one value grounded, solved as a band."""
    from scipy.linalg import solveh_banded

    pairs = [(k, week) for k in range(size) for week in range(k, min(k + 4, size))]
    reach, total = 8, 2 * size
    bands = np.zeros((reach + 1, total))
    for a, b in pairs:
        one, other = sorted((2 * a, 2 * b + 1))
        bands[0, one] += 1
        bands[0, other] += 1
        bands[other - one, one] -= 1
    bands[0, 0] += 1.0  # the ground
    asked = _asked(case, size)
    sides = np.zeros((total, len(asked)))
    for place, (a, b) in enumerate(asked):
        sides[2 * a, place] += 1
        sides[2 * b + 1, place] -= 1
    return pairs, asked, (solveh_banded(bands, sides, lower=True) * sides).sum(axis=0)


def _near(told: float | None, real: float | None, *, rtol: float = _CLOSE, atol: float = 1e-8) -> bool:
    if told is None or real is None:
        return told is real
    return math.isclose(told, real, rel_tol=rtol, abs_tol=atol)
