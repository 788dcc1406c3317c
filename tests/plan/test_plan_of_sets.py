"""Plans over sets equal brute force: the smallest size, the cheapest of that size, and what follows after each line."""

import json
import re
import shlex
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.audit.set_determinacy import set_determinacy
from recombine.verbs.plan import set_basis
from tests.commands import run_command


def small_world(seed: int) -> tuple[dict[str, list], dict]:
    """A few sets of four or five elements, beside an ordinary factor in every second world."""
    rng = np.random.default_rng(seed)
    elements = "ABCD"[: int(rng.integers(3, 5))]
    least, most = [(0, 2), (1, 2), (2, 2), (0, 1), (2, 3)][seed % 5]
    every = [list(one) for size in range(least, most + 1) for one in combinations(elements, size)]
    chosen = rng.choice(len(every), min(int(rng.integers(2, 5)), len(every)), replace=False)
    table = {"given": [every[place] for place in chosen]}
    asked = {
        "sets": {"drugs": {"columns": "given", "smallest": least, "largest": most}},
        "domain": {"drugs": list(elements)},
    }
    if seed % 2:
        table["line"] = [["K", "L"][int(one)] for one in rng.integers(0, 2, len(chosen))]
        table["line"][:2] = ["K", "L"]
        asked |= {"factors": ["line"]}
    return table, asked


def every_row(support: recombine.Support) -> tuple[list[dict], np.ndarray]:
    """All combinations, and what each adds up, written out."""
    axes = []
    for factor in support.space.factors:
        if factor.sets is None:
            axes.append([(value, [(factor.name, value)]) for value in factor.values])
        else:
            sizes = range(factor.sets.smallest, factor.sets.largest + 1)
            subsets = [one for size in sizes for one in combinations(factor.sets.elements, size)]
            axes.append([(one, [(factor.name, part) for part in one]) for one in subsets])
    names = sorted({part for axis in axes for _, parts in axis for part in parts})
    found, rows = [], []
    for choice in product(*axes):
        found.append(dict(zip(support.space.names, (value for value, _ in choice), strict=True)))
        held = {part for _, parts in choice for part in parts}
        rows.append([1.0, *(name in held for name in names)])
    return found, np.array(rows, dtype=float)


def followers(rows: np.ndarray, seen: list[int]) -> int:
    """How many rows lie in the span of some of them."""
    rank = np.linalg.matrix_rank(rows[seen])
    return sum(np.linalg.matrix_rank(rows[[*seen, place]]) == rank for place in range(len(rows)))


def places(support: recombine.Support, found: list[dict], combos) -> list[int]:
    return [found.index({name: tuple(v) if isinstance(v, list) else v for name, v in one.items()}) for one in combos]


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_is_the_smallest_and_cheapest_of_all(seed) -> None:
    table, asked = small_world(seed)
    support = recombine.read(table, **asked)
    found, rows = every_row(support)
    seen = places(support, found, [support.combination(place) for place in range(len(support))])
    rng = np.random.default_rng(seed)
    prices = {one: float(price) for one, price in zip("ABCDE", rng.integers(1, 9, 5), strict=True)}
    costs = [{"drugs": one, "cost": price} for one, price in prices.items() if one in asked["domain"]["drugs"]]
    for given in (None, costs):
        plan = recombine.plan(support, costs=given)
        size = np.linalg.matrix_rank(rows) - np.linalg.matrix_rank(rows[seen])
        assert plan.table.num_rows == size
        assert plan.needed.exact
        cost = [1.0 if given is None or not one["drugs"] else sum(prices[e] for e in one["drugs"]) for one in found]
        unseen = [place for place in range(len(rows)) if place not in seen]
        cheap = sorted(combinations(unseen, size), key=lambda some: sum(cost[place] for place in some))
        whole = np.linalg.matrix_rank(rows)
        best = next(some for some in cheap if np.linalg.matrix_rank(rows[[*seen, *some]]) == whole)
        assert plan.needed.cost == pytest.approx(sum(cost[place] for place in best))
        chosen = places(support, found, [support.decode(row) for row in _codes(support, plan)])
        assert followers(rows, [*seen, *chosen]) == len(rows)
        after = plan.table["after"].to_pylist() if size else []
        assert after == [followers(rows, [*seen, *chosen[: line + 1]]) for line in range(size)]
        assert plan.table["cost"].to_pylist() == [cost[place] for place in chosen]


def _codes(support: recombine.Support, plan: recombine.Plan) -> np.ndarray:
    return support.space.encode([line.combination for line in plan.lines]) if plan.table.num_rows else support.codes[:0]


@pytest.mark.parametrize("seed", range(20))
def test_a_space_too_large_to_list_takes_as_few(seed, monkeypatch) -> None:
    table, asked = small_world(seed)
    listed = recombine.plan(table, **asked)
    monkeypatch.setattr(set_basis, "_LISTED", 0)
    plan = recombine.plan(table, **asked)
    assert (plan.table.num_rows, plan.reached) == (listed.table.num_rows, True)
    assert listed.table.num_rows == 0 or any("too large to list" in reason for reason in plan.reasons)


@pytest.mark.parametrize("seed", range(12))
def test_what_cannot_occur_beside_a_set_is_counted_out(seed) -> None:
    rng = np.random.default_rng(seed)
    every = [list(one) for size in range(3) for one in combinations("ABCD", size)]
    table = {
        "given": [every[place] for place in rng.integers(0, len(every), 7)],
        "line": ["K", "L", *rng.choice(["K", "L"], 5)],
        "dose": ["1", "2", *rng.choice(["1", "2"], 5)],
    }
    pairs = set(zip(table["line"], table["dose"], strict=True))
    never = [dict(zip(("line", "dose"), one, strict=True)) for one in product("KL", "12") if one not in pairs]
    if not never:
        pytest.skip("every line was seen at every dose")
    asked = {"sets": {"drugs": {"columns": "given", "smallest": 0, "largest": 2}}, "domain": {"drugs": list("ABCD")}}
    support = recombine.read(table, factors=["line", "dose"], impossible=never, **asked)
    found, rows = every_row(support)
    seen = places(support, found, [support.combination(place) for place in range(len(support))])
    ruled_out = [any(all(one[k] == v for k, v in rule.items()) for rule in never) for one in found]
    rank = np.linalg.matrix_rank(rows[seen])
    inside = [np.linalg.matrix_rank(rows[[*seen, place]]) == rank for place in range(len(rows))]
    assert set_determinacy(support).count_impossible(support)[0] == sum(
        a and b for a, b in zip(inside, ruled_out, strict=True)
    )
    assert recombine.audit(support).counts.determined == sum(
        a and not b for a, b in zip(inside, ruled_out, strict=True)
    ) - len(support)


def test_an_element_that_cannot_be_had_is_named() -> None:
    table = {"given": ["ctrl", "A+B", "C+D", "C", "A+E"]}
    plan = recombine.plan(table, sets={"drugs": "given:+"}, costs=[{"drugs": one, "cost": ""} for one in "ABE"])
    assert plan.grade == "failing"
    assert plan.blocked is not None
    assert set(plan.blocked.values["drugs"]) <= set("ABDE")
    costs = [{"drugs": "A", "cost": 9}, {"drugs": "A+C", "cost": 2}]
    dear = recombine.plan(table, sets={"drugs": "given:+"}, costs=costs)
    assert dear.needed.cost == 1  # B alone tells A, and E with it
    with pytest.raises(SettingError, match="prices of elements add up"):
        recombine.plan(
            table | {"line": list("KLKLK")},
            factors=["line"],
            sets={"drugs": "given:+"},
            costs=[{"drugs": "A", "line": "K", "cost": 2}],
        )


def test_other_goals_say_that_they_know_no_sets() -> None:
    table = {"given": ["ctrl", "A+B", "C", "C"]}
    for goal in ("pairs", "triples", "variance"):
        with pytest.raises(SettingError, match="not planned for yet"):
            recombine.plan(table, sets={"drugs": "given:+"}, goal=goal)
    with pytest.raises(SettingError, match="a replay"):
        recombine.plan(table, sets={"drugs": "given:+"}, replay=True)
    assert recombine.plan(table, sets={"drugs": "given:+"}, goal="balance").reached


def test_a_plan_of_sets_is_saved_drawn_and_asked_for_by_a_command(tmp_path) -> None:
    table = {"given": ["ctrl", "A+B", "C", "D+E", "C+D"], "y": [0.0, 3.0, 1.0, 2.0, 2.0]}
    plan = recombine.plan(table, sets={"drugs": "given:+"}, target="y")
    again = recombine.load(plan.save(tmp_path / "plan"))
    assert again.lines == plan.lines
    assert again.support == plan.support
    assert "Measure" in plan.page(tmp_path / "plan.html").read_text(encoding="utf-8")
    pa.parquet.write_table(pa.table(table), tmp_path / "table.parquet")
    told = run_command(tmp_path, "plan", "table.parquet", "--set", "drugs=given:+,largest=3", "--json")
    lines = json.loads(told.stdout)["lines"]
    assert [one["combination"]["drugs"] for one in lines] == [["A"]]
    assert json.loads(told.stdout)["space"] == 1 + 5 + 10 + 10


def test_no_command_is_proposed_that_refuses_sets(tmp_path) -> None:
    pa.parquet.write_table(pa.table({"given": ["ctrl", "A", "B", "A+C", "A+D", "C+D", "B+D"]}), tmp_path / "t.parquet")
    asked = ("t.parquet", "--set", "drugs=given:+")
    for verb in ("audit", "plan"):
        said = run_command(tmp_path, verb, *asked).stdout
        steps = re.findall(r"^ +(?:next +)?recombine (.*)$", said, re.MULTILINE)
        assert steps
        for step in steps:
            assert run_command(tmp_path, *shlex.split(step)).returncode in (0, 3, 4)


def _worst_and_mean(seen: list, unseen: list, genes: str) -> tuple[float, float]:
    """The worst and the mean leverage of some sets beside a line, from the normal matrix written out."""
    row = {
        one: np.array([1.0, *(one[1] == line for line in "kr"), *(gene in one[0] for gene in genes)]) for one in seen
    }
    design = np.array(list(row.values()))
    inverse = np.linalg.pinv(design.T @ design, rcond=1e-10)
    asked = np.array(
        [[1.0, *(line == mine for mine in "kr"), *(gene in one for gene in genes)] for one, line in unseen]
    )
    found = np.einsum("ij,jk,ik->i", asked, inverse, asked)
    return float(found.max()), float(found.mean())


@pytest.mark.parametrize("seed", range(4))
def test_each_line_lowers_the_worst_leverage_as_refitting_says(seed) -> None:
    rng = np.random.default_rng(seed)
    genes = "ABCDE"
    space = [(one, line) for size in (0, 1, 2) for one in combinations(genes, size) for line in "kr"]
    seen = [space[place] for place in sorted(rng.choice(len(space), 14, replace=False))] + [
        (("A", "B"), "k"),
        ((), "r"),
    ]
    seen = list(dict.fromkeys(seen))
    table = {"given": [list(one) for one, _ in seen], "line": [line for _, line in seen]}
    sets = {"genes": {"columns": "given", "smallest": 0, "largest": 2}}
    found = recombine.plan(table, factors=["line"], sets=sets, goal="leverage", budget=6)
    assert found.table.num_rows == 6
    started, unseen = False, [one for one in space if one not in seen]
    for line in found.table.to_pylist():
        one = (tuple(line["genes"].split(" + ")) if line["genes"] != "control" else (), line["line"])
        if np.isfinite(line["after"]) and started:
            every = [_worst_and_mean([*seen, it], [x for x in unseen if x != it], genes)[0] for it in unseen]
            assert line["after"] <= min(every) * 1.25  # a dozen candidates are tried, not all
        unseen.remove(one)
        seen.append(one)
        if np.isfinite(line["after"]):
            worst, mean = _worst_and_mean(seen, unseen, genes)
            assert line["after"] == pytest.approx(worst)
            assert not started or line["mean_leverage"] == pytest.approx(mean)
            started = True
    assert started


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beside", [False, True])
def test_sets_that_no_row_held_are_planned_once_each_and_counted_as_refitting_says(seed, *, beside) -> None:
    """With hardly a set seen, a plan adds many that have no code of their own yet."""
    rng = np.random.default_rng(seed)
    genes, lines = "ABCDE", "kr" if beside else "k"
    space = [(line, one) for line in lines for size in (1, 2, 3) for one in combinations(genes, size)]
    seen = [space[place] for place in rng.choice(len(space), 3, replace=False)]
    seen += [(line, ("A",)) for line in lines if (line, ("A",)) not in seen]
    table = {"line": [line for line, _ in seen], "given": [list(one) for _, one in seen]}
    sets = {"genes": {"columns": "given", "smallest": 1, "largest": 3}}
    asked = {"factors": ["line"]} if beside else {}
    table = table if beside else {"given": table["given"]}
    found = recombine.plan(table, sets=sets, domain={"genes": list(genes)}, goal="leverage", budget=12, **asked)
    collected = [(row.get("line", "k"), tuple(row["genes"].split(" + "))) for row in found.table.to_pylist()]
    assert len({*collected, *seen}) == len(collected) + len(seen)
    assert 4 < len(collected) <= 12
    for place, line in enumerate(found.table.to_pylist(), start=1):
        if np.isfinite(line["after"] if line["after"] is not None else np.nan):
            known = [(one, mine) for mine, one in [*seen, *collected[:place]]]
            rest = [(one, mine) for mine, one in space if (mine, one) not in {*seen, *collected[:place]}]
            assert line["after"] == pytest.approx(_worst_and_mean(known, rest, genes)[0])
