"""Values that may be another one, written otherwise: what is named, and what never is."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import recombine
from recombine.data.misspellings import _all_written_otherwise, _one_letter_apart, _written_alike, misspellings
from tests.data.test_proposed_targets import TABLES, table_of


def named(counts: dict[str, int]) -> dict[str, str]:
    """Each value that is named, and what may be meant, of a factor with so many rows of each value."""
    column = [value for value, rows in counts.items() for _ in range(rows)]
    found = misspellings(recombine.read({"a": column, "b": [n % 2 for n in range(len(column))]}, factors=["a", "b"]))
    return {one.value: one.meant for one in found}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"blue": 60, "red": 50, "blu": 2}, {"blu": "blue"}),
        ({"blue": 60, "red": 50, "bleu": 1, "green": 40}, {"bleu": "blue"}),
        ({"male": 300, "female": 320, "Male": 9, "femal": 2, "other": 40}, {"Male": "male", "femal": "female"}),
        ({"north": 30, "north ": 30, "south": 20}, {"north ": "north"}),
        ({"New  York": 3, "New York": 40, "Boston": 30}, {"New  York": "New York"}),
        ({"blue": 60, "blu": 40, "red": 50}, {}),  # common enough to be a value of its own
        ({"S1": 90, "S2": 80, "S3": 2}, {}),
        ({"SKUA": 90, "SKUB": 2}, {}),
        ({"sample1": 90, "sample2": 2}, {}),
        ({"A": 60, "a": 4}, {}),  # two alleles
        ({"cat": 90, "bat": 2, "dog": 80}, {}),
        ({"west": 90, "east": 80, "test": 2, "rest": 2}, {}),
        ({"2020": 90, "2021": 2}, {}),
        ({"boot": 50, "boots": 45, "coat": 60, "coats": 2}, {}),  # one letter tells values apart here
    ],
)
def test_what_is_named(counts: dict[str, int], expected: dict[str, str]) -> None:
    assert named(counts) == expected


def test_a_list_of_names_has_no_misspellings() -> None:
    names = {"Anna": 90, **dict.fromkeys(("Anne", "Hanna", "Annas", "Berta", "Carla", "Doris"), 1)}
    assert named(names) == {}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_realistic_tables_raise_no_alarm(name: str) -> None:
    assert recombine.propose(table_of(name)).misspellings == ()


def test_numbers_and_declared_values_are_never_misspelt() -> None:
    table = {"a": [1] * 50 + [11], "b": ["blue"] * 50 + ["blu"]}
    assert misspellings(recombine.read(table, factors=["a", "b"], domain={"b": ["blue", "blu"]})) == ()


def test_one_letter_apart_is_that_of_a_twin() -> None:
    """Every string that one slip behind the first letter makes of a word."""
    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("ab"), rng.integers(3, 7))) for _ in range(60)})

    def slips(word: str) -> set[str]:
        found = {word[:k] + word[k + 1 :] for k in range(1, len(word))}
        found |= {word[:k] + letter + word[k:] for k in range(1, len(word) + 1) for letter in "ab"}
        found |= {word[:k] + letter + word[k + 1 :] for k in range(1, len(word)) for letter in "ab"}
        return found | {word[:k] + word[k + 1] + word[k] + word[k + 2 :] for k in range(1, len(word) - 1)}

    expected = {
        frozenset((one, other))
        for one in words
        for other in words
        if one != other and other in slips(one) and max(len(one), len(other)) >= 4
    }
    assert {frozenset(pair) for pair in _one_letter_apart(words)} == expected


@given(st.lists(st.text("aAß \t\n", max_size=4), min_size=2, max_size=5, unique=True))
@example(["a", "b"])
@example(["a ", "a"])
def test_what_one_long_text_rules_out_is_not_written_alike(values: list[str]) -> None:
    """The quick look at many values never passes over two that the slow one would name."""
    assert not _all_written_otherwise(values) or not _written_alike(dict.fromkeys(values, 1.0))
    assert _all_written_otherwise(["blue", "red"])
    assert not _all_written_otherwise(["blue", "Blue"])


def test_an_audit_and_a_proposal_name_them(tmp_path) -> None:
    table = {"colour": ["blue", "red"] * 40 + ["blu"] * 2, "shape": ["disc", "bar", "cube"] * 27 + ["bar"]}
    audit = recombine.audit(table, factors=["colour", "shape"])
    said = "Perhaps misspelt: colour 'blu' (2 rows) may be 'blue'."
    assert said in audit.reasons
    assert audit.record().data["misspellings"][0]["meant"] == "blue"
    assert recombine.Audit.from_record(audit.record()) == audit
    assert "may be &#39;blue&#39;" in audit.page(tmp_path / "audit.html").read_text()
    assert said in recombine.propose(table).verdict


@pytest.mark.parametrize(("words", "kept"), [(("yes", "no"), ("no", "yes")), (("Y", "N"), ("N", "Y"))])
@pytest.mark.parametrize("mark", [",", ";"])
def test_yes_and_no_of_a_csv_stay_words(words, kept, mark, tmp_path) -> None:
    lines = [mark.join(("shape", "lined")), *(mark.join((f"s{n % 3}", words[n % 2])) for n in range(12))]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    assert recombine.read(tmp_path / "rows.csv", factors=["shape", "lined"]).space.factors[1].labels == kept


def test_labels_are_shown_as_they_stand(tmp_path) -> None:
    """White space, case, zeros in front, numbers with a fraction; true and false are booleans, and shown as such."""
    rows = [" blue,True,007,1.0", "red ,False,010,2.5", "Red,True,010,1.0", "red ,True,007,2.5"]
    (tmp_path / "rows.csv").write_text("\n".join(["colour,flag,code,size", *rows]))
    found = recombine.read(tmp_path / "rows.csv", factors=["colour", "flag", "code", "size"]).space.factors
    assert found[0].labels == (" blue", "Red", "red ")
    assert found[1].labels == ("false", "true")
    assert found[2].labels == ("007", "010")
    assert found[3].labels == ("1.0", "2.5")
