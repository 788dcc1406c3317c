"""Pretraining without labels: two views of a picture that belong together, or words that are covered.

Both train a module where it stands, and hand back the loss of each step; `fit(weights=module.state_dict())` goes on
from there.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from recombine.base.checks import check_number, check_whole
from recombine.base.seeds import derived
from recombine_lab.models.sequences import Encoder
from recombine_lab.tasks.tokens import PADDING

_SHIFT, _GREY, _JITTER = 0.1, 0.2, 0.4
"""Views: how far a picture is moved, as a share of half its side; how often it is grey; how far colours are turned up
or down."""


def contrastive(
    module: nn.Module,
    pictures: Tensor,
    *,
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    temperature: float = 0.1,
    seed: int = 0,
) -> list[float]:
    """Pictures (n, channels, side, side): two views of one come out alike, those of others do not (SimCLR).

    The module gives a vector for each picture. The rate falls to a fiftieth along half a cosine.
    """
    check_number("temperature", temperature, above=0)
    rng = torch.Generator().manual_seed(derived(seed, "contrastive"))

    def loss() -> Tensor:
        chosen = pictures[torch.randint(len(pictures), (batch,), generator=rng)]
        one, other = module(views(chosen, rng)), module(views(chosen, rng))
        return pairs_apart(one, other, temperature)

    return _trained(module, loss, steps=steps, batch=batch, lr=lr)


def pairs_apart(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """The mean over 2n vectors of the cross-entropy with which each finds its partner among the others, by cosine.

    >>> same = torch.eye(2)
    >>> round(float(pairs_apart(same, same, 1.0)), 4)  # log(e + 2) - 1
    0.5514
    """
    z = f.normalize(torch.cat([one, other]), dim=1)
    likeness = (z @ z.T / temperature).fill_diagonal_(-math.inf)
    partners = torch.arange(len(z)).roll(len(one)).to(z.device)
    return f.cross_entropy(likeness, partners)


def views(pictures: Tensor, rng: torch.Generator) -> Tensor:
    """Each picture turned by quarters, mirrored, moved a little, its colours changed; nothing is cut or bent."""
    n = len(pictures)
    quarters = torch.randint(4, (n,), generator=rng) * (math.pi / 2)
    mirrored = torch.randint(2, (n,), generator=rng) * 2.0 - 1.0
    shift = _SHIFT * (2 * torch.rand(n, 2, generator=rng) - 1)
    cosine, sine = quarters.cos(), quarters.sin()
    rows = torch.stack([cosine * mirrored, -sine, shift[:, 0], sine * mirrored, cosine, shift[:, 1]], dim=1)
    places = f.affine_grid(rows.reshape(n, 2, 3), list(pictures.shape), align_corners=False)
    moved = f.grid_sample(pictures, places, padding_mode="border", align_corners=False)
    return _recoloured(moved, rng)


def _recoloured(pictures: Tensor, rng: torch.Generator) -> Tensor:
    """Channels turned up or down around the brightest value, which is the ground; some pictures without colour."""
    n, channels = pictures.shape[:2]
    gain = 1 + _JITTER * (2 * torch.rand(n, channels, 1, 1, generator=rng) - 1)
    ground = pictures.amax(dim=(2, 3), keepdim=True)
    coloured = ground + gain * (pictures - ground)
    grey = torch.rand(n, 1, 1, 1, generator=rng) < _GREY
    return torch.where(grey, coloured.mean(dim=1, keepdim=True), coloured)


def masked_tokens(
    encoder: Encoder,
    tokens: Tensor,
    *,
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    share: float = 0.15,
    seed: int = 0,
) -> list[float]:
    """Rows of tokens (n, length): a share of the words is covered, and told from those around them (BERT).

    Words are scored by their own embeddings. What stands in the place of a covered word is learned, and thrown away.
    """
    check_number("share", share, above=0, below=1)
    rng = torch.Generator().manual_seed(derived(seed, "covered words"))
    embed: nn.Embedding = encoder.body.embeddings.word_embeddings
    cover = nn.Parameter(torch.zeros(embed.embedding_dim))

    def loss() -> Tensor:
        rows = tokens[torch.randint(len(tokens), (batch,), generator=rng)]
        covered = covered_words(rows, share, rng)
        states = encoder.states(torch.where(covered[..., None], cover, embed(rows)), rows != PADDING)
        return f.cross_entropy(states[:, 1:][covered] @ embed.weight[: encoder.words].T, rows[covered])

    return _trained(encoder, loss, steps=steps, batch=batch, lr=lr, more=[cover])


def covered_words(rows: Tensor, share: float, rng: torch.Generator) -> Tensor:
    """Which words of each row are covered: a share of them by chance, at least one, never padding.

    >>> covered_words(torch.tensor([[5, 6, 0]]), 0.01, torch.Generator().manual_seed(0)).sum().item()
    1
    """
    drawn = torch.rand(rows.shape, generator=rng).masked_fill(rows == PADDING, 2.0)
    return (drawn < share) | (drawn == drawn.min(dim=1, keepdim=True).values) & (rows != PADDING)


def _trained(
    module: nn.Module,
    loss: Callable[[], Tensor],
    *,
    steps: int,
    batch: int,
    lr: float,
    more: list[nn.Parameter] | None = None,
) -> list[float]:
    check_whole("steps", steps, least=1)
    check_whole("batch", batch, least=2)
    check_number("lr", lr, above=0)
    optimiser = torch.optim.AdamW([*module.parameters(), *(more or [])], lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=lr / 50)
    module.train()
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        found = loss()
        found.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        losses.append(float(found.detach()))
    module.eval()
    return losses
