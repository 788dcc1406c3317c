"""Masks that are learned: held to loops written by hand, one by one and side by side."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.seeds import derived
from recombine_lab.probes.subnetwork_probe import mask_learning
from recombine_lab.probes.subnetwork_probe.components import components_of, shuffled
from recombine_lab.probes.subnetwork_probe.mask_learning import (
    Continuous,
    MaskJob,
    MaskLearner,
    Subject,
    _batches,
    _Chunk,
)
from recombine_lab.probes.subnetwork_probe.mask_settings import MaskConfiguration, MaskSearch, Search, temperature
from recombine_lab.probes.subnetwork_probe.masked_network import Asker, accuracy, layouts_of, state_of
from tests.probes.masks import toys


def problem(search, model=None, *, group="weight"):
    model = model or toys.plain(6)
    parts = components_of(toys.components(rows=100, tests=20), seed=0, allow_repeats=False)
    layouts = layouts_of(model, parameters=None, group=group, heads=None)
    asker = Asker(model, accuracy)
    state = state_of(model)
    learner = MaskLearner(asker, layouts, search, 0, np.log(4))
    jobs = [MaskJob("measured", one.name, made, 1) for one in parts for made in search.configurations]
    by_name = {one.name: one for one in parts}
    others = {one.name: tuple(other for other in parts if other is not one) for one in parts}
    subjects = [Subject(state, by_name[job.component], others[job.component]) for job in jobs]
    return learner, jobs, subjects


def usual(**changed):
    return MaskSearch(**{"steps": 12, "batch_size": 16, **changed}).resolved()


def by_hand(model, data, made, search, chance, steps):
    """Continuous sparsification as published: W * sigmoid(T s), Adam, lambda times the sum."""
    weights = [model[0].weight.detach(), model[2].weight.detach()]
    scores = [torch.full_like(one, made.start).requires_grad_() for one in weights]
    adam = torch.optim.Adam(scores, lr=made.rate, eps=1e-8)
    batches = _batches(data, search.batch, chance)
    epoch = -(-len(data) // search.batch)
    for step in range(steps):
        heat = temperature((step // epoch) / -(-steps // epoch))
        rows = next(batches)
        first, last = (w * torch.sigmoid(heat * s) for w, s in zip(weights, scores, strict=True))
        hidden = torch.relu(nn.functional.linear(rows.inputs, first, model[0].bias))
        answers = nn.functional.linear(hidden, last, model[2].bias)
        loss = nn.functional.cross_entropy(answers, rows.targets)
        loss = loss + made.penalty * sum(torch.sigmoid(heat * s).sum() for s in scores)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return [one.detach() for one in scores]


def test_the_published_mode_is_the_published_loop():
    search = usual(published=True, steps=30, rates=(1e-2,), starts=(0.05,))
    model = toys.plain(6)
    learner, jobs, subjects = problem(search, model)
    for job, subject in zip(jobs, subjects, strict=True):
        chunk = _Chunk(learner, [job], [subject])
        for step in range(30):
            chunk.step(step, 30)
        chance = torch.Generator().manual_seed(derived(0, "mask", job.key))
        expected = by_hand(model, subject.component.fit, job.configuration, search, chance, 30)
        for found, wanted in zip(chunk.scores.values(), expected, strict=True):
            assert torch.allclose(found[0], wanted, atol=1e-5)


def test_the_published_settings_are_those_of_the_paper():
    search = usual(published=True, steps=None)
    assert {one.rate for one in search.configurations} == {1e-2, 1e-4}
    assert {one.start for one in search.configurations} == {-0.05, 0.0, 0.05, 0.1}
    assert {one.penalty for one in search.configurations} == {1e-8}
    assert (search.scaled, search.penalty_shared, search.spread, search.eps, search.final) == (
        False,
        False,
        0,
        1e-8,
        200,
    )
    learner, _, subjects = problem(search)
    assert learner.steps(subjects[0]) == 90 * 5  # 80 rows in batches of 16


@pytest.mark.parametrize("start", [-0.05, 0.0, 0.05, 0.1])
def test_a_scaled_start_is_the_whole_network(start):
    search = Search(configurations=(MaskConfiguration(0.01, start, 0.1),), spread=0.0)
    learner, jobs, subjects = problem(search)
    chunk = _Chunk(learner, jobs[:1], subjects[:1])
    masked, _ = chunk.masked(*chunk.heats(0, 10))
    for name, weight in masked.items():
        assert torch.allclose(weight[0], subjects[0].state[name])


def test_unscaled_every_weight_starts_at_half():
    search = usual(published=True, starts=(0.0,), rates=(1e-2,))
    learner, jobs, subjects = problem(search)
    chunk = _Chunk(learner, jobs[:1], subjects[:1])
    masked, _ = chunk.masked(*chunk.heats(0, 10))
    assert torch.allclose(masked["0.weight"][0], 0.5 * subjects[0].state["0.weight"])


@pytest.mark.parametrize("estimator", ["continuous", "hard concrete", "straight through"])
@pytest.mark.parametrize("against", [0.0, 0.5])
def test_side_by_side_is_what_one_by_one_is(estimator, against):
    search = usual(estimator=estimator, against=against)
    learner, jobs, subjects = problem(search)
    some = [k for k, job in enumerate(jobs) if job.component == "a"]
    learner.asker.together = True
    together = learner.learn([jobs[k] for k in some], [subjects[k] for k in some], lambda _: None)
    for k, one in zip(some, together, strict=True):
        alone = learner.learn([jobs[k]], [subjects[k]], lambda _: None)[0]
        differing = sum(int((one.mask[name] != alone.mask[name]).sum()) for name in one.mask)
        assert differing <= 1  # a score at 0 may fall to either side by rounding
        assert one.held_out == pytest.approx(alone.held_out, abs=0.1)


@pytest.mark.parametrize("group", ["weight", "row", "channel"])
def test_the_slope_of_continuous_masks_is_autograds(group):
    chance = torch.Generator().manual_seed(0)
    layout = layouts_of(toys.plain(6), parameters="0.weight", group=group, heads=None)[0]
    weight = torch.randn(1, *layout.shape, generator=chance)
    heat, scale = torch.tensor([1.0, 7.0]).reshape(2, 1, 1), torch.tensor([2.0, 1.5]).reshape(2, 1, 1)
    push = torch.randn(2, *layout.shape, generator=chance)
    grads = []
    for way in ("ours", "plain"):
        scores = torch.linspace(-1, 1, 2 * layout.groups).reshape(2, *layout.mask).requires_grad_()
        if way == "ours":
            product, opened = Continuous.apply(scores, weight, heat, scale, layout)
        else:
            mask = torch.sigmoid(heat * scores)
            product, opened = weight * mask * scale, mask.flatten(1).sum(1)
        ((product * push).sum() + (opened * torch.tensor([0.3, 2.0])).sum()).backward()
        grads.append((product.detach(), opened.detach(), scores.grad))
    for one, other in zip(*grads, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_the_penalty_is_shared_by_the_weights_and_groups_weigh_what_they_hold():
    search = usual(rates=(0.01,), penalties=(1.0,))
    for group in ("weight", "row", "channel"):
        learner, jobs, subjects = problem(search, group=group)
        chunk = _Chunk(learner, jobs[:1], subjects[:1])
        with torch.no_grad():
            for scores in chunk.scores.values():
                scores.fill_(100.0)
        assert chunk.masked(torch.ones(1), torch.ones(1))[1].item() == pytest.approx(1.0, abs=1e-5)


def test_the_term_against_the_others_lowers_them():
    kept = []
    for against in (0.0, 2.0):
        search = usual(against=against, steps=150, rates=(0.03,), penalties=(0.01,))
        model = toys.trained(16, steps=200)
        learner, jobs, subjects = problem(search, model)
        mask = learner.learn(jobs[:1], subjects[:1], lambda _: None)[0].mask
        weights = {one.name: one.times(subjects[0].state[one.name], mask[one.name])[None] for one in learner.layouts}
        other = subjects[0].others[0].test
        loss = learner.asker.many(weights, subjects[0].state, other, own=False)[0]
        kept.append(float(loss.clamp(max=np.log(4)).mean()))
    assert kept[1] > kept[0]


def test_shuffled_components_have_everybodys_examples():
    parts = components_of(toys.components(rows=100, tests=20), seed=0, allow_repeats=False)
    mixed = shuffled(parts, 3)
    asked = [one.fit.inputs[:, 2 * toys.VALUES].mean().item() for one in mixed]
    assert [len(one.fit) for one in mixed] == [len(one.fit) for one in parts]
    assert all(0.25 < share < 0.75 for share in asked)
    everything = torch.cat([one.fit.inputs for one in parts]).sum(0)
    assert torch.allclose(torch.cat([one.fit.inputs for one in mixed]).sum(0), everything, atol=1e-3)
    assert all(one.test is other.test for one, other in zip(parts, mixed, strict=True))


def test_a_batch_is_always_full_and_an_epoch_has_every_row():
    data = components_of(toys.components(rows=50, tests=20), seed=0, allow_repeats=False)[0].fit
    batches = _batches(data, 16, torch.Generator().manual_seed(0))
    rows = [next(batches) for _ in range(3)]
    assert [len(one) for one in rows] == [16, 16, 16]
    assert len({tuple(row.tolist()) for one in rows for row in one.inputs}) == len(data)


def test_gradients_that_wait_for_one_step_and_those_that_do_not_give_the_same(monkeypatch):
    learner, jobs, subjects = problem(usual())
    found = []
    for few in (0, 10**6):
        monkeypatch.setattr(mask_learning, "_FEW", few)
        chunk = _Chunk(learner, jobs[:1], subjects[:1])
        assert chunk.at_end == bool(few)
        for step in range(6):
            chunk.step(step, 6)
        found.append(chunk.scores)
    assert all(torch.equal(one, found[1][name]) for name, one in found[0].items())
    assert any((one != found[0][name][0, 0]).any() for name, one in found[0].items())
