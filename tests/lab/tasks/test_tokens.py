"""Words as numbers, and back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import TableError
from recombine_lab.tasks.tokens import END, PADDING, Vocabulary

_WORDS = ("a", "bc", "d", "é")
_TEXTS = st.lists(st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join), min_size=1, max_size=8)


@given(_TEXTS, st.booleans(), st.integers(0, 3))
def test_encoding_is_what_a_loop_over_words_gives(texts, end, spare) -> None:
    longest = max(len(text.split()) for text in texts) + end
    rows = Vocabulary(_WORDS).encode(texts, length=longest + spare, end=end)
    for row, text in zip(rows.tolist(), texts, strict=True):
        expected = [_WORDS.index(word) + 2 for word in text.split()] + [END] * end
        assert row == expected + [PADDING] * (longest + spare - len(expected))


@given(_TEXTS, st.booleans())
def test_decoding_gives_the_texts_back(texts, end) -> None:
    vocabulary = Vocabulary(_WORDS)
    assert vocabulary.decode(vocabulary.encode(texts, end=end)) == [" ".join(text.split()) for text in texts]


def test_what_follows_the_end_is_not_read() -> None:
    assert Vocabulary(("a", "b")).decode(torch.tensor([[2, END, 3], [3, PADDING, 2], [2, 3, 2]])) == ["a", "b", "a b a"]


def test_no_texts_are_no_rows() -> None:
    assert Vocabulary(_WORDS).encode([], length=3).shape == (0, 3)


def test_an_unknown_word_and_a_text_that_is_too_long_are_told() -> None:
    with pytest.raises(TableError, match=r"the word 'x'\n.*not among the 4 words"):
        Vocabulary(_WORDS).encode(["a x"])
    with pytest.raises(TableError, match=r"a text of 3 tokens, its end counted\n.*room for 2\n.*length=3"):
        Vocabulary(_WORDS).encode(["a d"], length=2, end=True)
