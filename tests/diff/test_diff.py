"""`recombine.diff`: what can be compared, what is refused in words, and what is said."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.base.errors import RecordError, SettingError
from recombine.verbs.diff.verdict import grade_fell

F = ["a", "b"]
CELLS = [(a, b) for a, b in product(range(5), range(6)) if (a + 2 * b) % 5]


def rows(cells=CELLS, times: int = 3, wrong=(), bump: float = 0.0):
    """A table of some cells with a label, a number, a side and a model's answers."""
    lines = [(a, b) for a, b in cells for _ in range(times)]
    truth = ["yes" if a + b > 4 else "no" for a, b in lines]
    return {
        "a": [f"a{a}" for a, _ in lines],
        "b": [f"b{b}" for _, b in lines],
        "y": truth,
        "size": [a + 2.0 * b + bump for a, b in lines],
        "split": ["test" if (a + b) % 3 == 0 else "train" for a, b in lines],
        "said": [{"yes": "no", "no": "yes"}[y] if cell in wrong else y for y, cell in zip(truth, lines, strict=True)],
    }


def evaluated(**how):
    return recombine.evaluate(
        rows(**how), factors=F, target="y", prediction="said", split="split", causes=False,
        intervals=recombine.IntervalSettings(draws=200),
    )  # fmt: skip


def test_two_evaluations() -> None:
    unseen = [cell for cell in CELLS if sum(cell) % 3 == 0]
    found = recombine.diff(
        evaluated(times=12), evaluated(times=12, wrong=unseen, cells=[cell for cell in CELLS if cell != unseen[0]])
    )
    assert found.grade == "failing"
    assert [(one.name, one.outcome) for one in found.scores] == [("unseen", "worse")]
    assert "more than chance explains" in found.verdict
    assert found.counts["lost"] == 1
    assert found.counts["score"] == len(unseen) - 1
    assert recombine.diff(evaluated(), evaluated()).unchanged


def test_two_predictions() -> None:
    old, new = (recombine.predict(rows(cells), factors=F, target="y") for cells in (CELLS, CELLS[2:]))
    found = recombine.diff(old, new)
    assert found.counts["lost"] == 2
    before, after = (
        {(line["a"], line["b"]): (line["verdict"], line["prediction"]) for line in one.table.to_pylist()}
        for one in (old, new)
    )
    told = [line for line in found.table.to_pylist() if line["what"] == "verdict"]
    assert {(line["a"], line["b"]) for line in told} == {
        cell
        for cell in before.keys() & after.keys()
        if before[cell][0] != after[cell][0] and "seen" not in (before[cell][0], after[cell][0])
    }
    assert recombine.diff(old, old).unchanged


def test_two_lints() -> None:
    clean = recombine.lint(rows(), factors=F)
    leaky = rows()
    leaky["split"][0] = {"train": "test", "test": "train"}[leaky["split"][0]]
    found = recombine.diff(clean, recombine.lint(leaky, factors=F))
    assert found.grade == "failing"
    (line,) = (line for line in found.table.to_pylist() if line["what"] == "new leak")
    assert (line["a"], line["b"], line["new"]) == ("a0", "b1", "combinations")
    assert any(one.name == "check combinations" and (one.old, one.new) == ("pass", "fail") for one in found.told)
    assert recombine.diff(clean, clean).unchanged


def test_plans_splits_and_rehearsals(tmp_path) -> None:
    plans = [recombine.plan(rows(cells), factors=F, goal="pairs") for cells in (CELLS, CELLS[2:])]
    asked = [{(line["a"], line["b"]) for line in one.table.to_pylist()} for one in plans]
    found = recombine.diff(*plans)
    assert found.counts["newly asked for"] == len(asked[1] - asked[0])
    splits = [
        recombine.split(
            rows(), by=recombine.HoldOutCombinations(F, test_size=0.2, random_state=seed), column="held",
            out=tmp_path / f"{seed}.csv",
        ) for seed in (0, 1)
    ]  # fmt: skip
    sides = [{(line["a"], line["b"]): line["side"] for line in renamed(one)} for one in splits]
    assert recombine.diff(*splits).counts == {"side": sum(sides[0][cell] != sides[1][cell] for cell in sides[0])}
    rehearsals = [
        recombine.rehearse(rows(), who, factors=F, target="size", rounds=2) for who in ("additive", "nearest")
    ]
    found = recombine.diff(*rehearsals)
    assert not found.table.num_rows
    assert [(one.name, one.old, one.new) for one in found.told] == [("learner", "additive", "nearest")]


def renamed(split):
    (side,) = (name for name in split.table.column_names if "side" in name)
    return split.table.rename_columns(
        ["side" if name == side else name for name in split.table.column_names]
    ).to_pylist()


def audit(cells=CELLS, **how):
    return recombine.audit(rows(cells), **{"factors": F, "target": "y"} | how)


def test_another_question_is_refused_in_words(tmp_path) -> None:
    with pytest.raises(SettingError, match="combinations of other factors") as refused:
        recombine.diff(audit(), audit(factors=["a", "size"], bins={"size": 3}))
    assert "--factors" in refused.value.instead
    with pytest.raises(SettingError, match="the target was 'y'"):
        recombine.diff(audit(), audit(target="said"))
    with pytest.raises(SettingError, match="was a number and is a label"):
        recombine.diff(audit(target="size"), audit(target="size", target_kind="label"))
    with pytest.raises(SettingError, match="cut into bins"):
        recombine.diff(*(audit(factors=["a", "size"], bins={"size": cut}) for cut in ([0, 5, 20], [0, 9, 20])))
    with pytest.raises(SettingError, match="other edges"):
        recombine.diff(
            *(recombine.audit(rows(bump=bump), factors=["a", "size"], bins={"size": 3}) for bump in (0.0, 5.0))
        )
    with pytest.raises(RecordError, match="holds an audit") as refused:
        recombine.diff(audit().save(tmp_path / "audit"), recombine.plan(rows(), factors=F).save(tmp_path / "plan"))
    assert "evaluation" in refused.value.instead
    with pytest.raises(SettingError, match="two results of the kind 'diff'"):
        recombine.diff(*[recombine.diff(audit(), audit())] * 2)
    with pytest.raises(RecordError, match="no saved result"):
        recombine.diff(tmp_path, tmp_path)
    with pytest.raises(SettingError, match="given a dict"):
        recombine.diff(rows(), rows())  # type: ignore[arg-type]


def test_another_condition_is_told() -> None:
    found = recombine.diff(audit(), audit(where="b <> 'b5'"))
    assert any("where (none before" in reason for reason in found.reasons)
    assert {"b5"} == {value for one in found.values for value in one.gone}


def test_factors_in_another_order_and_numbers_as_text_are_the_same() -> None:
    numbers = {"a": [1, 1, 2, 2, 3], "b": [1, 2, 1, 2, 1]}
    words = {name: [str(value) for value in column] for name, column in numbers.items()}
    found = recombine.diff(recombine.audit(numbers, factors=F), recombine.audit(words, factors=["b", "a"]))
    assert not found.table.num_rows


def test_a_target_in_one_alone_is_not_compared() -> None:
    found = recombine.diff(audit(), audit(target=None))
    assert found.unscored == "only the old audit has a target"
    assert "No score was compared" in found.verdict


def test_numbers_that_moved() -> None:
    rng = np.random.default_rng(0)
    tables = []
    for shift in (0.0, 9.0):
        made = rows(times=8)
        moved = np.array([a == "a1" and b == "b0" for a, b in zip(made["a"], made["b"], strict=True)])
        tables.append(made | {"size": np.array(made["size"]) + rng.normal(0, 1, len(moved)) + shift * moved})
    found = recombine.diff(*(recombine.audit(one, factors=F, target="size") for one in tables))
    assert [(line["a"], line["b"], line["what"]) for line in found.table.to_pylist()] == [("a1", "b0", "answer")]


def test_a_space_of_a_million_millions_is_never_written_out() -> None:
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(6)]
    codes = rng.integers(0, 100, size=(3_000, 6))
    old = recombine.audit({name: codes[:, k] for k, name in enumerate(names)}, factors=names)
    kept = {name: codes[:-7, k] for k, name in enumerate(names)}
    found = recombine.diff(old, recombine.audit(kept, factors=names))
    assert old.counts.space == 10**12
    assert found.counts["lost"] == 7
    assert any("by their numbers alone" in reason for reason in found.reasons)


def test_a_factor_may_bear_the_name_of_a_column_of_ours() -> None:
    old, new = ({"what": list("xxyy")[:n], "q": list("pqpq")[:n]} for n in (4, 3))
    found = recombine.diff(*(recombine.audit(one, factors=["what", "q"]) for one in (old, new)))
    assert found.table.column_names[:3] == ["what", "q", "what_"]
    assert found.counts == {"lost": 1}


def test_the_scale_of_a_fall() -> None:
    assert grade_fell("plausible", "weak")
    assert not grade_fell("untested", "weak")


def test_saved_and_drawn(tmp_path) -> None:
    old, new = (one.save(tmp_path / name) for one, name in ((audit(), "march"), (audit(CELLS[2:]), "april")))
    found = recombine.diff(old, new)
    assert found.provenance.source == "march → april"
    assert recombine.load(found.save(tmp_path / "diff")) == found
    nothing = recombine.diff(old, old)
    assert "Nothing changed" in nothing.page(tmp_path / "nothing.html").read_text()
    assert "Nothing changed" in nothing._repr_html_()
    page = found.page(tmp_path / "diff.html").read_text()
    assert "march → april" in page
    assert page.count('class="cell-worse"') == 2
    assert "Settings side by side" in page
