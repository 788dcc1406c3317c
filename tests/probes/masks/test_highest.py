"""The groups with the highest scores, against sorting all of them."""

import hypothesis.strategies as st
import torch
from hypothesis import given

from recombine_lab.probes.subnetwork_probe.mask_search import highest
from tests.properties import examples


@examples(60)
@given(st.integers(0, 10**6), st.sampled_from([0.25, 1.0, 4.0, None]), st.floats(0.0, 80.0))
def test_it_is_what_sorting_gives(seed, alike, wanted):
    chance = torch.Generator().manual_seed(seed)
    scores = {"a": torch.rand(7, 3, generator=chance), "b": torch.rand(5, generator=chance)}
    worth = {
        name: torch.rand(one.shape, generator=chance) if alike is None else torch.full_like(one, alike)
        for name, one in scores.items()
    }
    ranked = sorted(
        ((float(score), name, place) for name, one in scores.items() for place, score in enumerate(one.flatten())),
        reverse=True,
    )
    kept, total = set(), 0.0
    for _, name, place in ranked:
        if total < wanted:
            kept.add((name, place))
        total += float(worth[name].flatten()[place])
    found = highest(scores, worth, wanted)
    assert {(name, int(place)) for name, one in found.items() for place in one.flatten().nonzero()} == kept
