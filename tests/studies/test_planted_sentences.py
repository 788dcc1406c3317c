"""At the budget of the study: planted parts of networks for sentences are found, and what has none is not modular."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from recombine_lab.probes import MaskEvidence, agreement
from recombine_lab.probes.probe import Probe
from recombine_studies.subnetworks.grids import SENTENCES, SMALL
from tests.probes.flat import subnetworks
from tests.studies.planted_sentences import components, planted, right

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]  # each trains a transformer and learns masks of it

SEED = 20
"""Not among those by which the budget was chosen (0), nor those of the benchmark (10 and 11)."""


@cache
def asked(kind: str) -> tuple[Probe, Mapping[str, tuple[float, float]]]:
    """What is said of a planted network, and what the whole of it does of each component's examples and test."""
    network, parts = planted(kind, SEED), components(SEED)
    own = ("problems", "tests", "estimator")
    budget: dict[str, Any] = {name: one for name, one in SMALL["search"][SENTENCES].items() if name not in own}
    found = subnetworks(
        network,
        components=parts,
        controls=("re-initialised", "random"),
        **budget | {"estimator": ["continuous", "gradient"]},
    )
    return found, {name: (right(network, shown), right(network, test)) for name, (shown, test) in parts.items()}


def test_both_planted_networks_do_the_tests_and_not_all_examples_of_masks() -> None:
    """So that there is something to be found, and the components disturb each other."""
    for kind in ("apart", "agreeing"):
        _, whole = asked(kind)
        assert min(test for _, test in whole.values()) > 0.95
        assert min(shown for shown, _ in whole.values()) < 0.7 < MaskEvidence().sufficient


def test_parts_that_stand_side_by_side_are_found() -> None:
    found, _ = asked("apart")
    assert dict(agreement(found).outcomes) == {"continuous": "modular", "gradient": "modular"}
    assert found.outcome == "modular"


def test_what_knows_agreement_alone_is_not_called_modular() -> None:
    """Learned masks alone may be taken in: of two processors they call this network modular on one. Hence several."""
    found, _ = asked("agreeing")
    assert agreement(found).outcomes["gradient"] != "modular"
    assert found.outcome != "modular"
