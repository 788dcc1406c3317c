"""Networks whose parts are known by construction, and the questions they answer.

The network sees the symbols a and b (one-hot, four values each), which of the two is asked for, and two numbers that
mean nothing and make every example another one. It answers with four numbers, the largest of which names the symbol.
"""

import torch
from torch import Tensor, nn

VALUES = 4
INPUTS = 2 * VALUES + 2 + 2


def questions(asked: int, rows: int, seed: int, *, shared: bool = False) -> tuple[Tensor, Tensor]:
    """Examples that ask for a (0) or for b (1); `shared`: what is asked for is a, or a moved on by one."""
    chance = torch.Generator().manual_seed(seed)
    a, b = torch.randint(VALUES, (2, rows), generator=chance)
    inputs = torch.zeros(rows, INPUTS)
    inputs[torch.arange(rows), a] = 1
    inputs[torch.arange(rows), VALUES + b] = 1
    inputs[:, 2 * VALUES + asked] = 1
    inputs[:, -2:] = torch.randn(rows, 2, generator=chance)
    return inputs, ((a + asked) % VALUES if shared else (a, b)[asked])


def components(rows: int = 400, tests: int = 200, *, seed: int = 0, shared: bool = False):
    return {
        name: (
            questions(k, rows, 10 * seed + 2 * k + 1, shared=shared),
            questions(k, tests, 10 * seed + 2 * k + 2, shared=shared),
        )
        for k, name in enumerate("ab")
    }


def two_blocks(copies: int = 1, gain: float = 4.0) -> nn.Module:
    """A block of hidden units for a and another for b, `copies` times over, each copy enough by itself."""
    hidden = 2 * VALUES * copies
    first, last = nn.Linear(INPUTS, hidden), nn.Linear(hidden, VALUES)
    with torch.no_grad():
        first.weight.zero_()
        first.bias.fill_(-1.0)
        last.weight.zero_()
        last.bias.zero_()
        for unit in range(hidden):
            block, value = divmod(unit % (2 * VALUES), VALUES)
            first.weight[unit, block * VALUES + value] = 1.0
            first.weight[unit, 2 * VALUES + block] = 1.0
            last.weight[value, unit] = gain
    return nn.Sequential(first, nn.ReLU(), last)


def one_shared_block(gain: float = 4.0) -> nn.Module:
    """Both answers are read from the same units: what is asked for is a, or a moved on by one."""
    first, second, last = (
        nn.Linear(INPUTS, VALUES + 2),
        nn.Linear(VALUES + 2, 2 * VALUES),
        nn.Linear(2 * VALUES, VALUES),
    )
    with torch.no_grad():
        for layer in (first, second, last):
            layer.weight.zero_()
            layer.bias.zero_()
        for value in range(VALUES):
            first.weight[value, value] = 1.0
            for asked in range(2):
                unit = asked * VALUES + value
                second.weight[unit, value] = 1.0
                second.weight[unit, VALUES + asked] = 1.0
                second.bias[unit] = -1.0
                last.weight[(value + asked) % VALUES, unit] = gain
        for asked in range(2):
            first.weight[VALUES + asked, 2 * VALUES + asked] = 1.0
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)


def plain(hidden: int = 32, seed: int = 0) -> nn.Module:
    """A network that nobody has trained."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(INPUTS, hidden), nn.ReLU(), nn.Linear(hidden, VALUES))


def trained(hidden: int = 32, seed: int = 0, steps: int = 300, *, shared: bool = False) -> nn.Module:
    """The same, trained on both questions."""
    model = plain(hidden, seed)
    parts = [questions(k, 2000, 1000 + 10 * seed + k, shared=shared) for k in range(2)]
    inputs, targets = (torch.cat(one) for one in zip(*parts, strict=True))
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    chance = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (128,), generator=chance)
        adam.zero_grad()
        nn.functional.cross_entropy(model(inputs[rows]), targets[rows]).backward()
        adam.step()
    return model.eval()
