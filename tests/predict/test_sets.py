"""Predictions where a factor's value is a set: against sums over conjunctions written out, and from table to page."""

import json
import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError, SettingError, TableError
from recombine.numerics.predictive_intervals import shared_effect
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.diagnosis import Diagnosis
from recombine.verbs.predict.holdout_record import KERNEL, block_out, fold, one_at_a_time
from recombine.verbs.predict.kernel.dense_kernel import Similarity
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.learner import FittedLearner, learn
from recombine.verbs.predict.simple_rules import additive_rule
from tests.audit.test_set_worlds import World
from tests.commands import run_command

SEEDS = st.integers(0, 10**6)


def conjunctions(world: World, combination: tuple) -> set:
    """Every conjunction of a combination's values and elements, as a set of what it holds."""
    parts = [(k, place) for k in range(len(world.sets)) for place in combination[k]]
    parts += [(len(world.sets) + k, combination[len(world.sets) + k]) for k in range(len(world.ordinary))]
    return {frozenset(some) for size in range(len(parts) + 1) for some in combinations(parts, size)}


def kernel(world: World, orders: tuple[float, ...], one: list[tuple], other: list[tuple]) -> np.ndarray:
    """The inner product of all conjunctions by their weights, and of the combination itself: written out."""
    lower = [*orders[:-1], 0.0, *[0.0] * 9]
    held = [conjunctions(world, row) for row in one], [conjunctions(world, row) for row in other]
    return np.array(
        [[math.fsum(lower[len(shared)] for shared in mine & theirs) for theirs in held[1]] for mine in held[0]]
    ) + orders[-1] * np.array([[left == right for right in other] for left in one])


def learner_of(world: World, *, salience: str = "relu:2", ridge: float = 0.1) -> FittedLearner:
    """A learner of a small world."""
    support = world.support
    return learn(support, answers(support), resolve(salience, support), loss="squared", ridge=ridge)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_kernel_over_sets_is_the_inner_product_of_their_conjunctions(seed) -> None:
    world = World(seed)
    orders = tuple(np.random.default_rng(seed).random(world.support.space.parts + 1).tolist())
    similarity = Similarity.by_order((*orders[:-1], 0.0), world.support.space.effects)
    asked = world.space[:: max(len(world.space) // 20, 1)]
    codes = world.codes(asked)
    np.testing.assert_allclose(
        similarity.between(codes, codes) + orders[-1] * np.eye(len(codes)), kernel(world, orders, asked, asked)
    )
    np.testing.assert_allclose(similarity.own(codes) + orders[-1], np.diag(kernel(world, orders, asked, asked)))


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_predictions_and_their_variances_are_those_of_the_kernel_written_out(seed) -> None:
    world = World(seed)
    learner = learner_of(world)
    orders = learner.salience.weights.orders
    asked = world.space[:: max(len(world.space) // 20, 1)]
    codes = world.codes(asked)
    whole = kernel(world, orders, world.seen, world.seen) + 0.1 * np.eye(len(world.seen))
    between = kernel(world, orders, asked, world.seen)
    values = learner.answers.values
    np.testing.assert_allclose(learner.fitted.scores(codes), between @ np.linalg.solve(whole, values), atol=1e-6)
    own = np.diag(kernel(world, orders, asked, asked))
    left = own - np.einsum("ij,ji->i", between, np.linalg.solve(whole, between.T))
    np.testing.assert_allclose(learner.uncertainty.of(codes)[0], left, atol=1e-8)
    forgets = (*orders[:-1], 0.0)
    lower = kernel(world, forgets, world.seen, world.seen) + 0.1 * np.eye(len(world.seen))
    unleaked = kernel(world, forgets, asked, world.seen) @ np.linalg.solve(lower, values)
    np.testing.assert_allclose(learner.unleaked.scores(codes), unleaked, atol=1e-5)
    added = learner.fitted.constant + np.sum(learner.fitted.by_order(codes), axis=0)
    np.testing.assert_allclose(added, learner.fitted.scores(codes), atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_what_is_held_out_is_what_the_others_say(seed) -> None:
    world = World(seed)
    if len(world.seen) < 4:
        return
    learner = learner_of(world)
    orders = learner.salience.weights.orders
    tried = one_at_a_time(learner)
    whole = kernel(world, orders, world.seen, world.seen)
    for place in range(len(world.seen)):
        rest = [row for row in range(len(world.seen)) if row != place]
        among = whole[np.ix_(rest, rest)] + 0.1 * np.eye(len(rest))
        said = whole[place, rest] @ np.linalg.solve(among, learner.answers.values[rest])
        np.testing.assert_allclose(tried.said[KERNEL][place], said, atol=1e-6)
        left = learner.support.subset(np.array(rest))
        rung = Diagnosis(
            learn(left, answers(left), learner.salience, loss="squared", ridge=0.1),
            learner.support.codes[place : place + 1],
            np.full(1, np.nan),
        ).rungs[0]
        assert tried.rungs[place] == rung
        if rung == "determined":
            added = additive_rule(left, answers(left), learner.support.codes[place : place + 1])
            np.testing.assert_allclose(tried.said["additive"][place], added[0], atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.booleans())
def test_a_block_held_out_at_once_is_one_that_was_taught_without(seed, free) -> None:
    world = World(seed)
    if len(world.seen) < 5:
        return
    orders = [math.inf if free else 0.3, *[1.0, 0.4, 0.2, 0.1, 0.1, *[0.1] * 9][: world.support.space.parts]]
    salience = Salience.by_order(orders)
    block = np.arange(0, len(world.seen), 3)
    own = answers(world.support)
    learner = learn(world.support, own, salience.over_sets(), loss="squared", ridge=0.05)
    rest = np.setdiff1d(np.arange(len(world.seen)), block)
    found, taught = block_out(learner, block), fold(learner, learner.salience, rest, block, rules=False)
    np.testing.assert_allclose(found.said[KERNEL], taught.said[KERNEL], atol=1e-6)
    np.testing.assert_allclose(found.doubt, taught.doubt, atol=1e-6)
    assert found.rungs.tolist() == taught.rungs.tolist()


@settings(max_examples=6, deadline=None)
@given(SEEDS, st.booleans())
def test_both_orders_of_a_pair_get_one_forecast(seed, lines) -> None:
    rng = np.random.default_rng(seed)
    drugs = [f"D{place:02d}" for place in range(7)]
    pairs = [pair for pair in combinations(range(7), 2) if rng.random() < 0.7][:14]
    flips = rng.random(len(pairs)) < 0.5
    ordered = [pair[::-1] if flip else pair for pair, flip in zip(pairs, flips, strict=True)]
    table = {name: [drugs[pair[k]] for pair in ordered] for k, name in enumerate(("first", "second"))}
    table |= {"y": rng.normal(size=len(pairs)).tolist()}
    if lines:
        table |= {"line": rng.choice(["K562", "RPE1"], len(pairs)).tolist()}
        table["line"][:2] = ["K562", "RPE1"]
    how = {"factors": ["line"] if lines else None, "target": "y", "salience": "relu:2", "backtest": False}
    found = recombine.predict(table, sets={"drugs": ["first", "second"]}, **how)
    turned = table | {"first": table["second"], "second": table["first"]}
    again = recombine.predict(turned, sets={"drugs": ["second", "first"]}, **how)
    known = sorted({*table["first"], *table["second"]})
    asked = [(one, other) for one in known for other in known if one < other]
    both = [[("K562", pair) if lines else (pair,) for pair in order] for order in (asked, [p[::-1] for p in asked])]
    told = [found.explain(both[0]), found.explain(both[1]), again.explain(both[1])]
    for column in ("prediction", "low", "high"):
        for other in told[1:]:
            np.testing.assert_allclose(told[0][column].to_numpy(), other[column].to_numpy(), atol=1e-8)


def drug_table(seed: int = 0) -> dict[str, list]:
    """Twenty-four drugs given in pairs to five cell lines, each pair in either order: 492 of 1,380 measured."""
    rng = np.random.default_rng(seed)
    effect, level = rng.normal(0, 5, 24), rng.normal(0, 3, 5)
    every = [(pair, line) for pair in combinations(range(24), 2) for line in range(5)]
    rows = []
    for place in rng.permutation(len(every))[:492]:
        pair, line = every[place]
        first, second = pair if rng.random() < 0.5 else pair[::-1]
        answer = level[line] + effect[first] + effect[second] + 2 * rng.normal()
        rows.append((f"D{first + 1:02d}", f"D{second + 1:02d}", f"L{line + 1}", answer))
    names = ("Drug1_ID", "Drug2_ID", "Cell_Line_ID", "Y")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def test_the_drug_table_has_888_unseen_combinations_and_one_forecast_for_each() -> None:
    table = drug_table()
    columns = recombine.audit(table, factors=["Cell_Line_ID", "Drug1_ID", "Drug2_ID"], target="Y")
    assert columns.counts.unseen == 24 * 24 * 5 - 492 == 2_388
    how = {"factors": ["Cell_Line_ID"], "sets": {"drugs": ["Drug1_ID", "Drug2_ID"]}, "target": "Y"}
    assert recombine.audit(table, **how).counts.unseen == math.comb(24, 2) * 5 - 492 == 888
    found = recombine.predict(table, **how, model="relu:2", backtest=False)
    assert found.table.num_rows == 1_380
    assert sum(found.counts.values()) - found.counts["seen"] == 888
    either = found.explain([("L1", ("D03", "D07")), ("L1", ("D07", "D03")), ("L1", "D07 + D03")])
    assert all(np.ptp(either[name].to_numpy()) < 1e-9 for name in ("prediction", "low", "high"))
    assert len(set(either["verdict"].to_pylist())) == 1


def screen(*, noise: float = 0.05, seed: int = 0) -> dict[str, list]:
    """Ten genes alone and in pairs, whose effects add up, each condition twice."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=10)
    given = [(), *((gene,) for gene in range(9)), *list(combinations(range(10), 2))[::-1][:30]]
    rows = [one for one in given for _ in range(2)]
    written = ["+".join(f"G{gene}" for gene in one) or "ctrl" for one in rows]
    return {"given": written, "y": [float(effect[list(one)].sum() + noise * rng.normal()) for one in rows]}


HOW = {"sets": {"genes": "given:+"}, "target": "y"}


def test_a_forecast_of_sets_is_tested_told_and_saved(tmp_path) -> None:
    table = screen()
    rest = list(combinations(range(10), 2))[::-1][30:]
    truth = {"given": [f"G{a}+G{b}" for a, b in rest], "y": [0.5] * len(rest)}
    found = recombine.predict(table, **HOW)
    assert found.expected.value > 0.9
    assert {method.name for method in found.backtest.methods} == {"kernel", "additive", "nearest seen", "mean"}
    assert found.counts["seen"] + sum(found.counts[name] for name in found.counts if name != "seen") == 56
    assert "single elements" in found.reasons[0]
    assert not found.slope.needed
    assert found.table["genes"].type == pa.list_(pa.string())
    assert all(value == sorted(value) for value in found.table["genes"].to_pylist())
    known = recombine.predict(table, **HOW, truth=truth)
    assert known.known.known == 15
    known.save(tmp_path / "known")
    again = recombine.load(tmp_path / "known")
    asked = [("G0+G1",), (["G9", "G3"],), ((),), ("G0 + G1 + G2",), ("G0+new",)]
    told = known.explain(asked)
    assert told.equals(again.explain(asked))
    assert told["seen"].to_pylist() == [False, True, True, False, False]
    assert told["rung"].to_pylist()[-1] == "novel"
    assert again.table.equals(known.table)
    page = found.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('"factor":"genes"') == 2  # elements on both sides
    assert json.dumps(found.record().data)
    shown = found.shown_record()
    assert shown.tables["cells"].num_rows == 100


def test_a_larger_set_than_any_that_was_read_is_less_certain() -> None:
    found = recombine.predict(screen(), **HOW, salience="relu:2", backtest=False)
    told = found.explain([("G0 + G1",), ("G0 + G1 + G2",), ("G0 + G1 + G2 + G3",)])["variance"].to_pylist()
    assert told == sorted(told)


def test_a_set_that_was_never_seen_is_held_out_in_all_cell_lines() -> None:
    """Held out in one line alone, its other lines would tell: so whole sets are held out, as the unseen ones are."""
    rng = np.random.default_rng(0)
    own = {pair: rng.normal() for pair in combinations(range(8), 2)}  # nothing but what each pair does of its own
    rows = [(pair, line) for pair in list(own)[:20] for line in ("K562", "RPE1", "HeLa")]
    table = {
        "given": ["+".join(f"G{gene}" for gene in pair) for pair, _ in rows],
        "line": [line for _, line in rows],
        "y": [own[pair] + 0.01 * rng.normal() for pair, _ in rows],
    }
    found = recombine.predict(
        table, factors=["line"], sets={"genes": "given:+"}, target="y", salience="order:0,1,.5,.2"
    )
    alone = next(method for method in found.backtest.methods if method.name == KERNEL)
    assert alone.score < 0.3 * np.std(table["y"])  # told by the other lines
    assert found.held_out.abstains or found.held_out.value < 0.5  # and not by other sets


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_errors_that_an_element_shares_widen_an_interval_by_all_pairs_that_share_one(seed) -> None:
    world = World(seed)
    apart = np.random.default_rng(seed).normal(size=len(world.seen))
    elements = world.support.space.effects.elements(world.support.codes)
    held = [{(k, place) for k in range(len(world.sets)) for place in row[k]} for row in world.seen]
    pairs = [(i, j) for i in range(len(held)) for j in range(len(held)) if i == j or held[i] & held[j]]
    total = sum(apart[i] * apart[j] for i, j in pairs) / np.square(apart).sum()
    assert shared_effect(apart, elements) == pytest.approx(max(total, 1.0))


def test_labels_of_sets_are_told_with_the_squared_loss() -> None:
    table = screen(noise=0.0)
    table["y"] = ["high" if value > 0 else "low" for value in table["y"]]
    found = recombine.predict(table, **HOW)
    assert found.learner.loss == "squared"
    assert any("over sets the squared loss stands in" in reason.lower() for reason in found.reasons)
    assert found.expected.score == "accuracy"


def test_unseen_sets_are_drawn_where_there_are_too_many_to_list() -> None:
    names = [f"e{place}" for place in range(600)]
    lists = [names[place : place + 3] for place in range(0, 600, 2)] + [[name] for name in names[:50]]
    table = {"tags": lists, "y": np.random.default_rng(0).normal(size=len(lists)).tolist()}
    found = recombine.predict(table, sets={"tags": "tags"}, target="y", salience="relu:2", backtest=False)
    assert found.sampled
    assert found.space == sum(math.comb(600, size) for size in (1, 2, 3))
    assert found.table.num_rows <= 10_000
    assert any("drawn equally of each size" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"salience": "fit"}, "not yet for elements"),
        ({"fit": recombine.FitSettings("margin")}, "squared loss alone"),
        ({"salience": "order:0,1"}, "weights"),
        ({"salience": "order:0,1,0"}, "add a ridge"),
        ({"salience": "order:0,-1,2"}, "no weight may be negative"),
        ({"salience": Salience.by_set({("a",): 1.0}, names=["a", "b"])}, "more than others of their size"),
        ({"examples": recombine.Examples("y")}, "beside a factor whose value is a set"),
    ],
)
def test_what_is_not_known_of_sets_is_refused_in_words(how, said) -> None:
    table = screen(noise=0.0)
    if isinstance(how.get("fit"), recombine.FitSettings):
        table["y"] = ["high" if value > 0 else "low" for value in table["y"]]
    with pytest.raises(RecombineError) as refused:
        recombine.predict(table, **HOW, **how)
    assert said in str(refused.value)


def test_sets_that_are_too_large_or_too_many_are_refused_in_words() -> None:
    wide = {"tags": [[f"e{place}" for place in range(25)], ["e1"], ["e2"]], "y": [1.0, 2.0, 3.0]}
    with pytest.raises(TableError, match="conjunctions of up to 20"):
        recombine.predict(wide, sets={"tags": "tags"}, target="y")
    pairs = list(combinations(range(180), 2))[:15_001]
    many = {"tags": [[f"e{place}" for place in pair] for pair in pairs], "y": [float(len(pairs) % 7)] * len(pairs)}
    many["y"][0] = 1.5
    with pytest.raises(TableError, match="at most 15,000"):
        recombine.predict(many, sets={"tags": "tags"}, target="y")


def test_pulls_of_elements_are_named() -> None:
    table = {"given": ["A", "B", "A+B", "C", "A+C", "D", "ctrl"], "y": [1.0, 1.0, 2.0, 1.0, 2.0, 0.5, 0.0]}
    truth = {"given": ["B+C", "A+D"], "y": [-5.0, 9.0]}
    found = recombine.predict(table, **HOW, truth=truth, salience="relu:2", backtest=False)
    whys = {tuple(one.combination.values()): one.why for one in found.worst}
    assert "genes = B" in whys["B + C",]
    assert "genes = C" in whys["B + C",]


def test_the_command_predicts_sets(tmp_path) -> None:
    table = screen()
    pa.parquet.write_table(pa.table(table), tmp_path / "screen.parquet")
    words = ["predict", "screen.parquet", "--set", "genes=given:+", "-t", "y"]
    done = run_command(tmp_path, *words, "--json", "--out", "saved", "--report", "page.html")
    assert json.loads(done.stdout)["space"] == 56
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--salience fit" not in run_command(tmp_path, *words).stdout
    audited = run_command(tmp_path, "audit", *words[1:]).stdout
    assert "recombine predict screen.parquet --set genes=given:+ -t y" in audited


def test_a_support_of_sets_is_taken_as_it_is() -> None:
    support = recombine.read(screen(), **HOW)
    assert recombine.predict(support, model="relu:1").space == 56
    assert recombine.backtest(support).tested == 40
    with pytest.raises(SettingError, match="was given a Support"):
        recombine.predict(support, **HOW)
