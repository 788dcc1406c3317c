"""An audit of vectors: planted worlds whose answer is known, the same numbers by hand, saved and told."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine.numerics.vector_coordinates import coordinates, effective_dimension
from recombine.verbs.audit.additivity import additive_test

GENES = 8


def screen(
    *, interaction: float = 0.0, noise: float = 0.5, rows: int = 6, width: int = 60, signal: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], np.ndarray]:
    """Genes alone in either column, and half of all pairs: effects add up but for an interaction of each pair."""
    rng = np.random.default_rng(seed)
    names = ["ctrl", *(f"g{k}" for k in range(GENES))]
    effects = signal * rng.normal(size=(2, GENES + 1, width))
    effects[:, 0] = 0
    level = 5 * rng.normal(size=width)
    pairs = [(a, b) for a in range(GENES + 1) for b in range(GENES + 1) if not (a and b) or rng.random() < 0.5]
    table: dict[str, Any] = {"p1": [], "p2": []}
    vectors = []
    for a, b in pairs:
        mean = level + effects[0, a] + effects[1, b] + bool(a and b) * interaction * rng.normal(size=width)
        for _ in range(rows):
            table["p1"].append(names[a])
            table["p2"].append(names[b])
            vectors.append(mean + noise * rng.normal(size=width))
    return table, np.array(vectors)


def audited(control: Any = "ctrl", **world: Any) -> recombine.Audit:
    table, vectors = screen(**world)
    return recombine.audit(table, factors=["p1", "p2"], target=vectors, control=control)


def test_what_adds_up_is_told_to_reach_all_that_noise_leaves() -> None:
    found = audited()
    assert found.grade == "sound"
    assert found.vectors is not None
    r2 = found.vectors.score("R²")
    assert r2 is not None and r2.value is not None and r2.reached is not None  # noqa: PT018
    assert r2.value == pytest.approx(found.additive.held_out, abs=1e-6)  # type: ignore[union-attr]
    assert r2.value > 0.9
    assert r2.reached > 0.95
    assert r2.low is not None and r2.high is not None and r2.low < r2.value < r2.high  # noqa: PT018
    assert "can be explained, of which adding up reaches" in found.verdict
    assert found.verdict.startswith("Adding up one effect for each value explains")


def test_what_does_not_add_up_is_told_so_while_replicates_agree() -> None:
    found = audited(interaction=3.0)
    assert found.grade in ("failing", "weak")
    r2 = found.vectors.score("R²")  # type: ignore[union-attr]
    assert r2 is not None and r2.positive is not None and r2.reached is not None  # noqa: PT018
    assert r2.positive > 0.9
    assert r2.reached < 0.5


def test_noise_alone_is_called_noise() -> None:
    found = audited(signal=0.0, noise=1.0)
    assert found.additive is not None
    assert found.additive.without_rule == "noise"
    assert found.verdict.startswith("Nothing to learn was found")


def test_rules_stand_beside_it_and_the_control_is_needed_for_some() -> None:
    with_control, without = audited(), audited(control=None)
    names = {one.name for one in with_control.vectors.rules}  # type: ignore[union-attr]
    assert names == {"least squares", "mean", "no change", "additive", "additive scaled"}
    assert {one.name for one in without.vectors.rules} == {"least squares", "mean"}  # type: ignore[union-attr]
    assert without.vectors.score("cosine from control") is None  # type: ignore[union-attr]
    table, vectors = screen()
    with pytest.raises(SettingError, match="no factor has such a value"):
        recombine.audit(table, factors=["p1", "p2"], target=vectors, control="cntrl")
    with pytest.raises(SettingError, match="'p1' has no such value"):
        recombine.audit(table, factors=["p1", "p2"], target=vectors, control={"p1": "cntrl"})
    with pytest.raises(SettingError, match="without a vector as the target"):
        recombine.audit(table, factors=["p1", "p2"], control="ctrl")


def test_the_two_ways_to_tell_the_noise_agree() -> None:
    """Halves of the rows, and the variance of rows about their mean."""
    found = audited(noise=2.0, rows=7)
    ceiling = found.additive.explainable  # type: ignore[union-attr]
    r2 = found.vectors.score("R²")  # type: ignore[union-attr]
    assert ceiling is not None and r2 is not None and r2.positive is not None  # noqa: PT018
    assert ceiling.value == pytest.approx(r2.positive, abs=0.03)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_coordinates_keep_all_that_the_additive_test_asks_of_many_outputs(seed: int) -> None:
    """The test of vectors is that of the same vectors in any rotation, and of one column where it is alone."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(int(rng.integers(2, 9)), int(rng.integers(1, 30)))) + 5
    found = coordinates(vectors)
    assert found.shape[1] <= min(vectors.shape)
    apart = np.square(vectors[:, None] - vectors[None]).sum(axis=2)
    np.testing.assert_allclose(np.square(found[:, None] - found[None]).sum(axis=2), apart, atol=1e-9)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)


def test_a_vector_of_two_equal_outputs_is_tested_like_one_number() -> None:
    table, vectors = screen(width=1)
    factors = ["p1", "p2"]
    one = recombine.read(table | {"y": vectors[:, 0]}, factors=factors, target="y", target_kind="number")
    two = recombine.read(table, factors=factors, target=np.repeat(vectors, 2, axis=1))
    alone, twice = (additive_test(support, additive_only=True) for support in (one, two))
    assert alone is not None and twice is not None  # noqa: PT018
    for name in ("tested", "untestable", "explained", "held_out", "reach"):
        assert getattr(twice[0], name) == pytest.approx(getattr(alone[0], name), rel=1e-5), name
    ceilings = alone[0].explainable, twice[0].explainable
    assert ceilings[0] is not None and ceilings[1] is not None  # noqa: PT018
    assert ceilings[1].value == pytest.approx(ceilings[0].value, rel=1e-4)
    assert 1 <= effective_dimension(two.vectors.apart) < 1.1  # type: ignore[union-attr]
    assert ceilings[1].low == pytest.approx(ceilings[0].low, abs=0.02)


def test_it_is_saved_with_its_matrix_and_drawn(tmp_path: Path) -> None:
    found = audited()
    found.save(tmp_path / "audit")
    back = recombine.load(tmp_path / "audit")
    assert back == found
    assert isinstance(back, recombine.Audit)
    assert back.support.vectors == found.support.vectors
    matrix = pq.read_table(tmp_path / "audit" / "vectors.parquet")
    assert matrix.column_names == ["count", "scatter", "mean", "apart"]
    assert "can be explained" in found.page(tmp_path / "audit.html").read_text()


def test_the_command_takes_a_pattern_and_a_control(tmp_path: Path) -> None:
    table, vectors = screen(width=5)
    columns = {f"gene_{k}": vectors[:, k] for k in range(5)}
    pq.write_table(pa.table(table | columns), tmp_path / "screen.parquet")
    words = ["audit", str(tmp_path / "screen.parquet"), "-f", "p1,p2", "-t", "gene_*"]
    told = CliRunner().invoke(app, [*words, "--control", "p1=ctrl,p2=ctrl"])
    assert told.exit_code == 0, told.output
    assert "a vector of 5 outputs" in told.output
    assert "cosine from control" in told.output
    as_json = CliRunner().invoke(app, [*words, "--json"])
    assert '"vector_target": {' in as_json.output
