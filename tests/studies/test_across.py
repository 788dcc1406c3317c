"""Across the papers: claims on planted cells, where they must hold and where they must not."""

import numpy as np
import pytest

from recombine_studies import across
from recombine_studies.claims import judged
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence

CLAIMS = {claim.name: claim for claim in across.STUDY.claims}


def evidence(unseen, *, forecast, rival, seen=1.0, reach=0.2, inside=None, determined=1.0):
    """Forty fresh cells and ten others, one seed each, with what was said and seen of them."""
    runs, said, looked = [], [], []
    for k, score in enumerate(unseen):
        grid = "fresh: sums" if k < 40 else "kernel: sums"
        row = {"key": f"{k:032d}", "grid": grid, "seed": 0, "status": "finished", "task": "addition", "model": "mlp"}
        row |= {"task.values": k, "unseen.score": score, "seen.score": seen}
        runs.append(row)
        cell = across.cell_of(row)
        ends = {"forecast low": forecast[k] - reach, "forecast high": forecast[k] + reach}
        said.append({"cell": cell, "forecast": forecast[k], **ends, "determined": determined, "seen share": rival[k]})
        looked.append({"cell": cell, **dict.fromkeys(across._INSIDE, None if inside is None else inside[k])})
    measured = {"said beforehand": Rows(said), "seen inside": Rows(looked)}
    return Evidence(Bench("nowhere", {}), Rows(runs), measured)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    return rng.uniform(0, 1, 50), rng.uniform(0, 1, 50), rng.uniform(0, 1, 50)


def outcome(name, found):
    return judged(CLAIMS[name], found).outcome


@pytest.mark.slow
def test_a_forecast_that_comes_true(drawn):
    truth, noise, _ = drawn
    found = evidence(truth, forecast=truth + 0.01 * noise, rival=noise, inside=noise)
    for name in CLAIMS.keys() - {"determined is not learned"}:
        assert outcome(name, found) == "holds", name


@pytest.mark.slow
def test_a_forecast_of_noise(drawn):
    truth, noise, _ = drawn
    found = evidence(truth, forecast=noise, rival=truth, seen=0.5, inside=truth)
    assert outcome("forecast ranks", found) != "holds"
    assert outcome("forecast beats counting", found) in ("does not hold", "not enough evidence", "mixed")
    assert "seen share" in str(judged(CLAIMS["forecast beats counting"], found).comparisons)
    rival = next(
        one for one in judged(CLAIMS["forecast beats counting"], found).comparisons if "seen share" in one.name
    )
    assert rival.state == "fails"
    assert outcome("forecast errs less", found) != "holds"
    assert outcome("intervals hold", found) == "does not hold"
    assert outcome("inside predicts less", found) == "does not hold"


def test_determined_supports_that_networks_fail_on(drawn):
    truth, noise, _ = drawn
    assert outcome("determined is not learned", evidence(truth, forecast=truth, rival=noise)) == "holds"
    good = evidence(truth / 10 + 0.9, forecast=truth, rival=noise)
    assert outcome("determined is not learned", good) == "does not hold"
    assert outcome("determined is not learned", evidence(truth, forecast=truth, rival=noise, determined=0.5)) == (
        "not enough evidence"
    )


def test_scores_below_the_least_count_as_the_least():
    rows = Rows([{"unseen": -30.0, "x": 1.0}, {"unseen": 0.5, "x": float("nan")}, {"unseen": 0.5, "x": -7.0}])
    one, other = across.pairs(rows, "x")
    assert one.tolist() == [1.0, -1.0]
    assert other.tolist() == [-1.0, 0.5]


def test_a_cell_is_all_but_the_seed():
    row = {"grid": "g", "seed": 0, "task": "addition", "task.values": 3, "model": "mlp", "unseen.score": 0.1}
    assert across.cell_of(row) == across.cell_of(row | {"seed": 1, "unseen.score": 0.9})
    assert across.cell_of(row) != across.cell_of(row | {"task.values": 4})
    assert across.cell_of(row) == across.cell_of(row | {"task.other": None}), "what another task has and this has not"


def test_figures_and_remarks_say_what_is_there(drawn):
    truth, noise, _ = drawn
    found = evidence(truth, forecast=truth, rival=noise, inside=noise)
    scatter, ranks, table = across.STUDY.figures(found)
    assert [len(group.x) for group in scatter.groups] == [40, 10]
    assert "'forecast' ranks best" in ranks.sentence
    assert len(table.rows) == 2
    of_fresh, of_others = across.STUDY.remarks(found)[:2]
    assert of_fresh.startswith("Known before training, by how well they rank fresh cells: the forecast")
    assert "40 cells" in of_fresh
    assert of_others.startswith("Known before training, by how well they rank the cells of the five studies: ")
    assert "10 cells" in of_others
