"""Does a small transformer that finds the wrong sentence hold one part for the subject and another for the verb?

    recombine probe subnetworks examples/probes/agreement.py --report agreement.html

The network is a transformer of two layers. It is shown four sentences, three of which have a subject and a verb in the
singular; in the fourth one, one of the two is in the plural, and the network says which sentence that is. Masks for
*subject* are learned from problems in which the verb's number is left to chance, and those for *verb* the other way
round. Every mask is judged by sentences that nobody has met: in its own test only its own word is ever wrong, and all
else is as it was in training.

The network is trained first and kept in the folder `agreement_network`, from where it is read the next time.
"""

import numpy as np

import recombine_lab
from recombine_lab.tasks import Own
from recombine_studies.tasks.agreement import Agreement
from recombine_studies.tasks.odd_one_out_model import OddOneOut

COMPONENTS = {"subject": "first", "verb": "second"}
NETWORK = OddOneOut(backbone={"name": "transformer", "width": 32, "heads": 4, "layers": 2, "inner": 64}, width=32)
RECIPE = recombine_lab.Recipe(steps=600, lr=1e-3, batch=64, samples=4000, evaluations=3, test_samples=400)

steps, seeds, batch_size = 300, 3, 32
rates, penalties = (0.03,), (0.1, 1.0)


def model():
    """The trained network: the same run, from its store if it is there."""
    task = Agreement(pair="subject_verb")
    (run,) = recombine_lab.fit(task, Own(), NETWORK, RECIPE, store="agreement_network", progress=None)
    return run


def components():
    """For each component what its masks are learned from, and what they are judged by."""
    return {
        name: (problems(f"mask_{which}", 1200), problems(f"target_{which}", 400)) for name, which in COMPONENTS.items()
    }


def problems(which, count):
    """Problems of one set; masks are learned from sentences of the training pool, and judged by those of the other."""
    task = Agreement(pair="subject_verb", set=which)
    every = task.every()
    drawn = np.random.default_rng(0 if which.startswith("mask") else 1).integers(len(every), size=count)
    batch = task.tensors(every[drawn], seed=5, part="train" if which.startswith("mask") else "test")
    return batch.inputs, batch.targets
