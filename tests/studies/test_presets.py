"""Every study: its presets parse and their models fit their tasks; smoke runs; the published settings can be tried."""

from typing import get_args

import pytest

from recombine_studies.catalogue import STUDIES, settings_of, study_of
from recombine_studies.claims import OUTCOMES
from recombine_studies.cost_estimate import try_preset
from recombine_studies.study import PRESETS, Described
from recombine_studies.study_run import plans_of, run_study

pytestmark = pytest.mark.data


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_says_what_it_is(name):
    found = study_of(name)
    assert found.name == name
    assert set(found.presets) == set(PRESETS)
    assert found.question.endswith("?")
    names = [claim.name for claim in found.claims]
    assert len(set(names)) == len(names)
    for claim in found.claims:
        assert claim.says.endswith("."), claim.name
        assert claim.source, claim.name
        assert claim.threshold, claim.name
    assert found.differs.get("small"), "what is not as published, and why"


@pytest.mark.slow
@pytest.mark.timeout(900)  # one study lists the runs of all the others: minutes where the machine is busy
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_parses(name, preset, data, monkeypatch):
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    found = study_of(name)
    assert all(len(plan) for plan in plans_of(found, settings_of(found, preset)).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_smoke(name, tmp_path_factory, data, monkeypatch):
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    store = tmp_path_factory.getbasetemp() / "studies"
    found = run_study(name, preset="smoke", store=store, workers=0)
    assert found.missing == 0
    assert {one.outcome for one in found.findings} <= set(OUTCOMES)
    assert found.figures
    if name == "across":
        assert any(known is not None for known in found.tables["seen_inside"]["additivity, answer"].to_pylist())


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # it builds networks of published sizes, and tries each for a few steps
@pytest.mark.parametrize("name", [name for name in STUDIES if name != "across"])
def test_the_published_settings_are_built_and_tried(name, data, monkeypatch):
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    assert [one.problem for one in try_preset(name, preset="paper", of_a_kind=1) if one.problem] == []


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "across"])
def test_what_the_paper_describes_is_accounted_for(name):
    """Every kind of thing is listed; what is not here as published says how it differs, or why it is missing."""
    described = study_of(name).described
    assert {one.part for one in described} >= {"task", "model", "measure", "figure", "claim"}
    for one in described:
        assert one.part in get_args(Described.__annotations__["part"])
        assert one.state in get_args(Described.__annotations__["state"])
        assert one.how or one.state == "here", one.what
    assert len({one.what for one in described}) == len(described)
