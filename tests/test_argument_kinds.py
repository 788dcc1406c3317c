"""What is of another kind than a signature names ends in words, and not in an error of Python's own."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import pandas as pd
import pytest

import recombine
from recombine import IntervalSettings
from recombine.base.argument_kinds import _kinds_of, explain_kinds
from recombine.base.errors import SettingError

TABLE = {
    "material": ["wool", "wool", "silk", "silk", "denim", "denim", "wool"] * 3,
    "garment": ["coat", "hat", "hat", "scarf", "coat", "scarf", "scarf"] * 3,
    "label": [0, 1, 0, 1, 1, 0, 1] * 3,
    "said": [0, 1, 0, 0, 1, 0, 1] * 3,
    "split": ["train", "test", "train"] * 7,
}
FACTORS = {"factors": ["material", "garment"]}
TARGET = {**FACTORS, "target": "label"}
ASKED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "audit": ([TABLE], TARGET),
    "predict": ([TABLE], TARGET),
    "plan": ([TABLE], FACTORS),
    "split": ([TABLE], {**FACTORS, "column": "side"}),
    "lint": ([TABLE], {**FACTORS, "split": "split"}),
    "evaluate": ([TABLE], {**TARGET, "prediction": "said", "split": "split"}),
    "rehearse": ([TABLE, "additive"], TARGET),
    "read": ([TABLE], TARGET),
    "backtest": ([TABLE], TARGET),
    "propose": ([TABLE], {}),
}
OTHERS = {"audit_stored", "diff", "evaluate_stored", "evaluate_vectors", "store_counts"}
"""They are explained likewise, and take what takes a file to make."""
WITHOUT = {"check_split", "compound_divergence", "limited", "load", "train_test_split"}
"""What takes scikit-learn's arguments, numbers, or a place alone."""
FUNCTIONS = {name: one for name in recombine.__all__ if inspect.isfunction(one := getattr(recombine, name))}
ODD = [object(), 5, "margin", None, [1, 2], {"a": 1}, np.array([0.1, 0.2]), 2.5]


def test_none_is_forgotten() -> None:
    assert set(FUNCTIONS) == set(ASKED) | OTHERS | WITHOUT
    assert all(FUNCTIONS[name].__wrapped__ for name in set(ASKED) | OTHERS)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("name", ASKED)
def test_odd_arguments(name: str, odd: Any, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # one of them is a fine name of a folder
    verb, (first, usual) = FUNCTIONS[name], ASKED[name]
    out = {"out": tmp_path / "held.csv", "force": True} if name == "split" else {}
    verb(*first, **usual, **out)
    for argument in _kinds_of(inspect.unwrap(verb)).keys() - {"source", "table", "learner", "predictions", "return"}:
        with suppress(recombine.RecombineError):  # whatever else it raises ends the test
            verb(*first, **{**usual, **out, argument: odd})


STUMBLE = object()


class Options(TypedDict, total=False):
    """As a verb has them."""

    where: str | Callable[[Any], Any]
    sets: Mapping[str, str] | None


@explain_kinds
def echo(
    source: Any = None,
    *,
    names: Sequence[str] | None = None,
    share: float = 0.5,
    seed: int = 0,
    weighted: bool = True,
    place: str | Path = "",
    goal: Literal["a", "b"] = "a",
    values: np.ndarray | None = None,
    intervals: IntervalSettings | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """What it was given, unless nothing can be made of it."""
    if source is STUMBLE:
        raise TypeError
    return locals()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"names": pd.Index(["a"])},
        {"names": np.array(["a"])},
        {"names": "a"},  # that one text is no list of names is said by those who read them
        {"names": None},
        {"share": 1},
        {"share": np.float32(0.5)},
        {"seed": np.int64(3)},
        {"weighted": np.bool_(True)},
        {"place": Path("x")},
        {"goal": "b"},
        {"values": np.zeros(2)},
        {"intervals": IntervalSettings()},
        {"where": lambda table: table},
        {"sets": {"a": "b:+"}},
    ],
)
def test_what_users_may_give(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):  # it stays as it is: what was given is no reason
        echo(**{"source": STUMBLE, **given})


@pytest.mark.parametrize(
    ("given", "why", "instead"),
    [
        ({"names": 5}, "it is an int, where a list is asked for", "write names=[…]"),
        ({"share": "0.5"}, "it is a str, where a number is asked for", "write share=0.5"),
        ({"share": None}, "None stands for nothing here, where a number is asked for", "write share=0.5"),
        ({"seed": 2.5}, "it is a float, where a whole number is asked for", "write seed=5"),
        ({"weighted": "no"}, "it is a str, where True or False is asked for", "write weighted=True"),
        ({"place": 1}, "it is an int, where a text or a path is asked for", "write place='…'"),
        ({"values": [1]}, "it is a list, where ndarray is asked for", "write values=ndarray(…)"),
        (
            {"intervals": 2000},
            "it is an int, where IntervalSettings is asked for",
            "write intervals=IntervalSettings(…)",
        ),
        ({"where": 1}, "it is an int, where a text or a function is asked for", "write where='…'"),
        ({"goal": "c"}, "it is a str, where one of 'a', 'b' is asked for", "write goal='a'"),
        ({"sets": ["a"]}, "it is a list, where a mapping is asked for", "write sets={…}"),
    ],
)
def test_the_words(given: dict[str, Any], why: str, instead: str) -> None:
    with pytest.raises(SettingError) as refused:
        echo(STUMBLE, **given)
    assert (refused.value.why, refused.value.instead) == (why, instead)


def test_a_verb_still_shows_its_own_signature() -> None:
    assert list(inspect.signature(recombine.audit).parameters)[:3] == ["source", "factors", "target"]
