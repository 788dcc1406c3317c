"""Concepts in captions: what the engine finds beside a plain reading word by word, in every verb; slips in words."""

import json
import re
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError, TableError
from recombine.cli.app import app
from recombine.data.captions import ConceptWords, with_concepts
from recombine.data.engine import OpenTable
from recombine.data.sources import opened
from recombine.data.text_sources import TextSource
from recombine.data.word_kinds import tell_kinds
from tests.commands import run_command
from tests.properties import examples

WORDS = "colour: red, dark green, blue = navy\nsize: big\nobject: cube = block, glass, ball"
PAIRS = "colour: red, dark green, blue = navy; object: cube = block, glass, ball"


def made(folder, texts, concepts=PAIRS, **further):
    path = folder / "captions.parquet"
    pq.write_table(pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string()), **further}), path)
    return TextSource(str(path), concepts=concepts)


def rows_of(source):
    with opened(source) as found:
        return found.backend.to_pyarrow(found.table).to_pylist()


def read_word_by_word(text, kinds):
    """The phrases of a text, by trying every word as the beginning of one."""
    *modifiers, heads = kinds.values()
    words = [(one.group().lower(), one.start(), one.end()) for one in re.finditer(r"\w+", text)]

    def gap(place):
        return text[words[place - 1][2] : words[place][1]]

    def said(start, size):
        joined = all(set(gap(k)) <= set(" -\t\n") for k in range(start + 1, start + size))
        return " ".join(word for word, *_ in words[start : start + size]) if joined else None

    place, found = 0, []
    while place < len(words):
        here, run = place, []
        while True:
            taken = next(
                (
                    (k, n)
                    for n in (2, 1)
                    for k, kind in enumerate(modifiers)
                    if here + n < len(words) and said(here, n) in kind
                ),
                None,
            )
            if taken is None or not set(gap(here + taken[1])) <= set(" -,\t\n"):
                break
            run.append((taken[0], modifiers[taken[0]][said(here, taken[1])]))
            here += taken[1]
            if set(gap(here)) <= set(" -\t\n"):
                head = words[here][0]
                head = next(
                    (one for one in (head, head.removesuffix("es"), head.removesuffix("s")) if one in heads), None
                )
                if head is not None:
                    several = [
                        list(dict.fromkeys(word for k, word in run if k == j)) or [None] for j in range(len(modifiers))
                    ]
                    found += [(*one, heads[head]) for one in product(*several)]
                    place = here
                    break
        place += 1
    return found


NOISE = ["the", "dark", "rot", "CUBES", "cube", "blocks", "glasses", "ball", "Red", "redd", "dark green", "navy", "big"]
TEXTS = st.lists(st.tuples(st.sampled_from(NOISE), st.sampled_from([" ", "-", ", ", ". ", " and ", " (", "é ", "\n"])))


@pytest.mark.slow
@examples(40)
@given(texts=st.lists(TEXTS.map(lambda parts: "".join(word + gap for word, gap in parts)), min_size=5, max_size=30))
def test_the_engine_reads_as_one_does_word_by_word(tmp_path_factory, texts):
    source = made(tmp_path_factory.mktemp("captions"), ["A big red cube.", *texts], WORDS)
    names = source.concepts.names
    found = sorted(
        (row["id"], *(row[name] or "" for name in names)) for row in rows_of(source) if row["object"] is not None
    )
    kinds = source.concepts.kinds
    expected = [(k + 1, one) for k, text in enumerate(texts) for one in read_word_by_word(text, kinds)]
    assert found == sorted([(0, "red", "big", "cube"), *((k, *(word or "" for word in one)) for k, one in expected)])


def test_a_row_is_a_phrase_and_a_caption_without_one_stays(tmp_path):
    texts = [
        "A photo of a RED cube and two dark-green blocks, a navy glass",
        "red, cube",  # a list of tags says nothing of a red cube
        "It is red. Cube on the table",
        "a red cubed",  # no cube
        "tired cube; infrared glasses; red glasses",
        "",
        None,
    ]
    found = [(row["id"], row["colour"], row["object"]) for row in rows_of(made(tmp_path, texts))]
    said = [(0, "red", "cube"), (0, "dark green", "cube"), (0, "blue", "glass"), (4, "red", "glass")]
    none = [(k, None, None) for k in (1, 2, 3, 5, 6)]
    assert sorted(found, key=str) == sorted([*said, *none], key=str)


def test_several_words_of_a_kind_are_several_rows(tmp_path):
    found = rows_of(made(tmp_path, ["a big, red dark green ball", "a red ball"], WORDS))
    kept = {(row["id"], row["size"], row["colour"], row["object"]) for row in found}
    assert kept == {(0, "big", "red", "ball"), (0, "big", "dark green", "ball"), (1, None, "red", "ball")}


def test_words_of_one_kind_are_a_set(tmp_path):
    texts = ["Red cubes and a navy cube", "nothing", None, "die rote Würfel, zwei Bücher; été"]
    found = rows_of(made(tmp_path, texts, "things: red, blue = navy, cube, würfel, Bücher, été"))
    said = {row["id"]: row["things"] if row["things"] is None else sorted(row["things"]) for row in found}
    assert said == {0: ["blue", "cube", "red"], 1: [], 2: None, 3: ["bücher", "würfel", "été"]}
    support = recombine.read(made(tmp_path, texts, "things: red, cube, navy"), sets={"things": "things"})
    assert support.left_out["(any)"] == 1


def test_a_file_lists_words_by_kind_or_without(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("colour: red, # the usual one\n dark green\nobject: cube = block\n", encoding="utf-8")
    assert ConceptWords.parse(f"text={path}").kinds == {
        "colour": {"red": "red", "dark green": "dark green"},
        "object": {"cube": "cube", "block": "cube"},
    }
    path.write_text("red\ndark-green\n", encoding="utf-8")
    assert ConceptWords.parse(str(path)).kinds == {"concepts": {"red": "red", "dark green": "dark green"}}


@pytest.mark.parametrize(
    ("concepts", "error", "said"),
    [
        ("absent.txt", SourceError, "cannot read 'absent.txt'"),
        ("colour: , ;", SettingError, "no word in it"),
        (": red", SettingError, "a kind has no name"),
        ("text=red", SettingError, "neither a file nor a kind"),
        ("", SettingError, "neither a file nor a kind"),
        ("a: red = rot, blue = rot; b: cube", SettingError, "'rot' stands for both 'red' and 'blue'"),
        ("a: (red), blue; b: cube", SettingError, r"'\(red\)' is no word"),
        ("ID: red, blue; b: cube, ball", ColumnError, "one of that name already"),
        ("txt=a: red; b: cube", ColumnError, "Did you mean 'text'|did you mean 'text'|text"),
        ("id=a: red; b: cube", ColumnError, "are no text"),
        ("a: purple; b: cube", TableError, "a row of 'text' reads 'a red cube'"),
        ("a: " + ",".join(f"w{k}" for k in range(10_001)), SettingError, "more than 10,000 words"),
        ("text", SettingError, "none can be proposed"),
    ],
)
def test_a_slip_is_said(tmp_path, concepts, error, said):
    with pytest.raises(error, match=said):
        rows_of(made(tmp_path, ["a red cube", "a blue ball"], concepts))


def test_words_are_proposed_by_what_stands_beside_them(tmp_path):
    texts = [
        f"A photo of a {a} {b} standing on the {c}."
        for a in ("red", "old")
        for b in ("cube", "dogs", "dog")
        for c in ("mat", "bed")
    ]
    with pytest.raises(SettingError, match="attribute: old, red; object: dog, cube") as error:
        rows_of(made(tmp_path, texts * 3, "text"))
    assert "standing" not in str(error.value)
    assert tell_kinds({}, most=3) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"cut short", "check that the file is whole"),
        ({"text": pa.array([None] * 5, pa.string())}, "'text' holds no text"),
        ({"text": pa.nulls(5)}, "no column of text"),
        ({"other": [1, 2]}, "no column of text"),
        ({"text": pa.array([], pa.string())}, "'text' holds no text"),
    ],
)
def test_a_bad_file_is_said_without_a_traceback(tmp_path, content, said):
    path = tmp_path / "bad.parquet"
    if isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    else:
        pq.write_table(pa.table({"text": ["a red cube"] * 1_000}), path)
        path.write_bytes(path.read_bytes()[:200] if content else b"")
    found = run_command(tmp_path, "audit", "bad.parquet", "--concepts", PAIRS, "--factors", "colour,object")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert re.search(said, found.stderr)


@pytest.mark.slow
def test_a_million_rows_of_one_long_caption_are_read_in_little_memory(tmp_path):
    long = "a red cube " + "and a thing " * 400 + " and a blue ball"
    path = tmp_path / "long.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 10**6, pa.int32()), pa.array([long]))
    pq.write_table(pa.table({"text": column}), path)
    support = recombine.read(TextSource(str(path), concepts=PAIRS), factors=["colour", "object"])
    assert support.rows == 2 * 10**6


COMMANDS = [
    "audit",
    "plan --goal pairs",
    "split --out held.parquet",
    "lint --split side",
    "predict --target ok",
    "rehearse --target ok",
    "evaluate --target ok --prediction said --split side",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_verb_takes_concepts(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [*product(("red", "dark green", "blue"), ("cube", "glass", "ball"))][:8] * 4
    texts = [f"a {colour} {thing} and a wall" for colour, thing in pairs]
    sides = ["train" if k % 8 else "test" for k in range(len(texts))]
    yes = ["yes" if k % 3 else "no" for k in range(len(texts))]
    source = made(tmp_path, [*texts, "a wall"], ok=[*yes, "no"], said=["yes"] * 33, side=[*sides, "train"])
    verb, *rest = command.split()
    words = [verb, str(source), *rest, "--concepts", PAIRS, "--factors", "colour,object", "--where", "id >= 0"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code in (0, 3, 4), found.output


def test_an_engine_other_than_duckdb_is_refused_in_words(tmp_path):
    class Elsewhere:
        name = "postgres"

    with pytest.raises(RecombineError, match="this table lies in postgres"):
        with_concepts(OpenTable(None, Elsewhere(), "t"), ConceptWords.parse(PAIRS))


def test_skills_of_prompts_in_lines_of_json_are_a_set(tmp_path):
    """The shape of GenEval 2: a prompt, how many atoms it has, questions about them, and what each of them asks for."""
    skills = [["object", "attribute"], ["object", "counting"], ["object", "attribute", "relation"], ["object"]] * 5
    lines = [
        {"prompt": f"prompt {k}", "atom_count": len(some), "vqa_list": [["is it?", "yes"]] * len(some), "skills": some}
        for k, some in enumerate(skills)
    ]
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    audit = recombine.audit(str(path), sets={"skills": "skills"})
    assert {str(pair) for pair in audit.uncovered} == {
        "skills=attribute with skills=counting",
        "skills=counting with skills=relation",
    }
    assert CliRunner().invoke(app, ["audit", str(path), "--set", "skills=skills"]).exit_code == 0
