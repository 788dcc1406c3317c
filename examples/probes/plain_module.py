"""A probe of a plain torch module: are there separate parts for the left and for the right half of the input?

    recombine probe subnetworks examples/probes/plain_module.py --report plain_module.html

The file is the question: each function and each name that is a setting of `recombine_lab.probes.subnetworks` is given
to it. This network has two blocks that share no weight, one for each half, so the answer should be *modular*.
"""

import torch
from torch import nn

HALF, CLASSES = 6, 4

steps, seeds = 100, 3


def model():
    """Any module; yours would be loaded from its safetensors here."""
    network = nn.Sequential(
        nn.Linear(2 * HALF, 2 * CLASSES, bias=False), nn.ReLU(), nn.Linear(2 * CLASSES, CLASSES, bias=False)
    )
    with torch.no_grad():
        network[0].weight.zero_()
        for block in range(2):
            rows, columns = slice(block * CLASSES, (block + 1) * CLASSES), slice(block * HALF, block * HALF + CLASSES)
            network[0].weight[rows, columns] = torch.eye(CLASSES)
        network[2].weight.copy_(torch.eye(CLASSES).repeat(1, 2))
    return network


def components():
    """For each component (what its masks are learned from, what they are judged by), both (inputs, targets)."""
    return {"left": (examples(0, 400, 1), examples(0, 200, 2)), "right": (examples(1, 400, 3), examples(1, 200, 4))}


def examples(half, count, seed):
    """Which of the first numbers of one half is the largest? The other half is empty."""
    inputs = torch.zeros(count, 2 * HALF)
    inputs[:, half * HALF : (half + 1) * HALF] = 9 * torch.rand(
        count, HALF, generator=torch.Generator().manual_seed(seed)
    )
    return inputs, inputs[:, half * HALF : half * HALF + CLASSES].argmax(1)
