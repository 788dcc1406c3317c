"""Ranks of Jacobians: twins by NumPy, and the table of composition functions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine_lab.probes.support_probe.component_outputs import composed_of
from recombine_lab.probes.support_probe.ranks import changed, products, ranks, spectrum
from recombine_lab.tasks.compositions import COMPOSITIONS, jacobian
from tests.properties import examples


def blocks_at(name, own, partners, slot):
    """(1, n, 1, O, C) The blocks of one pixel with each of some partners."""
    own, partners = torch.as_tensor(own).double(), torch.as_tensor(partners).double()
    mine = own.reshape(1, -1, 1, 1).expand(len(partners), -1, 1, 1)
    others = partners.reshape(len(partners), -1, 1, 1)
    both = torch.stack([mine, others] if slot == 0 else [others, mine], 1)
    return jacobian(name, both, slot).flatten(1, 2)[None]


def three(found):
    return int(found.single), int(found.sum), int(found.stack)


PARTNERS = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
CLEAR = torch.rand(5, 4, generator=torch.Generator().manual_seed(2))
COVERING = 0.2 + PARTNERS
HIDDEN_BUT_ONCE = torch.cat([torch.zeros(1, 3), COVERING])


@pytest.mark.parametrize(
    ("name", "slot", "own", "partners", "expected"),
    [
        ("concatenation", 0, [0.0, 0.0, 0.0], PARTNERS, (3, 3, 3)),
        ("add", 1, [0.0, 0.0, 0.0], PARTNERS, (3, 3, 3)),
        ("product", 0, [0.4, 0.4, 0.4], PARTNERS + 0.1, (3, 3, 3)),
        ("product", 0, [0.4, 0.4, 0.4], torch.eye(3), (1, 3, 3)),
        ("product", 0, [0.4, 0.4, 0.4], torch.eye(3)[:2], (1, 2, 2)),
        ("hard_occlusion", 0, [0.4, 0.4, 0.4], PARTNERS, (3, 3, 3)),
        ("hard_occlusion", 0, [0.0, 0.0, 0.0], PARTNERS, (0, 0, 0)),
        ("hard_occlusion", 1, [0.4, 0.4, 0.4], COVERING, (0, 0, 0)),
        ("hard_occlusion", 1, [0.4, 0.4, 0.4], HIDDEN_BUT_ONCE, (3, 3, 3)),
        ("soft_occlusion", 0, [0.0, 0.0, 0.0], PARTNERS, (3, 3, 3)),
        ("soft_occlusion", 0, [0.0, 0.0, 0.0], [[1.0, 1.0, 0.0]], (2, 2, 2)),
        ("soft_occlusion", 0, [0.0, 0.0, 0.0], [[1.0, 1.0, 0.0], [0.1, 0.2, 0.3]], (3, 3, 3)),
        ("soft_occlusion", 1, [0.4, 0.4, 0.4], COVERING, (3, 3, 3)),
        ("alpha", 0, [0.2, 0.5, 0.8, 0.0], CLEAR, (1, 1, 1)),
        ("alpha", 0, [0.2, 0.5, 0.8, 0.5], CLEAR, (3, 3, 4)),
        ("alpha", 0, [0.2, 0.5, 0.8, 1.0], CLEAR, (3, 3, 4)),
        ("alpha", 1, [0.2, 0.5, 0.8, 0.5], CLEAR, (3, 3, 3)),
    ],
)
def test_the_table_of_composition_functions(name, slot, own, partners, expected):
    assert three(ranks(blocks_at(name, own, partners, slot))) == expected


@pytest.mark.parametrize(
    ("t", "det", "smallest"), [(1.3, 0.04375, 0.146), (1.2, 0.05, 0.165), (1.8, 0.0125, 0.042), (2, 0, 0)]
)
def test_soft_occlusion_in_front_of_an_empty_pixel(t, det, smallest):
    partner = [[1.0, t - 1.0, 0.0]]
    block = blocks_at("soft_occlusion", [0.0, 0.0, 0.0], partner, 0)
    assert float(torch.linalg.det(block)) == pytest.approx(det, abs=1e-7)
    assert float(ranks(block).smallest) == pytest.approx(smallest, abs=6e-4)


@pytest.mark.parametrize(("s", "front", "back"), [(0.0, 0.5, 0.5), (1.0, 0.731, 0.269), (2.0, 0.881, 0.119)])
def test_weights_of_soft_occlusion(s, front, back):
    own = [s / 3] * 3
    behind = ranks(blocks_at("soft_occlusion", [0.3, 0.3, 0.3], [own], 1))
    assert float(behind.smallest) == pytest.approx(back, abs=1e-3)
    # With the same colour behind, the front's block is its weight times the identity.
    assert float(ranks(blocks_at("soft_occlusion", own, [own], 0)).smallest) == pytest.approx(front, abs=1e-3)


def test_a_sum_can_lose_what_each_and_the_stack_have():
    found = ranks(torch.stack([torch.eye(2), torch.diag(torch.tensor([1.0, -1.0]))])[None, :, None])
    assert three(found) == (2, 1, 2)


@examples(40)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**31))
def test_ranks_beside_numpys(n, outputs, inputs, seed):
    drawn = np.random.default_rng(seed).integers(-1, 2, (1, n, 2, outputs, inputs)).astype(float)
    found = ranks(torch.from_numpy(drawn))
    for site in range(2):
        mine = drawn[0, :, site]
        assert int(found.sum[0, site]) == np.linalg.matrix_rank(mine.sum(0))
        assert int(found.stack[0, site]) == np.linalg.matrix_rank(mine.reshape(-1, inputs))
        assert int(found.single[0, site]) == max(np.linalg.matrix_rank(one) for one in mine)
        assert int(found.stack[0, site]) >= int(found.sum[0, site])
        least = np.linalg.svd(mine.reshape(-1, inputs), compute_uv=False)
        assert float(found.smallest[0, site]) == pytest.approx(
            least[-1] / np.sqrt(n) if n * outputs >= inputs else 0.0, abs=1e-6
        )


def test_open_directions_matter_where_the_question_moves_with_them():
    seen = torch.diag(torch.tensor([1.0, 0.0]))[None, None, None]
    free = ranks(seen)
    assert free.free[0, 0].tolist() == [[0.0, 0.0], [0.0, 1.0]]
    blind, aware = seen[:, 0], torch.eye(2)[None, None]
    assert not changed(free.free, blind, free.scale).any()
    assert changed(free.free, aware, free.scale).all()


@pytest.mark.parametrize("name", sorted(COMPOSITIONS))
@pytest.mark.parametrize("slot", [0, 1])
def test_any_function_has_the_derivative_of_the_registry(name, slot):
    channels = COMPOSITIONS[name].channels or 3
    outputs = 0.1 + 0.8 * torch.rand(
        4, 2, channels, 1, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    )
    known, own = composed_of(name), composed_of(COMPOSITIONS[name].compose)
    torch.testing.assert_close(own.blocks(outputs, slot), known.blocks(outputs, slot))


def test_products_with_vectors_find_what_the_whole_matrix_has():
    fixed = torch.linalg.qr(torch.randn(60, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))[0]
    scales = torch.cat([torch.zeros(15, dtype=torch.float64), torch.linspace(0.5, 1, 45, dtype=torch.float64)])

    def compose(parts):
        return (parts[:, 0] * scales) @ fixed + parts[:, 1].sin()

    outputs = torch.rand(3, 2, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    summed, stacked = products(compose, outputs, 0)
    dense = composed_of(compose).blocks(outputs, 0)
    found = ranks(dense[None])
    assert int(found.stack) == 45
    v = torch.randn(60, dtype=torch.float64)
    jacobians = dense[:, 0]
    torch.testing.assert_close(stacked(v), (jacobians.mT @ jacobians).mean(0) @ v)
    torch.testing.assert_close(summed(v), jacobians.mean(0).T @ jacobians.mean(0) @ v)
    for product in (summed, stacked):
        spread = spectrum(product, 60, tolerance=1e-3, seed=0)
        assert spread.share == pytest.approx(0.75, abs=0.12)
        assert spread.largest == pytest.approx(1.0, abs=1e-3)
        assert spread.smallest < 1e-3
