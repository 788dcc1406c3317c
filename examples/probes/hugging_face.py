"""A probe of a Hugging Face model: a tiny BERT, which takes its inputs by name and gives an object with `logits`.

    recombine probe subnetworks examples/probes/hugging_face.py --report hugging_face.html

Inputs by name are a mapping of tensors, as a tokenizer gives them; `forward` says where the answer is in what the model
gives. The BERT here is random and was taught nothing, so the answer is *not sufficient* before anything is learned: a
part of a network that does not do a task is no evidence of anything. Load your own in `model`, for example
`BertForSequenceClassification.from_pretrained(folder)`, and let a tokenizer make the examples.
"""

import torch
from transformers import BertConfig, BertForSequenceClassification

WORDS, LENGTH = 30, 6

steps, seeds, batch_size = 20, 2, 32
parameters = ["bert.encoder.*dense.weight", "bert.encoder.*self.*.weight"]


def model():
    """A random BERT of one layer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LENGTH,
        num_labels=2,
    )
    return BertForSequenceClassification(config)


def forward(model, inputs):
    """How it is asked about a batch."""
    return model(**inputs).logits


def components():
    """Is the first word, or the last one, in the second half of the vocabulary?"""
    return {"first": (examples(0, 200, 1), examples(0, 100, 2)), "last": (examples(-1, 200, 3), examples(-1, 100, 4))}


def examples(place, count, seed):
    """Random sentences, and whether the word at a place is in the second half of the vocabulary."""
    words = torch.randint(1, WORDS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    inputs = {"input_ids": words, "attention_mask": torch.ones_like(words)}
    return inputs, (words[:, place] >= WORDS // 2).long()
