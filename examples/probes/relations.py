"""Does a small residual network that looks at scenes hold one part for "inside" and another for "touching"?

    recombine probe subnetworks examples/probes/relations.py --report relations.html

The network is shown four pictures. In three of them a small outline lies inside a large one and touches it; in the
fourth it lies outside, or does not touch, or both, and the network says which picture that is. Masks for *inside* are
learned from problems in which touching is left to chance, and those for *contact* the other way round. Every mask is
judged by scenes that nobody has met: in its own test only its own relation is ever broken.

The network is trained first and kept in the folder `relations_network`, from where it is read the next time.
"""

import numpy as np

import recombine_lab
from recombine_lab.tasks import Own
from recombine_studies.tasks.odd_one_out_model import OddOneOut
from recombine_studies.tasks.relations import Relations

COMPONENTS = {"inside": "first", "contact": "second"}
PIXELS = 32
NETWORK = OddOneOut(
    backbone={"name": "resnet", "blocks": [1, 1, 1], "channels": [8, 16, 32], "norm": "instance"}, width=32
)
RECIPE = recombine_lab.Recipe(steps=500, lr=3e-3, batch=32, samples=4000, evaluations=3, test_samples=200)

steps, seeds, batch_size = 150, 3, 8
rates, penalties = (0.05,), (0.1, 1.0)


def model():
    """The trained network: the same run, from its store if it is there."""
    task = Relations(rule="inside_contact", size=PIXELS)
    (run,) = recombine_lab.fit(task, Own(), NETWORK, RECIPE, store="relations_network", progress=None)
    return run


def components():
    """For each component what its masks are learned from, and what they are judged by."""
    return {
        name: (problems(f"mask_{which}", 600), problems(f"target_{which}", 300)) for name, which in COMPONENTS.items()
    }


def problems(which, count):
    """New problems of one set."""
    task = Relations(rule="inside_contact", set=which, size=PIXELS)
    every = task.every()
    chance = np.random.default_rng(0 if which.startswith("mask") else 1)
    batch = task.tensors(
        every[chance.integers(len(every), size=count)], seed=5, part="train" if which.startswith("mask") else "test"
    )
    return batch.inputs, batch.targets
