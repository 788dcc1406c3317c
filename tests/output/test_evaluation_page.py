"""The page of an evaluation: complete, escaped, small, deterministic, and alive in a real browser."""

import base64
import html
import re
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import recombine
from recombine.base.errors import RecordError
from recombine.base.records import Provenance, Record
from recombine.output import error_pictures, score_map, score_pictures
from recombine.output.headline import value
from recombine.output.pages import draw, evaluation_page
from tests.output.test_audit_page import (
    CREATED,
    MATERIALS,
    NASTY,
    TYPES,
    opened,
    payload_of,
    probed,
    words,
)

ACCURACY = {"name": "accuracy", "better": "higher", "share": True}
SQUARED = {"name": "mse", "better": "lower", "share": False}
SIDES = ("all", "seen", "unseen", "determined", "undetermined", "novel")
MEASURES = ("score", "shrunk", "low", "high", "expected", "deviation", "error", "p", "q")
COMMAND = "recombine evaluate said.csv --factors material,type --target label --prediction said --split part"
NOT_TESTED = "No such combination was tested: nothing is known about it."


def side(name, score, combinations, *, width=0.05):
    if not combinations:
        empty = dict.fromkeys(("score", "low", "high", "macro", "macro_low", "macro_high"))
        return {"name": name, "rows": 0, "combinations": 0, **empty, "note": NOT_TESTED}
    around = {
        "low": score - width,
        "high": min(1.0, score + width),
        "macro_low": score - width,
        "macro_high": score + width,
    }
    return {"name": name, "rows": 9 * combinations, "combinations": combinations, "score": score, **around} | {
        "macro": score + 0.01,
        "note": None,
    }


def combination_table(factors, codes, rng, rung):
    """The table of tested combinations, its measures renamed where a factor has taken the name."""
    columns = {name: [str(values[code]) for code in codes[:, k]] for k, (name, values) in enumerate(factors.items())}
    size = len(codes)
    numbers = {name: rng.random(size) for name in MEASURES} | {"deviation": rng.normal(0, 0.3, size)}
    numbers["p"] = np.exp(-20 * np.abs(numbers["deviation"]))
    numbers["q"] = np.minimum(1.0, 2 * numbers["p"])
    facts = {"rung": rung, "rows": rng.integers(1, 40, size), **numbers}
    taken = dict(columns)
    for name, column in facts.items():
        taken[name + "_" * (name in columns)] = column
    return pa.table(taken)


def part_columns(rng, tested):
    """Scores of parts, null where they were not tested."""
    found = {}
    for prefix in ("", "seen_", "unseen_"):
        score = np.where(tested, rng.random(len(tested)), np.nan)
        found[f"{prefix}rows"] = np.where(tested, rng.integers(5, 400, len(tested)), 0)
        found[f"{prefix}combinations"] = np.where(tested, 6, 0)
        for name, by in (("score", 0.0), ("low", -0.1), ("high", 0.1)):
            found[f"{prefix}{name}"] = pa.array(score + by, from_pandas=True)
    return found


def part_tables(factors, codes, rng):
    values, pairs = [], []
    for k, (name, given) in enumerate(factors.items()):
        names = {"factor": pa.repeat(pa.scalar(name), len(given)), "value": pa.array([str(one) for one in given])}
        tested = np.bincount(codes[:, k], minlength=len(given)) > 0
        values.append(pa.table(names | part_columns(rng, tested)))
    for (a, (first, rows)), (b, (second, columns)) in combinations(enumerate(factors.items()), 2):
        together = np.unique(codes[:, [a, b]], axis=0)
        names = {"factor_a": pa.repeat(pa.scalar(first), len(together)), "factor_b": [second] * len(together)}
        names |= {"value_a": [str(rows[code]) for code in together[:, 0]]}
        names |= {"value_b": [str(columns[code]) for code in together[:, 1]]}
        pairs.append(pa.table(names | part_columns(rng, np.ones(len(together), dtype=bool))))
    return {"by_value": pa.concat_tables(values), "by_pair": pa.concat_tables(pairs) if pairs else pa.table({})}


def listed(factors, codes, rng, most=200):
    found = []
    for row in codes[:most].tolist():
        combination = {name: str(values[code]) for (name, values), code in zip(factors.items(), row, strict=True)}
        found.append({"combination": combination, "rung": "determined", "rows": 7, "score": 0.25, "shrunk": 0.4})
        found[-1] |= {"low": 0.1, "high": 0.7, "expected": 0.9, "deviation": -0.65, "q": float(rng.random() / 20)}
    return found


def share(name, habit, part, fits, factors=()):
    return {"name": name, "habit": habit, "factors": list(factors), "share": part, "low": part / 2, "high": 0.9} | {
        "fits": fits,
        "only": fits / 3,
        "among_errors": 0.8,
        "among_right": None if habit == "neither" else 0.25,
        "by_chance": None if habit == "neither" else 0.3,
    }


def anatomy(factors, codes, *, leading="shortcut"):
    name = next(iter(factors))
    examples = [
        {**one, "truth": "warm", "said": "<i>dry</i>", "count": 3.0, "explanation": "memory"}
        for one in listed(factors, codes, np.random.default_rng(0), 4)
    ]
    return {
        "verdict": f"Of 312 errors on unseen combinations, 71 % are put down to a shortcut: {name}.",
        "errors": 312.0,
        "right": 500.0,
        "combinations": 52,
        "shares": [
            share(f"shortcut: {name}", "shortcut", 0.71, 250.0, [name]),
            share("neither", "neither", 0.2, 0.0),
            share("memory", "memory", 0.09, 40.0),
        ],
        "leading": leading,
        "sure": 0.97,
        "several": 30.0,
        "none": 12.0,
        "cannot_tell": ["memory or commonest: 3 of 40 errors tell them apart"],
        "examples": examples,
        "draws": 400,
    }


def swap(factors):
    known = {"share": 0.3, "low": 0.2, "high": 0.4}
    unknown = dict.fromkeys(("share", "low", "high"))
    rates = [known, unknown, *[known] * len(factors)]
    return {
        "verdict": "The answer hangs on material where it should not.",
        "within": 0.1,
        "factors": [
            {"factor": name, "combinations": 9, "pairs": 20.0, "changed": rate, "excess": rate}
            | {"other_pairs": 0.0, "stayed": unknown, "sentence": f"When {name} is swapped, the answer changes."}
            for name, rate in zip(factors, rates, strict=False)
        ],
        "draws": 400,
    }


def theory(rng):
    kinds = rng.choice(["fine", "leak", "can't"], 300).tolist()
    points = [
        [float(x), float(x + e), kind] for x, e, kind in zip(rng.random(300), rng.random(300), kinds, strict=True)
    ]
    return {
        "verdict": "On 300 unseen combinations the model does better where theory expects it (rank correlation 0.6)",
        "across": "theory's margin for the true class",
        "up": "measured accuracy",
        "rank": {"value": 0.6, "low": 0.5, "high": 0.7, "combinations": 300},
        "said": None,
        "same_answer": 0.8,
        "joined": 300,
        "missing": 2,
        "verdicts": [
            {"verdict": one, "combinations": 100, "rows": 900.0, "score": 0.7, "macro": 0.6} for one in set(kinds)
        ],
        "points": points,
        "draws": 2000,
    }


def against():
    numbers = {"own": 0.6, "other": 0.7, "difference": 0.1, "low": 0.02, "high": 0.18, "better": "other"}
    empty = dict.fromkeys(("own", "other", "difference", "low", "high")) | {"better": "cannot tell"}
    lines = [
        {"name": name, "rows": 0 if name == "novel" else 90, "combinations": 0 if name == "novel" else 10}
        | (empty if name == "novel" else numbers)
        for name in SIDES
    ]
    return {"other": "robust", "verdict": "On 52 unseen combinations the other model is better.", "rows_without": 4} | {
        "sides": lines
    }


def make_evaluation(factors, *, score=ACCURACY, seed=0, density=0.6, trained=True, whole=True, **more):
    """An evaluation's record with made-up numbers: `factors` is {name: values}."""
    rng = np.random.default_rng(seed)
    sizes = [len(values) for values in factors.values()]
    every = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
    codes = every[rng.random(len(every)) < density]
    seen = every[rng.random(len(every)) < 0.5]
    rung = np.where(rng.random(len(codes)) < 0.6, "seen", "determined") if trained else np.full(len(codes), "unknown")
    half = len(codes) // 2 if trained else 0
    counts = {"all": len(codes), "seen": half, "unseen": half, "determined": half, "undetermined": 0, "novel": 0}
    deviations = {"sentence": "12 combinations deviate from what their parts give elsewhere.", "testable": len(codes)}
    data = {
        "verdict": "On the seen combinations it is right in 97 %; on unseen ones in 61 %: a gap of 36 points.",
        "grade": "failing",
        "reasons": ["The 95 % interval of the gap, over combinations, is 30 to 41 points."],
        "score": score,
        "answers": "label",
        "confidence": 0.95,
        "draws": 2000,
        "seed": 0,
        "sides": [side(name, 0.97 if name == "seen" else 0.61, count) for name, count in counts.items()],
        "gap": {"value": 0.36, "low": 0.3, "high": 0.41} if trained else None,
        "worst": listed(factors, codes, rng),
        "untested": {"total": len(every) - len(codes), "seen": 3, "unseen": 0, "complete": True}
        | {"listed": [{**one, "seen": True, "rows": 3.0} for one in listed(factors, every, rng, 3)]},
        "deviations": deviations | {"rank": 20, "found": 12, "rate": 0.05, "listed": listed(factors, codes, rng, 12)},
        "against": against() if whole else None,
        "anatomy": anatomy(factors, codes) if whole else None,
        "swap": swap(factors) if whole else None,
        "additivity": {"verdict": "The answers are 80 % additive.", "combinations": 52, "rank": 20.0, "r2": 0.8}
        | {"adjusted": 0.7, "left_out": 0.6, "vacuous": False}
        if whole
        else None,
        "theory": theory(rng) if whole else None,
        "pairs_left_out": [],
        "rows": 5_790,
        "rows_left_out": 0,
        "not_scored": {"the prediction is missing": 11},
        "impossible": [],
        "target": {"name": "label", "kind": "label", "classes": ["a", "b"]},
        "factors": [{"name": name, "values": size, "tested": size} for name, size in zip(factors, sizes, strict=True)],
        "training": {"rows": 9_999, "combinations": len(seen)} if trained else None,
    }
    tables = {"combinations": combination_table(factors, codes, rng, rung), **part_tables(factors, codes, rng)}
    if trained:
        tables["training_support"] = pa.table({f"code{k}": seen[:, k].astype(np.int32) for k in range(len(factors))})
    made = Provenance(source="data/said.csv", settings={"seed": 0}, command=COMMAND, created=CREATED, version="0.1.0")
    return Record("evaluation", data | more, tables, made)


def shoes():
    return make_evaluation({"material": MATERIALS, "type": TYPES})


def numbers():
    return make_evaluation({"material": MATERIALS, "type": TYPES, "size": [1, 2, 3]}, score=SQUARED, whole=False)


def untrained():
    return make_evaluation({"material": MATERIALS, "type": TYPES}, trained=False, whole=False)


def one_factor():
    return make_evaluation({"material": MATERIALS}, density=1.0, whole=False)


def nasty():
    rows = [*NASTY, "x" * 500]
    factors = {"<i>mat</i>": rows, '"type"': TYPES, "score": ["p", "q"]}
    return make_evaluation(factors, verdict="<b>3</b> more & 'done'", score={**ACCURACY, "name": "accuracy"})


def large():
    factors = {"attribute": words("attribute", 413), "thing": words("thing", 674)}
    return make_evaluation(factors, density=0.05)


def least():
    data = {"verdict": "Nothing was tested.", "grade": "untested", "rows": 0, "score": ACCURACY}
    return Record("evaluation", data, {}, Provenance(source="said.csv", command=COMMAND, created=CREATED, version="0"))


CASES = {case.__name__: case for case in (shoes, numbers, untrained, one_factor, nasty, large, least)}


@pytest.fixture(scope="module")
def pages():
    return {name: evaluation_page(case()) for name, case in CASES.items()}


def changed(record, **data):
    return Record(record.kind, {**record.data, **data}, record.tables, record.provenance)


def inflated(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_asked_for(pages, name):
    own = re.sub(r'<script type="application/json".*?</script>', "", pages[name], flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", own, re.IGNORECASE)
    assert not re.search(r"""url\(\s*["']?(?!#)""", own)
    assert "default-src 'none'" in own


@pytest.mark.parametrize("name", [name for name in CASES if name != "large"])
def test_the_same_record_gives_the_same_page(pages, name):
    assert evaluation_page(CASES[name]()) == pages[name]


@pytest.mark.parametrize("name", [name for name in CASES if name != "least"])
def test_what_the_record_says_is_on_the_page(pages, name):
    data, page = CASES[name]().data, html.unescape(pages[name])
    said = [data["verdict"], data["reasons"][0], data["deviations"]["sentence"], COMMAND]
    said += [data[part]["verdict"] for part in ("against", "anatomy", "swap", "additivity", "theory") if data[part]]
    for sentence in [*said, "11 rows were not scored: the prediction is missing"]:
        assert page.count(sentence) == 1
    assert "5,790 rows" in page


@pytest.mark.parametrize("name", CASES)
def test_a_page_stays_below_2_megabytes(pages, name):
    assert len(pages[name].encode()) < 2_000_000


def test_long_texts_and_many_factors_do_not_swell_the_page():
    long = {"type": TYPES, "text": [f"{n} " + "y" * 40_000 for n in range(200)]}
    page = evaluation_page(make_evaluation(long))
    assert len(page.encode()) < 2_000_000
    assert "Its texts are very long: the download holds the first 9." in page
    many = {f"factor {place} {'z' * 300}": ["w" * 400, "v" * 400] for place in range(12)}
    assert len(evaluation_page(make_evaluation(many, density=0.1)).encode()) < 2_000_000


def test_values_are_text_and_never_markup(pages):
    page = pages["nasty"]
    for markup in ("<script>alert", "<i>mat", "<b>3", "<i>dry"):
        assert markup not in page
    assert page.count("</script>") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert max(len(run) for run in re.findall("x+", own)) <= 300


def test_what_was_not_tested_is_shown_as_such_and_never_as_zero():
    drawn = score_pictures.sides(shoes().data)
    assert [dot.name for dot in drawn.dots] == ["seen", "unseen", "— determined", "— undetermined", "novel"]
    for dot in drawn.dots[3:]:
        assert (dot.at, dot.low, dot.text, dot.note) == (None, None, "untested", NOT_TESTED)
    assert [dot.own for dot in drawn.dots] == [False, True, False, False, False]
    assert drawn.dots[1].at < drawn.dots[0].at
    assert all(-1e-9 <= tick.at <= 100 + 1e-9 for tick in drawn.ticks)


def test_a_page_without_training_has_one_score_and_no_rungs(pages):
    drawn = score_pictures.sides(untrained().data)
    assert [dot.name for dot in drawn.dots] == ["all tested"]
    assert "where cells are large enough" not in pages["untrained"]
    assert "rung" not in payload_of(pages["untrained"])["lists"][0]["columns"]
    assert "rung" in payload_of(pages["shoes"])["lists"][0]["columns"]


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ({"value": 0.3, "low": 0.2, "high": 0.4}, "lies above zero: unseen combinations fare worse"),
        ({"value": -0.3, "low": -0.4, "high": -0.2}, "lies below zero: unseen combinations fare better"),
        ({"value": 0.1, "low": -0.1, "high": 0.3}, "holds zero: that unseen combinations fare worse is not shown"),
        ({"value": 0.1, "low": None, "high": None}, "too few combinations for an interval"),
    ],
)
def test_the_gap_says_what_its_interval_leaves_open(gap, said):
    data = changed(shoes(), gap=gap).data
    assert said in score_pictures.gap_sentence(data)
    drawn = score_pictures.gap(data)
    assert 0 < drawn.zero < 100
    assert (drawn.dots[0].low is None) == (gap["low"] is None)


def test_values_stand_worst_first_and_the_rest_is_counted():
    data, table = shoes().data, shoes().tables["by_value"]
    material = score_pictures.by_factor(data, table)[0]
    places = [dot.at for dot in material.picture.dots]
    assert places == sorted(places)
    assert len(places) == 12
    assert "4 more fare no worse than these." in material.sentence
    loss = score_pictures.by_factor({**data, "score": SQUARED}, table)[0]
    places = [dot.at for dot in loss.picture.dots]
    assert places == sorted(places, reverse=True)


def test_values_never_tested_are_named():
    lines = shoes().tables["by_value"].to_pylist()[:3]
    empty = dict.fromkeys(("score", "low", "high", "unseen_score"))
    lines += [{**lines[0], **empty, "value": f"untried {place}", "rows": 0} for place in range(8)]
    lines += [{**lines[0], **empty, "value": "once", "rows": 1}]
    (found,) = score_pictures.by_factor(shoes().data, pa.Table.from_pylist(lines))
    assert len(found.picture.dots) == 3
    assert "Untested: untried 0, untried 1, untried 2, untried 3, untried 4, untried 5 and 2 more." in found.sentence
    assert "Tested, but too little for a score: once." in found.sentence
    nothing = [one for one in lines if one["score"] is None]
    (found,) = score_pictures.by_factor(
        shoes().data, pa.Table.from_pylist(nothing).cast(shoes().tables["by_value"].schema)
    )
    assert found.picture is None
    assert found.sentence.startswith("None of its values has a score. Untested: untried 0")


def test_another_model_is_compared_side_by_side():
    drawn = score_pictures.compared(shoes().data)
    unseen, novel = drawn.dots[2], drawn.dots[5]
    assert unseen.text == "+10 points"
    assert "the other is better" in unseen.note
    assert (novel.at, novel.text) == (None, "untested")
    assert score_pictures.compared(numbers().data) is None


def test_deviating_combinations_are_filled_and_thinned_with_words():
    record = large()
    drawn = error_pictures.volcano(record.data, record.tables["combinations"])
    kinds = [mark.kind for mark in drawn.marks]
    assert kinds.count("deviating") == error_pictures.MOST_NAMED
    assert kinds.count("plain") == error_pictures.MOST_PLAIN
    assert f"1,200 of {record.tables['combinations'].num_rows:,} are drawn" in drawn.sentence
    assert all(14 <= mark.y <= 282 for mark in drawn.marks)


def test_a_factor_may_have_the_name_of_a_measure():
    record = nasty()
    drawn = error_pictures.volcano(record.data, record.tables["combinations"])
    assert len(drawn.marks) == record.tables["combinations"].num_rows


def test_the_causes_fill_the_bar_and_show_their_base_rates(pages):
    drawn = error_pictures.causes(shoes().data["anatomy"])
    assert sum(one.width for one in drawn.causes) == pytest.approx(100)
    assert drawn.causes[1].colour == error_pictures.GREY
    assert len({one.colour for one in drawn.causes}) == 3
    assert not drawn.unsure
    assert "fits random errors" in pages["shoes"]
    assert "unsure-bar" in evaluation_page(changed(shoes(), anatomy={**shoes().data["anatomy"], "leading": None}))


def test_causes_without_an_interval_are_not_drawn():
    found = shoes().data["anatomy"]
    guessed = [{**one, "low": None, "high": None} for one in found["shares"]]
    assert not error_pictures.causes({**found, "shares": guessed, "leading": None}).causes


def test_a_factor_that_cannot_be_swapped_is_shown_as_untested():
    first, second = error_pictures.swaps(shoes().data["swap"]).dots
    assert first.text == "+30 points"
    assert (second.at, second.text, second.note) == (None, "untested", "nothing to swap")


def test_points_of_the_theory_are_thinned_evenly():
    found = theory(np.random.default_rng(0))
    many = {**found, "points": found["points"] * 7, "joined": 2_100}
    drawn = error_pictures.beside(many, ACCURACY)
    assert len(drawn.picture.marks) == error_pictures.MOST_POINTS
    assert "1,000 of them are drawn." in drawn.picture.sentence
    assert drawn.kinds == ["can't", "fine", "leak"]


@pytest.mark.parametrize("name", ["shoes", "numbers", "untrained", "nasty"])
def test_the_packed_cells_are_those_of_the_tables(pages, name):
    record, payload = CASES[name](), payload_of(pages[name])
    lines = {(one["factor_a"], one["factor_b"]): [] for one in record.tables["by_pair"].to_pylist()}
    for one in record.tables["by_pair"].to_pylist():
        lines[one["factor_a"], one["factor_b"]].append(one)
    assert len(payload["maps"]) == len(lines)
    named = {value(name): name for pair in lines for name in pair}
    for drawn in payload["maps"]:
        wanted = lines[named[drawn["rows"]["factor"]], named[drawn["columns"]["factor"]]]
        raw, size = inflated(drawn["cells"]), len(drawn["rows"]["names"]) * len(drawn["columns"]["names"])
        tested = (raw[:size] & score_map.TESTED) > 0
        count = int(tested.sum())
        steps = raw[size : size + count].astype(int) * 256 + raw[size + count : size + 2 * count]
        found = payload["low"] + steps / 65_534 * (payload["high"] - payload["low"])
        assert count == len(wanted)
        assert sorted(found.tolist()) == pytest.approx(sorted(one["score"] for one in wanted), abs=1e-4)
        if name == "untrained":
            assert not (raw[:size] & score_map.TRAINED).any()


def test_the_map_knows_what_was_trained_on_and_what_is_impossible():
    record = changed(shoes(), impossible=[[2, -1], [0, 3]])
    (one,) = score_map.score_maps(record.data, record.tables)
    state = one.state.reshape(len(MATERIALS), len(TYPES))
    rows, columns = ({code: at for at, code in enumerate(axis.kept.tolist())} for axis in (one.rows, one.columns))
    seen = {tuple(row.values()) for row in record.tables["training_support"].to_pylist()}
    for a, b in np.ndindex(state.shape):
        cell = state[rows[a], columns[b]]
        assert bool(cell & score_map.TRAINED) == ((a, b) in seen)
        assert bool(cell & score_map.IMPOSSIBLE) == (a == 2 or (a, b) == (0, 3))


def test_a_map_that_was_cut_says_so(pages):
    assert "the 256 most tested of 413 values of attribute" in pages["large"]
    many = {f"factor {place}": ["a", "b"] for place in range(7)}
    page = evaluation_page(make_evaluation(many, whole=False))
    assert "10 of 21 pairs of factors have a map here" in page


@pytest.mark.parametrize(
    ("score", "numbers", "wanted"),
    [
        (ACCURACY, [0.5, 0.5], (0.45, 0.55)),
        (ACCURACY, [0.0, 0.0], (0.0, 0.1)),
        (SQUARED, [0.2, 0.2], (0.2, 0.0)),
    ],
)
def test_scores_that_are_all_alike_have_a_colour(score, numbers, wanted):
    record = make_evaluation({"material": MATERIALS[:2], "type": TYPES[:2]}, density=1.0, score=score)
    by_pair = record.tables["by_pair"].slice(0, 2)
    place = by_pair.column_names.index("score")
    tables = record.tables | {"by_pair": by_pair.set_column(place, "score", pa.array(numbers))}
    payload = score_map.maps_payload(score_map.score_maps(record.data, tables), record.data)
    assert (payload["worst"], payload["best"]) == pytest.approx(wanted)


def test_a_worst_case_speaks_of_the_untested(pages):
    missing = shoes().data["untested"]["total"]
    assert f"{missing} combinations were never tested and may be worse." in pages["shoes"]
    titles = [one["file"] for one in payload_of(pages["shoes"])["lists"]]
    assert titles == ["worst.csv", "untested.csv"]


def test_the_least_record_says_that_there_is_nothing(pages):
    assert "No combination was tested, so there is none to list." in pages["least"]
    assert "<canvas" not in pages["least"]


def test_another_kind_of_record_is_refused():
    record = shoes()
    with pytest.raises(RecordError, match="a record of kind 'plan' has no evaluation page"):
        evaluation_page(Record("plan", record.data, record.tables, record.provenance))


def test_differences_are_written_with_their_sign():
    assert [score_pictures.difference(ACCURACY, number) for number in (0.1234, -0.004, 0.0)] == [
        "+12 points",
        "−0.4 points",
        "0 points",
    ]
    assert score_pictures.difference(SQUARED, -0.40369) == "−0.404"


def test_a_real_evaluation_can_be_drawn():
    rng = np.random.default_rng(0)
    names = [f"{place}" for place in range(8)]
    first, second = rng.integers(0, 8, 800), rng.integers(0, 8, 800)
    part = np.where((first + second) % 4 == 0, "test", np.where(rng.random(800) < 0.7, "train", "test"))
    truth = np.where(first < 4, "a", "b")
    said = np.where(rng.random(800) < 0.8, truth, np.where(second < 4, "a", "b"))
    table = {"x": [names[k] for k in first], "y": [names[k] for k in second], "part": part.tolist()}
    table |= {"truth": truth.tolist(), "said": said.tolist()}
    found = recombine.evaluate(table, factors=["x", "y"], target="truth", prediction="said", split="part")
    page = html.unescape(draw(found.record()))
    assert found.verdict in page
    assert all(reason in page for reason in found.reasons)
    assert all(one.combination["x"] in page for one in found.worst)


@pytest.mark.browser
@pytest.mark.parametrize("name", CASES)
def test_the_page_comes_alive_in_a_browser(pages, name, tmp_path: Path):
    tag = opened(pages[name], tmp_path)
    assert 'data-ready="true"' in tag
    assert 'data-errors=""' in tag


PROBE = """<script>setTimeout(() => {
  const byId = (id) => document.getElementById(id), out = {}, canvas = byId("canvas"), search = byId("search");
  const key = (where, name) => where.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
  const digest = (text) => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % 4294967291, 7);
  MapView.prototype.redraw = function () { this.draw(); };
  search.value = "Leather"; search.dispatchEvent(new Event("input")); key(search, "Enter");
  canvas.focus(); key(canvas, "ArrowRight"); key(canvas, "Enter");
  out.pinned = byId("pinned").textContent;
  const picture = (one) => { one.click(); return digest(canvas.toDataURL()); };
  out.pictures = [...document.querySelectorAll("[name=order]")].map(picture);
  document.querySelectorAll("[data-download]").forEach((one) => one.click());
  const table = document.querySelector(".sortable");
  [...table.tHead.rows[0].cells].at(-1).querySelector("button").click();
  out.lowest = Number([...table.tBodies[0].rows[0].cells].at(-1).dataset.number);
  out.worst = byId("ramp-worst").textContent;
  out.wide = document.documentElement.scrollWidth <= innerWidth;
  document.documentElement.dataset.probe = JSON.stringify(out);
}, 1000)</script></body>"""


@pytest.mark.browser
def test_searching_pinning_ordering_and_sorting_work(pages, tmp_path: Path):
    found = probed(pages["shoes"], PROBE, tmp_path)
    assert re.match(
        r"Pinned: material=Leather, type=\S+\. (Tested: accuracy \d+ % on \d+ rows\.|Untested: nothing)",
        found["pinned"],
    )
    assert "een together in training." in found["pinned"]
    assert len(set(found["pictures"])) == 3
    assert found["lowest"] == 0.7
    assert found["worst"].endswith(" %")
    assert found["wide"]
