"""An audit of a table whose factor is a set: from the table to the sentence, the record and the page."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import recombine
from recombine.base.errors import RecombineError
from recombine.data.set_columns import set_columns
from recombine.verbs.audit.additivity import additive_test
from tests.commands import run_command

GENES = [f"G{place:02d}" for place in range(12)]


def screen(*, singles: int = 8, doubles: int = 14, seed: int = 0) -> dict[str, list]:
    """A screen whose effects add up, each condition three times."""
    rng = np.random.default_rng(seed)
    effect = dict(zip(GENES, rng.normal(size=len(GENES)), strict=True))
    given = [(), *((gene,) for gene in GENES[:singles])]
    while len(given) < 1 + singles + doubles:
        pair = tuple(sorted(rng.choice(GENES, 2, replace=False).tolist()))
        given += [pair] if pair not in given else []
    rows = [one for one in given for _ in range(3)]
    answers = [sum(effect[gene] for gene in one) + 0.01 * rng.normal() for one in rows]
    return {"genes": [list(one) for one in rows], "fitness": answers}


READINGS = {
    "lists": ({"c": [["A", "B"], ["B", "A"], [], ["B"], None, ["C", "C"]]}, "c"),
    "text": ({"c": ["A+B", "B+A", "ctrl", "ctrl+B", None, "C+C"]}, "c:+"),
    "long separator": ({"c": ["A || B", "B || A", "Control", "B || non-targeting", None, "C || C"]}, "c: || "),
    "underscore": ({"c": ["A_B", "B_A", "non-targeting", "B_ctrl", None, "C_C"]}, "c:_"),
    "columns": (
        {"a": ["A", "B", "ctrl", "B", None, "C"], "b": ["B", "A", "control", None, None, "C"]},
        ["a", "b"],
    ),
}


@pytest.mark.parametrize("reading", READINGS)
def test_one_set_is_one_value_however_it_is_written(reading) -> None:
    table, source = READINGS[reading]
    support = recombine.read(table, sets={"given": source})
    (factor,) = support.space.factors
    assert factor.labels == ("control", "B", "C", "A + B")
    assert support.counts.tolist() == [1, 1, 1, 2]
    assert support.left_out == {"given": 1, "(any)": 1, "(named twice)": 1}
    assert support.space.size == 7  # none, one or two of three
    assert support.named_twice == "1 of 6 rows names an element twice, which counts once."


def test_zeros_and_ones_say_which_elements_are_there() -> None:
    table = {"red": [1, 0, 0, 1], "new": [True, False, False, True], "big": [0, 0, 1, None]}
    support = recombine.read(table, sets={"tags": ["red", "new", "big"]})
    assert support.space.factors[0].labels == ("control", "big", "new + red")
    assert support.left_out["tags"] == 1
    numbers = recombine.read({"a": [5, 7, 9], "b": [7, 5, 5]}, sets={"pair": ["a", "b"]})
    assert numbers.space.factors[0].labels == ("5 + 7", "5 + 9")


def test_a_space_of_sets_is_counted_and_never_listed() -> None:
    lists = [[f"e{k}", f"e{k + 1}", f"e{k + 2}"] for k in range(0, 99_999, 3)]
    support = recombine.read({"tags": [*lists, []]}, sets={"tags": "tags"})
    n = 99_999
    assert support.space.size == 1 + n + n * (n - 1) // 2 + n * (n - 1) * (n - 2) // 6


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sets": {"c": "c"}}, "must hold lists"),
        ({"sets": {"c": 3}}, "is read from 3"),
        ({"sets": {"c": "d:+"}}, "no column 'd'"),
        ({"sets": {"c": "c:"}}, "is read from 'c:'"),
        ({"sets": ["c"]}, "sets=['c']"),
        ({"sets": {"c": "c:+"}, "bins": {"c": 3}}, "is a set and has bins"),
        ({"sets": {"c": "c:+"}, "impossible": [{"c": "A"}]}, "its values are sets"),
        ({"sets": {"c": "c:+"}, "domain": {"c": ["B"]}}, "was seen with 'A'"),
        ({"sets": {"c": "c:+"}, "target": "c"}, "both a factor and the target"),
        ({"sets": {"c": "c:-"}}, "' + ' stands between"),
    ],
)
def test_what_cannot_be_read_as_a_set_is_refused_in_words(given, said) -> None:
    with pytest.raises(RecombineError) as refused:
        recombine.read({"c": ["A+B", "A", "A + B"]}, **given)
    assert said in str(refused.value)


def test_an_audit_of_sets_says_what_follows_and_can_be_saved(tmp_path) -> None:
    found = recombine.audit(screen(), sets={"genes": "genes"}, target="fitness")
    (genes,) = found.sets
    assert (genes.elements, genes.alone, [one.possible for one in genes.by_size]) == (12, 8, [1, 12, 66])
    assert found.counts.space == 79
    assert found.counts.seen == 23
    assert genes.all_seen_alone + genes.seen_with_others_only + genes.one_never_seen == 79 - 23
    assert sum(one.determined for one in genes.by_size) == found.counts.seen + found.counts.determined
    assert found.additive.rule("additive").score > 0.99
    assert "Adding up one effect for each element" in found.verdict
    table = found.explain([(["G00", "G01"],), ("G01 + G00",), (("G00", "new"),), ((),)])
    assert table["rung"][0] == table["rung"][1]
    assert table["leverage"][0] == table["leverage"][1]
    assert table["elements"].to_pylist()[2:] == ["one never seen", "all seen alone"]
    found.save(tmp_path / "audit")
    again = recombine.load(tmp_path / "audit")
    assert again.support == found.support
    assert again.sets == found.sets
    assert again.explain([(["G00", "G01"],)]).equals(found.explain([(["G00", "G01"],)]))
    values = pa.parquet.read_table(tmp_path / "audit" / "values.parquet")["value"].to_pylist()
    assert json.loads(values[-1]) == sorted(json.loads(values[-1]))
    assert "genes × genes" in found.page(tmp_path / "audit.html").read_text(encoding="utf-8")


def test_elements_that_never_stand_alone_are_named() -> None:
    table = {"pair": ["A+B", "C+D", "A+B", "C+D"], "y": [1.0, 2.0, 1.5, 2.5]}
    found = recombine.audit(table, sets={"genes": "pair:+"}, target="y")
    assert found.counts.undetermined == 4
    assert "nothing tells the level from the mean effect" in found.verdict
    split = recombine.audit({"pair": ["ctrl", "A+B", "C+D"]}, sets={"genes": "pair:+"})
    assert "only ever given together with others" in split.verdict
    assert any("2 groups of elements were never given across groups" in reason for reason in split.reasons)


def test_a_set_stands_beside_ordinary_factors() -> None:
    table = screen()
    lines = ["K562" if place % 2 else "RPE1" for place in range(len(table["genes"]))]
    found = recombine.audit(table | {"line": lines}, factors=["line"], sets={"genes": "genes"}, target="fitness")
    assert found.support.space.names == ("line", "genes")
    assert found.counts.space == 2 * 79
    assert found.factors[1].values == 12


def test_the_command_reads_sets(tmp_path) -> None:
    table = screen()
    given = {"given": ["+".join(one) or "ctrl" for one in table["genes"]], "fitness": table["fitness"]}
    pa.parquet.write_table(pa.table(given), tmp_path / "screen.parquet")
    words = ["audit", "screen.parquet", "--set", "genes=given:+", "-t", "fitness"]
    done = run_command(tmp_path, *words, "--json", "--report", "page.html")
    assert "12 elements, all seen" in run_command(tmp_path, *words).stdout
    assert json.loads(done.stdout)["counts"]["space"] == 79
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_where_a_set_is_read_from_is_checked() -> None:
    assert set_columns(None) == {}
    assert set_columns({"a": "b:, "})["a"].separator == ", "


@pytest.mark.parametrize("seed", range(3))
def test_sets_beside_another_factor_are_held_out_whole_as_the_unseen_ones_are_missing(seed) -> None:
    rng = np.random.default_rng(seed)
    genes = "ABCDEF"
    sets = [one for size in (0, 1, 2) for one in combinations(genes, size)]
    seen = sets[:7] + [sets[place] for place in 7 + rng.choice(15, 10, replace=False)]
    rows = [(one, line) for one in seen for line in "kr"]
    values = rng.normal(size=len(rows)) + [3 * len(one) for one, _ in rows]
    table = {"given": [list(one) for one, _ in rows], "line": [line for _, line in rows], "y": values}
    found = recombine.audit(table, factors=["line"], sets={"genes": "given"}, target="y")
    assert (found.additive.blocks, found.additive.untested_blocks) == ((("genes",),), ())
    assert found.expected.tested in (len(rows), 0)  # too little evidence tells no score
    support = found.support
    asked = [(line, one) for one in sets if one not in seen for line in "kr"]
    _, losses = additive_test(support, (support.space.encode(asked), np.full(len(asked), 100.0)))
    told = dict(zip(map(tuple, losses.codes.tolist()), losses.of_rule["additive"], strict=True))
    design = np.array([[line == "k", line == "r", *(gene in one for gene in genes)] for one, line in rows], dtype=float)
    for block in seen:
        own = np.array([one == block for one, _ in rows])
        effects = np.linalg.lstsq(design[~own], values[~own], rcond=None)[0]
        codes = support.space.encode([(line, one) for one, line in rows if one == block])
        missed = np.square(design[own] @ effects - values[own])
        assert [told[code] for code in map(tuple, codes.tolist())] == pytest.approx(missed.tolist())
    assert len(told) == len(rows)
