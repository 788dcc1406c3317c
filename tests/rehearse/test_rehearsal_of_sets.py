"""A rehearsal where a factor's value is a set: difficulty by elements, against counts by hand, and what follows."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.predict.answers import answers
from recombine.verbs.rehearse.difficulty import difficulty
from recombine.verbs.rehearse.holdouts import sparable
from tests.audit.test_set_worlds import World
from tests.commands import run_command

HOW = {"sets": {"genes": "given:+"}, "target": "y"}


def screen(*, alone: int = 12, seed: int = 0) -> dict[str, list]:
    """Twelve genes, some alone and forty in pairs, whose effects add up."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=12)
    pairs = list(combinations(range(12), 2))
    given = [(), *((gene,) for gene in range(alone)), *(pairs[place] for place in rng.permutation(len(pairs))[:40])]
    written = ["+".join(f"G{gene}" for gene in one) or "ctrl" for one in given]
    return {"given": written, "y": [float(effect[list(one)].sum() + 0.05 * rng.normal()) for one in given]}


def parts(world: World, row: tuple) -> set:
    """The values and elements of a combination."""
    held = {(k, place) for k in range(len(world.sets)) for place in row[k]}
    return held | {(len(world.sets) + k, row[len(world.sets) + k]) for k in range(len(world.ordinary))}


@pytest.mark.parametrize("seed", range(60))
def test_difficulty_is_what_counting_by_hand_gives(seed) -> None:
    world = World(seed)
    seen = [parts(world, row) for row in world.seen]
    known = set().union(*seen)
    asked = [row for row in world.space if parts(world, row) <= known][:30]
    if len(world.seen) < 3 or not asked:
        return
    found = difficulty(world.support, answers(world.support), world.codes(asked))
    values = world.support.target.mean
    spread = values.std() or 1.0
    for place, row in enumerate(asked):
        mine = parts(world, row)
        shared = [sum(part in other for other in seen) for part in mine] or [len(seen)]
        assert found.column("fewest")[place] == pytest.approx(np.log2(1 + min(shared)))
        assert found.column("most")[place] == pytest.approx(np.log2(1 + max(shared)))
        means = [np.mean([value for value, other in zip(values, seen, strict=True) if part in other]) for part in mine]
        widest = np.ptp(means) / spread if means else 0.0
        assert found.column("conflict")[place] == pytest.approx(min(widest, 3.0), abs=1e-9)
        alone = all(
            any(other[k] == (element,) for other in world.seen) for k in range(len(world.sets)) for element in row[k]
        )
        assert found.column("others")[place] == float(not alone)
        if "strange" in found.names:
            never = [pair for pair in combinations(mine, 2) if not any(set(pair) <= other for other in seen)]
            assert found.column("strange")[place] == pytest.approx(np.log2(1 + len(never)))


@pytest.mark.parametrize("seed", range(20))
def test_no_element_loses_its_last_combination(seed) -> None:
    world = World(seed)
    rows = world.support.space.effects.rows(world.support.codes)
    taken = sparable(rows, np.random.default_rng(seed).permutation(len(world.seen)), len(world.seen))
    left = set().union(*(parts(world, row) for place, row in enumerate(world.seen) if place not in taken), set())
    assert left == set().union(*(parts(world, row) for row in world.seen))


def test_a_rehearsal_of_sets_finds_what_adds_up() -> None:
    found = recombine.rehearse(screen(), "additive", **HOW)
    assert found.expected.value > 0.95
    assert found.unseen == 1 + 12 + 66 - 53
    assert "others" in {gap.name for gap in found.gaps}
    assert found.table["genes"].type == pa.list_(pa.string())
    assert {"mean", "additive", "nearest seen"} <= set(found.simple)
    assert any("of sets no sign of that is looked for" in reason for reason in found.reasons)


def test_a_rehearsal_leads_a_prediction_of_the_same_sets() -> None:
    support = recombine.read(screen(alone=4), **HOW)
    rehearsal = recombine.rehearse(support, "relu:2")
    both = recombine.predict(support, model="relu:2", backtest=False).with_rehearsal(rehearsal)
    assert both.rehearsed.leads
    assert both.expected.basis == "rehearsal"


def test_true_answers_of_unseen_sets_are_taken() -> None:
    table = screen()
    seen = set(table["given"])
    rest = [f"G{a}+G{b}" for a, b in combinations(range(12), 2) if f"G{a}+G{b}" not in seen]
    truth = {"given": [*rest, "G1+new"], "y": [0.0] * (len(rest) + 1)}
    assert recombine.rehearse(table, "additive", truth=truth, **HOW).unseen == len(rest)


def test_learners_on_rows_are_refused_in_words() -> None:
    with pytest.raises(SettingError, match="beside a factor whose value is a set"):
        recombine.rehearse(screen(), "python train.py {train} {test} {out}", **HOW)


def test_the_command_rehearses_sets(tmp_path) -> None:
    pa.parquet.write_table(pa.table(screen()), tmp_path / "screen.parquet")
    words = ["rehearse", "screen.parquet", "--set", "genes=given:+", "-t", "y", "-l", "additive"]
    done = run_command(tmp_path, *words, "--json", "--report", "page.html")
    assert json.loads(done.stdout)["expected"]["value"] > 0.95
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
