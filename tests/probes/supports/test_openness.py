"""What is left open, beside a Gaussian process written out number by number."""

import numpy as np
import pytest
import torch

from recombine_lab.probes.support_probe.openness import NOISE, Situated, anchor_at, left_open, sketched
from recombine_lab.tasks.compositions import jacobian


def situated(n, rng, *, inputs=3, outputs=2, sites=2, slots=2, width=1):
    blocks = [torch.from_numpy(rng.standard_normal((n, sites, outputs, inputs))) for _ in range(slots)]
    return Situated(blocks, [torch.from_numpy(rng.random((n, width))) for _ in range(slots)])


def twin(seen, asked, reach):
    """The same, with every covariance of every pair of numbers worked out by itself."""
    n, sites, outputs, _ = seen.blocks[0].shape
    m = len(asked.values[0])

    def covariance(one, i, o, other, j, p, site):
        total = 0.0
        for k in range(len(one.values)):
            apart = float((one.values[k][i] - other.values[k][j]).square().sum())
            alike = np.exp(-apart / (2 * reach**2))
            total += alike * float(one.blocks[k][i, site, o] @ other.blocks[k][j, site, p])
        return total

    left, before = np.zeros(m), np.zeros(m)
    for site in range(sites):
        rows = [(i, o) for i in range(n) for o in range(outputs)]
        own = np.array([[covariance(asked, q, o, asked, q, o, site) for o in range(outputs)] for q in range(m)])
        noise = NOISE * own.sum(1).mean() / outputs
        matrix = np.array([[covariance(seen, *a, seen, *b, site) for b in rows] for a in rows])
        matrix += noise * np.eye(len(rows))
        for q in range(m):
            for o in range(outputs):
                beside = np.array([covariance(asked, q, o, seen, *b, site) for b in rows])
                left[q] += own[q, o] - beside @ np.linalg.solve(matrix, beside)
                before[q] += own[q, o]
    return left, before


def test_beside_its_twin():
    rng = np.random.default_rng(0)
    seen, asked = situated(5, rng), situated(3, rng)
    left, before = left_open(seen, asked, 0.5)
    for found, expected in zip((left[0], before), twin(seen, asked, 0.5), strict=True):
        assert found.numpy() == pytest.approx(expected, rel=1e-9)


def joined(one, other):
    return Situated(
        [torch.cat(pair) for pair in zip(one.blocks, other.blocks, strict=True)],
        [torch.cat(pair) for pair in zip(one.values, other.values, strict=True)],
    )


@pytest.mark.parametrize("inputs", [2, 3, 4])
def test_an_anchor_counts_as_seen_points_of_one_slot_alone_do(inputs):
    rng = np.random.default_rng(1)
    seen, asked = situated(6, rng, inputs=inputs), situated(3, rng, inputs=inputs)
    anchors = [anchor_at(seen, row) for row in (0, 4)]
    together, _ = left_open(seen, asked, 0.5, anchors)
    for place, anchor in enumerate(anchors):
        assert together[1 + place].numpy() == pytest.approx(twin(joined(seen, anchor), asked, 0.5)[0], rel=1e-6)
        fixed, total = left_open(seen, anchor, 0.5, [anchor])
        assert float(fixed[1].sum() / total.sum()) < 0.02, "what is known at the anchor is known"


def share(seen, asked, reach=0.5, anchors=()):
    left, before = left_open(seen, asked, reach, anchors)
    return float(left.sum(1).min() / before.sum()) if anchors else float(left.sum() / before.sum())


def adding(rows):
    """Two slots of one number each that add up."""
    blocks = [torch.ones(len(rows), 1, 1, 1, dtype=torch.float64) for _ in range(2)]
    return Situated(blocks, [torch.as_tensor(rows[:, [k]]) for k in range(2)])


def test_perfect_empty_and_adversarial():
    rng = np.random.default_rng(0)
    asked, even = adding(rng.random((60, 2))), rng.random((200, 2))
    alike = np.repeat(rng.random((200, 1)), 2, axis=1)
    assert share(adding(even), asked) < 0.01
    assert share(adding(np.full((200, 2), 9.0)), asked) > 0.99
    assert share(adding(alike), asked) > 0.1


def test_an_anchor_is_worth_nothing_where_a_constant_cannot_be_seen():
    rng = np.random.default_rng(0)
    seen, asked = adding(rng.random((100, 2))), adding(rng.random((40, 2)))
    assert share(seen, asked, anchors=[anchor_at(seen, 0)]) == pytest.approx(share(seen, asked), abs=2e-3)
    far = adding(np.full((3, 2), 30.0))
    anchored = share(far, adding(np.full((2, 2), 30.0)), anchors=[anchor_at(far, 0)])
    assert anchored < 0.01


def test_many_outputs_are_mixed_alike_in_every_slot():
    blocks = [torch.rand(4, 1, 20, 2, dtype=torch.float64) for _ in range(2)]
    mixed = sketched(blocks, np.random.default_rng(0))
    assert mixed[0].shape == (4, 1, 3, 2)
    both = sketched([blocks[0] + blocks[1]], np.random.default_rng(0))
    torch.testing.assert_close(mixed[0] + mixed[1], both[0])


def soft(front, back):
    gate = torch.sigmoid(front.sum(-1, keepdim=True))
    return gate * front + (1 - gate) * back


def solved(wanted, back, start):
    """The front whose composition with a back is as wanted, by Newton's method."""
    found = start.clone()
    for _ in range(60):
        matrix = torch.autograd.functional.jacobian(lambda one: soft(one, back), found)
        found = found - torch.linalg.solve(matrix, soft(found, back) - wanted)
    return found


def test_an_anchor_is_no_technicality_on_a_cross():
    """Other components fit all of a cross exactly and are wrong beyond it, although every rank is full.

    Slot 1 varies while slot 0 is empty, slot 0 varies while slot 1 stands still. Let the learned front be any number
    where the true one is empty: a shifted and scaled back makes up for it, and other fronts for that.
    """
    places = torch.linspace(0, 1, 21, dtype=torch.float64)[:, None]
    front, back = places * torch.tensor([0.9, 0.5, 0.2]).double(), places * torch.tensor([0.1, 0.6, 0.8]).double()
    empty = torch.full((3,), -0.15, dtype=torch.float64)
    gate = torch.sigmoid(empty.sum())
    learned_back = (0.5 * back - gate * empty) / (1 - gate)
    learned_front = [empty]
    for true in front[1:]:
        learned_front.append(solved(soft(true, back[0]), learned_back[0], learned_front[-1]))
    other = torch.stack(learned_front)
    seen_front = soft(other, learned_back[:1]) - soft(front, back[:1])
    seen_back = soft(other[:1], learned_back) - soft(front[:1], back)
    assert max(float(seen_front.abs().max()), float(seen_back.abs().max())) < 1e-9
    beyond = soft(other[-1:], learned_back[-1:]) - soft(front[-1:], back[-1:])
    assert float(beyond.abs().max()) > 0.01


def test_an_anchor_is_worth_most_on_a_cross():
    def shares(rows):
        front = torch.as_tensor(rows[:, :1]) * torch.tensor([[0.9, 0.5, 0.2]]).double()
        back = torch.as_tensor(rows[:, 1:]) * torch.tensor([[0.1, 0.6, 0.8]]).double()
        both = torch.stack([front, back], 1)[..., None, None]
        blocks = [jacobian("soft_occlusion", both, slot).flatten(1, 2) for slot in range(2)]
        return Situated(blocks, [torch.as_tensor(rows[:, [k]]) for k in range(2)])

    rng = np.random.default_rng(0)
    even, asked = rng.random((150, 2)), rng.random((60, 2))
    cross = even.copy()
    cross[:75, 0], cross[75:, 1] = 0.0, 0.0
    worth = []
    for rows in (even, cross):
        seen, questions = shares(rows), shares(asked)
        worth.append(
            (share(seen, questions), share(seen, questions, anchors=[anchor_at(seen, row) for row in (0, 80)]))
        )
    (even_left, even_known), (cross_left, cross_known) = worth
    assert cross_left - cross_known > 5 * (even_left - even_known), worth
    assert 1 - cross_known / cross_left > 0.15, worth
