"""Every probe says of small networks what it said before, number by number."""

import json

import pytest

from tests.golden_probes import FILE, PROBES, measured
from tests.test_golden_verbs import differing

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBES)
def test_the_numbers_are_those_of_before(name) -> None:
    assert differing(measured(name), GOLDEN[name]) == {}
