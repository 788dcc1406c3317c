"""Vectors beside factors whose value is a set: every rule against a refit by hand, whatever way sets are written."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.cli.app import app
from recombine.data import vector_reader
from recombine.verbs.audit.vector_test import control_design, control_rules

WIDTH = 3


def world(seed: int, *, lines: bool) -> tuple[list[frozenset[int]], list[int], np.ndarray, np.random.Generator]:
    """Some sets of up to three of five elements, each in one or both of two cell lines, and a vector for each."""
    rng = np.random.default_rng(seed)
    every = [frozenset(one) for size in range(4) for one in combinations(range(5), size)]
    cells = [(one, line) for one in every for line in range(1 + lines)]
    chosen = [cells[k] for k in sorted(rng.choice(len(cells), int(rng.integers(6, 20)), replace=False))]
    if len({one for one, _ in chosen}) < 2 or (lines and len({line for _, line in chosen}) < 2):
        return world(seed + 1, lines=lines)
    return [one for one, _ in chosen], [line for _, line in chosen], rng.normal(size=(len(chosen), WIDTH)), rng


def as_table(sets: list[frozenset[int]], lines: list[int], rng: np.random.Generator, *, line: bool) -> dict[str, Any]:
    text = ["+".join(f"g{k}" for k in rng.permutation(sorted(one))) or "ctrl" for one in sets]
    return {"given": text} | ({"line": [f"L{k}" for k in lines]} if line else {})


def designed(sets: list[frozenset[int]], lines: list[int], *, line: bool) -> np.ndarray:
    """Incidence, and the level: that of each line, or one for all."""
    rows = [[float(k in one) for k in range(5)] for one in sets]
    level = [[float(k == own) for k in range(2)] if line else [1.0] for own in lines]
    return np.array([a + b for a, b in zip(rows, level, strict=True)])


def by_hand(design: np.ndarray, values: np.ndarray, asked: np.ndarray) -> np.ndarray | None:
    """A refit by least squares, None where it leaves the question open."""
    if np.linalg.matrix_rank(np.vstack([design, asked])) > np.linalg.matrix_rank(design):
        return None
    return np.asarray(asked @ np.linalg.lstsq(design, values, rcond=None)[0])


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_least_squares_and_the_textbook_rule_are_refits_by_hand(seed: int, line: bool) -> None:
    sets, lines, values, rng = world(seed, lines=line)
    table, factors = as_table(sets, lines, rng, line=line), ["line"] if line else []
    support = recombine.read(table, factors=factors, sets={"genes": "given:+"}, target=values)
    # the order of the support's combinations, by their labels
    label = {
        ("+".join(f"g{k}" for k in sorted(one)), own): k for k, (one, own) in enumerate(zip(sets, lines, strict=True))
    }
    rows = [support.space.label_row(row) for row in support.codes]
    order = [
        label[row["genes"].replace(" + ", "+").replace("control", ""), int(row.get("line", "L0")[1])] for row in rows
    ]
    design = designed(sets, lines, line=line)
    audit = recombine.audit(support)
    found = audit.vectors
    told = {k: by_hand(np.delete(design, k, 0), np.delete(values, k, 0), design[k]) for k in range(len(sets))}
    testable = [k for k, one in told.items() if one is not None]
    if len(testable) < 2:
        assert found is None
        return
    assert found is not None
    assert (found.tested, found.untestable) == (len(testable), len(sets) - len(testable))
    spread = np.square(values[testable] - values.mean(axis=0)).sum()
    missed = sum(np.square(told[k] - values[k]).sum() for k in testable)
    assert found.score("R²").value == pytest.approx(1 - missed / spread, rel=1e-3, abs=1e-3)  # type: ignore[union-attr]
    place = {(one, own): k for k, (one, own) in enumerate(zip(sets, lines, strict=True))}
    rules = control_design(support, None)
    assert (rules is None) == all(sets)
    for name, said in control_rules(rules, support.vectors.means, support, np.arange(len(support))):  # type: ignore[union-attr]
        if name != "additive":
            continue
        for k, answer in zip(order, said + support.vectors.shift, strict=True):  # type: ignore[union-attr]
            parts = [place.get((frozenset([one]), lines[k])) for one in sorted(sets[k])]
            control = place.get((frozenset(), lines[k]))
            if len(parts) < 2 or None in parts or control is None:
                assert np.isnan(answer).all()
            else:
                by_parts = values[control] + sum(values[one] - values[control] for one in parts)
                np.testing.assert_allclose(answer, by_parts, atol=1e-5)


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_an_evaluation_knows_training_alone_and_one_table_says_what_two_do(seed: int, line: bool) -> None:
    sets, lines, values, rng = world(seed, lines=line)
    table, factors = as_table(sets, lines, rng, line=line), ["line"] if line else []
    held = np.zeros(len(sets), dtype=bool)
    held[rng.choice(len(sets), 3, replace=False)] = True
    said = values + rng.normal(size=values.shape)
    y = {f"y_{k}": values[:, k] for k in range(WIDTH)} | {f"p_{k}": said[:, k] for k in range(WIDTH)}
    whole = {name: np.array(column) for name, column in (table | y).items()}
    if len(set(whole["given"][~held])) < 2:
        return
    given_ = {"factors": factors, "sets": {"genes": "given:+"}, "target": "y_*", "prediction": "p_*"}
    one = recombine.evaluate_vectors(whole | {"split": np.where(held, "test", "train")}, split="split", **given_)  # type: ignore[arg-type]
    test, train = ({name: column[mask] for name, column in whole.items()} for mask in (held, ~held))
    two = recombine.evaluate_vectors(test, train=train, **given_)  # type: ignore[arg-type]
    assert [(rung.name, rung.combinations) for rung in one.rungs] == [(r.name, r.combinations) for r in two.rungs]
    for mine, theirs in zip(one.rules, two.rules, strict=True):
        assert (mine.name, mine.told) == (theirs.name, theirs.told)
        assert mine.r2 == pytest.approx(theirs.r2, abs=1e-4)
    for name in ("genes", "rung", "elements"):
        assert one.table[name].to_pylist() == two.table[name].to_pylist()
    design = designed(sets, lines, line=line)
    told = {k: by_hand(design[~held], values[~held], design[k]) for k in np.flatnonzero(held)}
    determined = sum(one.combinations for one in one.rungs if one.name == "determined")
    assert determined == sum(answer is not None for answer in told.values())
    known = [k for k, answer in told.items() if answer is not None]
    rule = next((rule for rule in one.rules if rule.name == "least squares"), None)
    assert (rule is None) == (len(known) < 2)
    if rule is not None:
        spread = np.square(values[known] - values[~held].mean(axis=0)).sum()
        missed = sum(np.square(told[k] - values[k]).sum() for k in known)
        assert rule.r2 == pytest.approx(1 - missed / spread, rel=1e-3, abs=1e-3)


def test_marks_names_in_numbers_and_text_are_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of which one holds the numbers 0 and 1 alone are read as the whole table is."""
    monkeypatch.setattr(vector_reader, "_ENTRIES", 1)  # the fewest rows of a batch: 64
    sets = [(0, 1)] * 200 + [(2, 3)] * 100 + [(0, 2), (1, 3), (1, 2), (0, 3)] * 30
    values = np.random.default_rng(0).normal(size=(len(sets), 2))
    first, second = np.array(sets).T
    marks = {f"m{k}": [int(k in one) for one in sets] for k in range(4)}
    table = {"a": first, "b": second, "text": [f"{x}|{y}" for x, y in sets]} | marks
    written = {"columns": ["a", "b"], "text": "text:|", "marks": list(marks)}
    found = [recombine.read(table, sets={"g": source}, target=values).vectors for source in written.values()]
    for one in found:
        assert one is not None
        assert one.count.sum() == len(sets)
        np.testing.assert_allclose(one.means, found[0].means, atol=1e-6)  # type: ignore[union-attr]


def test_the_command_takes_sets_and_vectors_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sets = [(), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 3)] * 5
    effects = rng.normal(size=(4, 6))
    values = np.stack([effects[list(one)].sum(axis=0) for one in sets]) + 0.2 * rng.normal(size=(len(sets), 6))
    table: dict[str, Any] = {"condition": ["+".join(f"g{k}" for k in one) or "ctrl" for one in sets]}
    table |= {"split": ["test" if one in {(0, 1), (2, 3)} else "train" for one in sets]}
    table |= {f"gene_{k}": values[:, k] for k in range(6)} | {f"said_{k}": values[:, k] + 0.1 for k in range(6)}
    pq.write_table(pa.table(table), tmp_path / "screen.parquet")
    words = [str(tmp_path / "screen.parquet"), "--set", "genes=condition:+", "-t", "gene_*"]
    audited = CliRunner().invoke(app, ["audit", *words, "--control", "genes=ctrl"])
    assert audited.exit_code == 0, audited.output
    assert "one effect for each element" in audited.output
    assert "cosine from control" in audited.output
    page = tmp_path / "page.html"
    words += ["-p", "said_*", "--split", "split", "--report", str(page)]
    told = CliRunner().invoke(app, ["evaluate", *words])
    assert told.exit_code == 0, told.output
    assert "least squares" in told.output
    assert "all seen alone" in page.read_text()
