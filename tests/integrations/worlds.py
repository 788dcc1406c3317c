"""The toy rows of the examples, and a scoreboard of them."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"
sys.path.insert(0, str(EXAMPLES))

from toy import CLASSES, EVAL, TRAIN, WORDS, Rows, table  # noqa: E402

import recombine  # noqa: E402

__all__ = ["CLASSES", "EVAL", "EXAMPLES", "FACTORS", "TRAIN", "WORDS", "Rows", "board", "table", "whole"]

FACTORS = ["colour", "shape"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def board(rows=EVAL, **given) -> recombine.Scoreboard:
    return recombine.Scoreboard(rows, factors=FACTORS, target="label", train=TRAIN, classes=CLASSES, **given)


def whole(places, rows=EVAL) -> dict[str, float]:
    """What `recombine.evaluate` says of class numbers."""
    said = {**rows, "said": [CLASSES[place] for place in places]}
    found = recombine.evaluate(said, factors=FACTORS, target="label", prediction="said", train=TRAIN, causes=False)
    numbers = {f"{name}_accuracy": found.side(name).score for name in ("seen", "unseen")}
    return numbers | {"gap": found.gap.value, "matched_gap": found.matched.value}


def bert():
    from transformers import BertConfig, BertForSequenceClassification  # noqa: PLC0415

    return BertForSequenceClassification(BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, **SMALL))


def vit():
    from transformers import ViTConfig, ViTForImageClassification  # noqa: PLC0415

    return ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, num_labels=2, **SMALL))
