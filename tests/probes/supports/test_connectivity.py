"""Pieces, parts and the growth of errors beside slow twins; supports that nothing links are named."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from recombine_lab.probes import support
from recombine_lab.probes.support_probe import connectivity
from tests.properties import examples

RNG = np.random.default_rng(0)


def blocks(n, gap, *, seed=0, bridges=0):
    """Two blocks on the diagonal; as many of the points as `bridges` lie in the block beside it."""
    rng = np.random.default_rng(seed)
    own = rng.integers(2, size=n)
    other = np.where(np.arange(n) < bridges, 1 - own, own)
    return rng.random((n, 2)) * (1 - gap) / 2 + np.column_stack([own, other]) * (1 + gap) / 2


@examples(30)
@given(st.integers(2, 40), st.integers(1, 2), st.floats(0.01, 0.3), st.integers(0, 2**31))
def test_pieces_by_joining_one_after_the_other(n, width, step, seed):
    values = np.random.default_rng(seed).random((n, width))
    home = list(range(n))
    for a in range(n):
        for b in range(a):
            if np.abs(values[a] - values[b]).max() <= step:
                home = [home[a] if one == home[b] else one for one in home]
    found = connectivity.joined(values, step)
    assert len(set(zip(home, found.tolist(), strict=True))) == len(set(home)) == found.max() + 1


def test_pieces_that_nearest_neighbours_alone_do_not_join():
    """More values crowd at each place than are asked for as neighbours."""
    crowds = np.concatenate([at + 1e-6 * RNG.random((60, 1)) for at in (0.0, 0.1, 0.2, 0.9)])
    assert np.bincount(connectivity.joined(crowds, 0.11)).tolist() == [180, 60]


@pytest.mark.parametrize(("n", "width"), [(300, 1), (20_000, 1), (3000, 3)])
def test_dense_values_are_one_piece_and_a_gap_makes_two(n, width):
    rows, even = RNG.random((n, width)), RNG.random((n, width))
    step = connectivity.LONGER * connectivity.longest_step(even)
    assert connectivity.joined(rows, step).max() == 0
    entry = connectivity.LONGER * connectivity.longest_step(even[:, :1])
    apart = rows[np.abs(rows[:, 0] - 0.5) > 0.55 * entry]
    assert connectivity.pieces(apart, [step, *[entry] * width]).max() == 1


@examples(30)
@given(st.integers(2, 8), st.integers(2, 3), st.integers(1, 30), st.integers(0, 2**31))
def test_parts_by_walking(values, slots, n, seed):
    rows = np.random.default_rng(seed).integers(0, values, (n, slots))
    dense = [np.unique(column, return_inverse=True)[1] for column in rows.T]
    label = np.arange(n)
    for _ in range(n):
        for k in range(slots):
            label = np.array([label[rows[:, k] == rows[p, k]].min() for p in range(n)])
    found = connectivity.parts(dense)
    assert len(set(zip(label.tolist(), found.tolist(), strict=True))) == len(set(label.tolist())) == found.max() + 1


@examples(40)
@given(st.integers(1, 3), st.integers(1, 2), st.integers(2, 5), st.integers(6, 25), st.integers(0, 2**31))
def test_no_error_grows_further_and_one_grows_as_far(outputs, inputs, most, n, seed):
    rng = np.random.default_rng(seed)
    seen, asked = ([torch.as_tensor(rng.standard_normal((rows, outputs, inputs))) for _ in range(2)] for rows in (n, 7))
    cells = []
    for _ in range(2):
        own = np.unique(rng.integers(0, most, n), return_inverse=True)[1]
        cells.append((own, rng.integers(0, own.max() + 1, 7)))
    found = connectivity.growth(seen, asked, cells)
    dense = []
    for blocks_of, side in ((seen, 0), (asked, 1)):
        wide = [np.eye(pair[0].max() + 1)[pair[side]] for pair in cells]
        parts = [np.einsum("ng,noc->nogc", one, block.numpy()) for one, block in zip(wide, blocks_of, strict=True)]
        flat = [one.reshape(len(one) * outputs, -1) / np.sqrt(len(one)) for one in parts]
        dense.append(np.concatenate(flat, 1))
    # What nothing fixes is left out in the same units: cells count by their share of the points.
    shares = np.concatenate([np.repeat(np.bincount(own) / n, inputs) for own, _ in cells])
    fitted, wanted = (one / np.sqrt(shares) for one in dense)
    # All that is fixed is the range of the pseudo-inverse; what is hardly fixed is left to rounding.
    singular = np.linalg.svd(fitted, compute_uv=False)
    assume(not ((singular > 1e-8 * singular[0]) & (singular < 1e-2 * singular[0])).any())
    reached = wanted @ np.linalg.pinv(fitted, rcond=1e-6)
    assert found.factor == pytest.approx(np.linalg.norm(reached, 2), rel=1e-3)


def test_the_smallest_eigenvalue_is_the_algebraic_connectivity():
    """A ring of eight values, each seen twice: the normalised Laplacian's is 1 - cos(2π / 8)."""
    own, other = np.repeat(np.arange(4), 2), np.roll(np.repeat(np.arange(4), 2), 1)
    one = torch.ones(8, 1, 1, dtype=torch.float64)
    found = connectivity.growth([one, one], [one, one], [(own, own), (other, other)])
    assert found.connectivity == pytest.approx(1 - np.cos(np.pi / 4))
    assert found.factor == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("composition", "said"),
    [
        ("add", "the offset between entry 0 from 0"),
        ("product", "the factor between entry 0 from 0"),
        ("soft_occlusion", "what one slot takes over from another between entry 0 from 0"),
    ],
)
@pytest.mark.parametrize("gap", [0.05, 0.3])
def test_blocks_that_nothing_links_are_named(composition, said, gap):
    found = support(blocks(400, gap), slots=2, composition=composition)
    assert (found.outcome, found.grade) == ("insufficient", "failing")
    assert said in found.verdict
    assert "is not identified. No seen point links these parts (2 in all)" in found.verdict
    assert found.numbers["combinations across parts"] == pytest.approx(0.5, abs=0.06)


def test_a_few_points_link_blocks_and_errors_grow_through_them():
    linked, free = (
        support(rows, slots=2, composition="add") for rows in (blocks(400, 0.2, bridges=6), RNG.random((400, 2)))
    )
    assert "not identified" not in linked.verdict
    assert linked.numbers["error growth"] > 1.5 * free.numbers["error growth"]
    assert linked.numbers["connectivity"] < 0.5 * free.numbers["connectivity"]
    grown = f"an error of the fit grows at most {free.numbers['error growth']:.2g}-fold on new combinations"
    assert grown in free.verdict
    assert "Connectivity: the seen points hang together; to first order" in " ".join(linked.reasons)


@pytest.mark.parametrize("composition", ["concatenation", "hard_occlusion"])
def test_where_nothing_goes_from_slot_to_slot_no_part_needs_another(composition):
    assert support(blocks(400, 0.2), slots=2, composition=composition).numbers["parts"] == 1
