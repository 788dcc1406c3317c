"""Factors in a text: what a pattern matches, beside Python's own regular expressions, in every verb; slips in words."""

import random
import re

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.cli.app import app
from recombine.data.sources import opened
from recombine.data.text_columns import TextPattern, suggest_pattern
from recombine.data.text_sources import TextSource
from tests.data.lerobot_folders import version_3

PATTERN = "pick the {object} from the {surface}"


def made(tmp_path, texts, *patterns, further=""):
    path = tmp_path / "t.csv"
    lines = "".join(f'{k},"{text}"{further and ",pick the x from the y"}\n' for k, text in enumerate(texts))
    path.write_text(f"id,said{further}\n{lines}", encoding="utf-8")
    with opened(TextSource(str(path), patterns)) as found:
        return found.backend.to_pyarrow(found.table.order_by("id")).to_pydict()


def test_the_words_between_are_the_values_and_a_text_that_does_not_match_has_none(tmp_path):
    texts = [
        "pick the red cup from the table",
        "PICK  the Löffel from the 棚.",
        "wave",
        "",
        "pick the a from the b now!",
    ]
    found = made(tmp_path, texts, PATTERN)
    assert found["object"] == ["red cup", "Löffel", None, None, "a"]
    assert found["surface"] == ["table", "棚", None, None, "b now"]


def test_the_first_of_several_patterns_that_matches_tells(tmp_path):
    found = made(
        tmp_path,
        ["take a cup", "grab cup quickly", "grab pen"],
        "take a {object}",
        "grab {object} {how}",
        "grab {object}",
    )
    assert found["object"] == ["cup", "cup", "pen"]
    assert found["how"] == [None, "quickly", None]


def test_the_engine_matches_as_python_does(tmp_path):
    rng = random.Random(3)
    words = ["pick", "the", "from", "a.b", "(x)", "[y]", "*", "ß", "50 %", "c+d", "pick the"]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(300)]
    texts += ["pick the a.b from the (x)", "pick the (x) from [y]"]
    for pattern in (PATTERN, "pick the {a} from [y]", "{a} (x) {b}", "a.b {rest}", "{a} 50 % {b} c+d"):
        parsed = TextPattern.parse(pattern)
        expected = [re.match(parsed.regex, text) for text in texts]
        if not any(expected):
            continue
        found = made(tmp_path, texts, pattern)
        for place, name in enumerate(parsed.names):
            assert found[name] == [match and match[place + 1] for match in expected]


def test_a_column_is_named_where_two_of_them_match(tmp_path):
    with pytest.raises(SettingError, match="rows of said and note match"):
        made(tmp_path, ["pick the a from the b"], PATTERN, further=",note")
    assert made(tmp_path, ["pick the a from the b"], f"said={PATTERN}", further=",note")["object"] == ["a"]


@pytest.mark.parametrize(
    ("pattern", "error", "said"),
    [
        ("pick the cup", SettingError, "stands in braces"),
        ("pick {a} and {a}", SettingError, "a name of its own"),
        ("pick {}", SettingError, "a name of its own"),
        ("pick {a}{b}", SettingError, "where one ends"),
        ("pick {a", SettingError, "stands in braces"),
        ("pick {a} and {b", SettingError, "not closed"),
        ("push the {object}", TableError, "a row of 'said' reads 'pick the cup'"),
        ("pick the {ID}", ColumnError, "one of that name already"),
    ],
)
def test_a_slip_is_said(tmp_path, pattern, error, said):
    with pytest.raises(error, match=said):
        made(tmp_path, ["pick the cup"], pattern)


def test_a_pattern_is_suggested_from_what_texts_share():
    texts = [f"Pick the {a} from the {b}." for a in ("red cup", "ball") for b in ("table", "top shelf")]
    assert suggest_pattern(texts) == "Pick the {a} from the {b}"
    assert suggest_pattern(["go home", "stay here"]) is None
    assert suggest_pattern(["open it", "open it slowly"]) is None  # nothing stands there in one of them
    assert suggest_pattern(["one"]) is None
    assert suggest_pattern([]) is None


@pytest.fixture
def episodes(tmp_path):
    tasks = [f"pick the {a} from the {b}" for a in ("cup", "ball", "fork") for b in ("table", "shelf", "box")]
    tasks = [*tasks[:8] * 3, "wave"]
    folder = version_3(tmp_path / "d", tasks)
    lines = (f"{k},{'yes' if k % 3 else 'no'},yes,{'test' if k % 8 == 0 else 'train'}\n" for k in range(25))
    (folder / "factors.csv").write_text("episode_index,ok,said,side\n" + "".join(lines))
    return folder


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
def test_every_verb_takes_a_pattern(command, episodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verb, *rest = command.split()
    words = [verb, str(episodes), *rest, "--pattern", PATTERN, "--factors", "object,surface"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code in (0, 3, 4), found.output


def test_rows_that_do_not_match_are_counted_and_said(episodes):
    words = ["audit", str(episodes), "--pattern", PATTERN, "--factors", "object,surface"]
    assert "1 of 25 rows" in " ".join(CliRunner().invoke(app, words).output.split())
    support = recombine.read(TextSource(str(episodes), [PATTERN]), factors=["object", "surface"])
    assert (len(support), support.space.size) == (8, 9)


def test_a_proposal_leaves_out_the_text_that_a_pattern_takes_apart(episodes):
    found = recombine.propose(TextSource(str(episodes), [PATTERN]))
    assert found.column("task").reason == "a pattern takes it apart"
    assert {"object", "surface"} <= set(found.factors)
