"""Splits and lints of tables whose factor is a set, against GEARS' definition and against counting by hand."""

import csv
import json
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.data.sets import NOTHING
from recombine.verbs.split import manifest
from recombine.verbs.split.coverage_constraints import smallest_cover
from tests.commands import run_command


def screen(seed: int = 0, *, genes: int = 10, singles: int = 8, doubles: int = 20, triples: int = 0) -> dict[str, list]:
    """A screen as GEARS writes it: `ctrl`, `A+ctrl` or `ctrl+A`, `A+B` in either order; each condition three times."""
    rng = np.random.default_rng(seed)
    names = [f"G{place:02d}" for place in range(genes)]
    given = ["ctrl", *(f"{one}+ctrl" if place % 2 else f"ctrl+{one}" for place, one in enumerate(names[:singles]))]
    for size, number in ((2, doubles), (3, triples)):
        every = list(combinations(names, size))
        given += ["+".join(rng.permutation(every[place])) for place in rng.choice(len(every), number, replace=False)]
    rows = [one for one in given for _ in range(3)]
    return {"condition": rows, "y": rng.normal(size=len(rows)).tolist(), "id": list(range(len(rows)))}


def parts(condition: str) -> frozenset[str]:
    return frozenset(part for part in condition.split("+") if part not in NOTHING)


SETS = {"genes": "condition:+"}


def gears_simulation(perturbations: list[str], splitter: recombine.HoldOutElements) -> dict[str, set[frozenset[str]]]:
    """`DataSplitter.get_simulation_split` of GEARS line by line, but for where its random numbers come from."""
    genes = sorted({gene for one in perturbations for gene in parts(one)})
    drawn = set(splitter.rng(0, "elements").choice(genes, int(len(genes) * splitter.seen_elements), replace=False))
    every = sorted({parts(one) for one in perturbations}, key=lambda one: (len(one), sorted(one)))
    singles, combos = ([one for one in every if size(one)] for size in (lambda x: len(x) == 1, lambda x: len(x) > 1))
    train = {frozenset()} | {one for one in singles if one & drawn}
    both = [one for one in combos if len(one & drawn) == len(one)]
    kept = splitter.rng(0, "sets").choice(len(both), int(len(both) * splitter.trained_sets), replace=False)
    train |= {both[place] for place in kept}
    found = {"train": train, "unseen_single": {one for one in singles if not one & drawn}}
    for one in combos:
        if one not in train:
            name = f"combo{'' if len(one) == 2 else len(one)}_seen{len(one & drawn)}"
            found.setdefault(name, set()).add(one)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_simulation_split_keeps_the_definition_of_gears(seed) -> None:
    table = screen(seed, singles=4 + seed % 7, triples=seed % 3)
    splitter = recombine.HoldOutElements(sets=SETS, random_state=seed, trained_sets=0.4 + 0.02 * seed)
    rows = splitter.rows(table)
    named: dict[str, set[frozenset[str]]] = {}
    for place, name in enumerate(splitter.assignment(rows.support).rungs):
        named.setdefault(name or "train", set()).add(frozenset(rows.support.combination(place)["genes"]))
    expected = gears_simulation(table["condition"], splitter)
    assert named == {name: sets for name, sets in expected.items() if sets}
    train, test = next(splitter.split(table))
    assert {parts(table["condition"][row]) for row in train} == expected["train"]
    assert len(train) + len(test) == len(table["condition"])


def test_a_share_of_the_elements_is_drawn_and_of_the_known_sets_trained() -> None:
    table = screen(genes=12, singles=12, doubles=60)
    splitter = recombine.HoldOutElements(sets=SETS, seen_elements=0.5, trained_sets=0.4)
    sides = splitter.assignment(splitter.rows(table).support)
    assert sum(name == "unseen_single" for name in sides.rungs) == 6  # all were measured alone, so half of them
    pairs = [name for name in sides.rungs if name == "combo_seen2"]
    trained = [one for one, name in zip(splitter.rows(table).support.codes, sides.rungs, strict=True) if not name]
    known = len(pairs) + len(trained) - 1 - 6
    assert len(trained) - 1 - 6 == int(known * 0.4)


def test_an_element_drawn_as_seen_but_never_measured_is_told(tmp_path) -> None:
    """Of genes without a single, a pair of two drawn ones may hold one that is in no training row."""
    told = []
    for seed in range(10):
        table = screen(seed, genes=14, singles=0, doubles=14)
        splitter = recombine.HoldOutElements(sets=SETS, random_state=seed)
        made = recombine.split(table, by=splitter, out=tmp_path / f"{seed}.parquet")
        trained = [
            parts(one) for one, side in zip(table["condition"], _sides(tmp_path, seed), strict=True) if side == "train"
        ]
        measured = frozenset().union(*trained)
        both = {
            parts(one) for one, side in zip(table["condition"], _sides(tmp_path, seed), strict=True) if side != "train"
        }
        rungs = {rung.name: rung for rung in made.rungs}
        hollow = sum(1 for one in both if made.side((sorted(one),)) == "test" and not one <= measured)
        assert hollow == sum(rung.one_never_seen for rung in made.rungs)
        lost = rungs["combo_seen2"].one_never_seen if "combo_seen2" in rungs else 0
        told.append(bool(lost))
        assert any("never measured" in reason for reason in made.reasons) == bool(lost)
    assert any(told)


def _sides(folder, seed):
    return pq.read_table(folder / f"{seed}.parquet")["split_rung"].to_pylist()


@pytest.mark.parametrize("guarantee", ["values", "determined"])
@pytest.mark.parametrize("seed", range(6))
def test_whole_sets_are_held_out_and_every_element_stays(seed, guarantee) -> None:
    table = screen(seed)
    splitter = recombine.HoldOutCombinations(sets=SETS, guarantee=guarantee, random_state=seed, n_splits=2)
    for train, test in splitter.split(table):
        left, right = ({parts(table["condition"][row]) for row in side} for side in (train, test))
        assert not left & right
        assert frozenset().union(*right) <= frozenset().union(*left)
        if guarantee == "determined":
            kept = {name: [table[name][row] for row in train] for name in table}
            found = recombine.audit(kept, sets=SETS)
            asked = found.explain([(sorted(one),) for one in right])["rung"].to_pylist()
            assert set(asked) == {"determined"}


@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_cover_of_elements_equals_brute_force(seed) -> None:
    table = screen(seed, genes=6, singles=2, doubles=5, triples=1)
    support = recombine.read(table, sets=SETS)
    sets = [frozenset(support.combination(place)["genes"]) for place in range(len(support))]
    genes = frozenset().union(*sets)
    fewest = next(
        size
        for size in range(len(sets) + 1)
        if any(frozenset().union(*some) == genes for some in combinations(sets, size))
    )
    kept = smallest_cover(support, np.arange(len(support)))
    assert int(kept.mask.sum()) == fewest
    assert kept.proven


def test_folds_leave_every_element_in_training() -> None:
    table = screen(doubles=30)
    splitter = recombine.CombinationKFold(sets=SETS, n_splits=4, guarantee="values")
    seen = []
    for train, test in splitter.split(table):
        left, right = ({parts(table["condition"][row]) for row in side} for side in (train, test))
        assert frozenset().union(*right) <= frozenset().union(*left)
        seen += right
    assert len(seen) == len(set(seen)) == len({parts(one) for one in table["condition"]})


def test_a_set_is_written_beside_other_factors_and_checked_by_its_manifest(tmp_path) -> None:
    table = screen() | {"line": ["K562", "RPE1", "K562"] * 29, "batch": [1, 2, 3] * 29}
    made = recombine.split(table, factors=["line"], sets=SETS, out=tmp_path / "held.csv", target="batch")
    read = manifest.read(tmp_path / "held.split.json")
    assert read.factors == ("line", "genes")
    assert manifest.difference(read) == ""
    assert manifest.lint_again(read).grade == "sound"
    saved = recombine.load(made.save(tmp_path / "saved"))
    assert saved.side(("K562", ["G01", "ctrl"])) == made.side(("K562", ("G01",))) is not None
    assert saved.record().to_json()["digest"] == made.digest
    with pytest.raises(SettingError, match="stand in an order"):
        recombine.split(table, factors=["line"], sets=SETS, by=recombine.Corner(at=1), out=tmp_path / "no.csv")
    with pytest.raises(SettingError, match="one factor whose value is a set"):
        recombine.split(table, factors=["line", "id"], by=recombine.HoldOutElements(), out=tmp_path / "no.csv")


def test_columns_that_can_be_exchanged_and_lists_are_joined_by_their_own_values(tmp_path) -> None:
    lists = [sorted(parts(one)) for one in screen()["condition"]]
    padded = [(*one, "ctrl", None)[:2] for one in lists]
    columns = dict(zip("ab", map(list, zip(*padded, strict=True)), strict=True))
    for name, table, sets in (("l", {"g": lists}, {"genes": "g"}), ("c", columns, {"genes": ["a", "b"]})):
        made = recombine.split(table, sets=sets, out=tmp_path / f"{name}.parquet", seen_share=0)
        side = pq.read_table(tmp_path / f"{name}.parquet")["split"].to_pylist()
        assert side == [made.side((one,)) for one in lists]


def test_lint_takes_a_set_in_another_order_for_the_same_set() -> None:
    train = {"condition": ["A+B", "A", "B", "C+A", "ctrl"]}
    found = recombine.lint(train=train, test={"condition": ["B+A", "C+B", "D+A", "ctrl+D"]}, sets=SETS)
    assert found["combinations"].culprits == 1
    assert "(genes=A + B)" in found["combinations"].sentence
    assert found["values"].sentence.startswith("1 element never appears in training: genes=D (2 test rows in D; A + D)")
    assert "all seen alone 1, seen with others only 1 and one never seen 2" in found["determined"].sentence


def test_the_commands_split_and_lint_sets(tmp_path) -> None:
    table = screen()
    with (tmp_path / "screen.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    held = tmp_path / "held.parquet"
    asked = ["split", str(tmp_path / "screen.csv"), "--set", "genes=condition:+"]
    made = run_command(tmp_path, *asked, "--by", "simulation", "--seen-elements", "0.7", "--out", str(held))
    assert made.returncode == 0
    assert "unseen_single" in made.stdout
    assert "--set genes=condition:+" in made.stdout
    found = run_command(tmp_path, "lint", str(held), "--set", "genes=condition:+", "--expect", "rows", "--json")
    assert json.loads(found.stdout)["grade"] == "sound"
    assert "split_rung" in pq.read_schema(held).names
