"""Amounts in words: what is printed is never more than what is known."""

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recombine.base import words


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.9996, "99.96 %"), (0.0004, "0.04 %"), (0.9951, "99.5 %"),
        (0.0051, "0.5 %"), (0.0099, "1 %"), (0.99, "99 %"), (1e-9, "under 0.01 %"), (1 - 1e-9, "over 99.99 %"),
        (1.04, "104 %"), (-0.03, "-3 %"), (-0.0004, "-0.04 %"), (math.nan, "not known"),
    ],
)  # fmt: skip
def test_a_share_in_percent(share: float, said: str) -> None:
    assert words.percent(share) == said


def test_only_all_is_all_and_only_none_is_none() -> None:
    for place in range(1, 100_000):
        assert words.percent(place / 100_000) not in ("0 %", "100 %")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.74, 0.87, "74 to 87 %"), (0.9981, 1.0, "99.8 to 100 %"), (0.0, 0.0004, "0 to 0.04 %"), (1.0, 1.0, "100 %"),
        (0.611, 0.613, "61.1 to 61.3 %"), (0.6111, 0.6112, "61.1 %"), (-0.02, 0.11, "-2 to 11 %"),
        (math.nan, 0.5, "not known"),
    ],
)  # fmt: skip
def test_an_interval_of_shares(low: float, high: float, said: str) -> None:
    assert words.percent_range(low, high) == said


def test_a_difference_is_counted_in_points() -> None:
    assert words.points(0.19) == "19 points"
    assert words.points(0.008) == "0.8 points"
    assert words.points(0.01) == "1 point"
    assert words.points(-0.995) == "-99.5 points"
    assert words.points_range(0.008, 0.19) == "0.8 to 19 points"


def test_a_combination_bears_its_factors_names() -> None:
    usual = {"material": "wool", "garment": "coat", "lined": False}
    assert words.named(usual) == "material=wool, garment=coat, lined=false"
    assert words.named(usual | {"lined": True}, usual=usual) == "lined=true, otherwise as usual"
    assert words.named(usual, usual=usual) == "as usual"
    assert words.named({"material": "silk"}, usual=usual) == "material=silk"


FORBIDDEN = {
    r"\bright in \{": "gets … right",
    r"\bgraded broken\b": "say what is missing",
    r"\bhold a pipeline\b": "use as a CI gate",
    r"\ba slope of \{": "effects shrink to … of their size",
    r"\b(behavior|neighbor|favor|honor|labor)s?\b": "British: -our",
    r"\bcolor(s|ed)?\b(?! ?[:=-])": "British: colour",
    r"\b(generaliz|memoriz|summariz|recogniz|normaliz|standardiz|visualiz|penaliz|organiz)\w*": "British: -is-",
    r"\b(analyz|center|fulfill)(e|ed|es|ing|s)?\b": "British: analyse, centre, fulfil",
}
"""Words of no sentence of ours, and what to say instead (architecture/sentences.md)."""
SOURCE = Path(words.__file__).parent
_ALLOWED = {"compositional generalization"}  # the name of the field


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the package that reads like a sentence, and where it stands; documentation is none of them."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spoken_about = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if id(node) in spoken_about:
                continue
            if isinstance(node, ast.JoinedStr):
                said = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                said = node.value
            else:
                continue
            if said.count(" ") >= 2:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", said


def wrong_words(said: str) -> list[str]:
    for allowed in _ALLOWED:
        said = said.replace(allowed, "")
    return [instead for pattern, instead in FORBIDDEN.items() if re.search(pattern, said)]


@pytest.mark.slow
def test_no_sentence_has_words_that_nobody_says() -> None:
    found = [f"{place}: {said!r}: {wrong_words(said)}" for place, said in sentences() if wrong_words(said)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "said",
    ["it is right in {} of them", "hold a pipeline to it", "the color of it", "it memorizes all", "a slope of {}"],
)
def test_the_lint_of_words_can_fail(said: str) -> None:
    assert wrong_words(said)
    assert not wrong_words("on compositional generalization, it gets {} right in colour: this memorises")
