"""SCAN: the grammar against a reader of its own, the published files, and the two settings of document 4."""

import gzip
import tarfile
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.split.conjunction_holdout import HoldOutConjunctions
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.tasks import scan as splits
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import HeldOut, Own
from recombine_lab.tasks.scan import Scan, replaced_weights
from recombine_lab.tasks.scan_grammar import ABSENT, ACTION_WORDS, ScanCommand, commands, encoded, parse, phrases, space

_COUNTS = {
    "length": (16_990, 3_920),
    "addprim_jump": (14_670, 7_706),
    "addprim_turn_left": (21_890, 1_208),
    "template_around_right": (15_225, 4_476),
    "template_opposite_right": (15_225, 4_476),
    "template_right": (15_225, 4_476),
    "template_jump_around_right": (18_528, 1_173),
    "filler_num0": (15_225, 1_173),
    "filler_num1": (16_290, 1_173),
    "filler_num2": (17_391, 1_173),
    "filler_num3": (18_528, 1_173),
}


def _done(text: str) -> list[str]:
    """What a command asks to do, read from its words alone: the grammar's rules, from the outside in."""
    for word, swap in ((" and ", False), (" after ", True)):
        if word in text:
            first, second = (_done(half) for half in text.split(word))
            return second + first if swap else first + second
    for word, times in ((" twice", 2), (" thrice", 3)):
        if text.endswith(word):
            return _done(text.removesuffix(word)) * times
    verb, *rest = text.split()
    act = [] if verb == "turn" else [f"I_{verb.upper()}"]
    turn = [f"I_TURN_{rest[-1].upper()}"] if rest else []
    if "around" in rest:
        return (turn + act) * 4
    return turn * (2 if "opposite" in rest else 1) + act


def test_the_grammar_has_the_known_counts() -> None:
    without = [phrase for phrase in phrases() if phrase.verb != "jump"]
    assert len(phrases()) == 102
    assert len({(phrase.verb, phrase.mode, phrase.direction) for phrase in phrases()}) == 34
    assert len({(phrase.verb, phrase.mode, phrase.direction) for phrase in without}) == 27
    assert len(without) == 81
    jumping = sum("jump" in command.text for command in commands())
    assert (len(commands()), len(commands()) - jumping, jumping) == (20_910, 13_203, 7_707)
    assert space().size == 20_910


def test_every_command_means_what_its_words_say() -> None:
    assert all(command.actions == " ".join(_done(command.text)) for command in commands())
    assert len({command.text for command in commands()}) == 20_910


@pytest.mark.slow
def test_words_factors_and_codes_are_each_found_from_the_other() -> None:
    assert all(parse(command.text) == command == ScanCommand.of(command.factors) for command in commands())
    codes = space().encode([command.factors for command in commands()])
    assert np.array_equal(codes, encoded().codes)
    assert np.array_equal(codes, Scan().every())
    assert np.array_equal(encoded().rows(encoded().codes), np.arange(20_910))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("jmp left", "SCAN has no word 'jmp'\n.*did you mean 'jump'"),
        ("walk before run", "SCAN has no word 'before'"),
        ("turn", "'turn' is not a phrase"),
        ("jump left around", "'jump left around' is not a phrase.*\n.*did you mean"),
        ("walk and", "'' is not a phrase"),
        ("walk and run after look", "more than two phrases"),
    ],
)
def test_what_is_no_command_is_told(text, words) -> None:
    with pytest.raises(SettingError, match=words):
        parse(text)


def test_a_combination_that_the_grammar_rules_out_is_told() -> None:
    turn_alone = space().encode([("none", "turn", "none", "none", "once", *[ABSENT] * 4)]).astype(np.int64)
    for wrong in (turn_alone, np.full((1, 9), -1), np.full((1, 9), 6)):
        with pytest.raises(SettingError, match="is no command of SCAN"):
            Scan().tensors(wrong, seed=0)


def test_rendered_commands_read_as_they_were_said() -> None:
    task, table = Scan(), encoded()
    codes = task.every()[::37]
    batch = task.tensors(codes, seed=0)
    said = [commands()[row] for row in table.rows(codes)]
    assert table.words.decode(batch.inputs) == [command.text for command in said]
    assert table.actions.decode(batch.targets) == [command.actions for command in said] == task.truth(codes).tolist()
    assert batch.inputs.shape[1:] == task.shapes.inputs == (9,)
    assert batch.targets.shape[1:] == task.shapes.outputs == (49,)
    assert task.shapes.vocabularies == (15, 8)
    assert np.array_equal(task.codes([command.text for command in said]), codes)


@pytest.mark.parametrize("name", list(_COUNTS))
def test_splits_by_rule_have_the_published_counts_and_share_no_command(name) -> None:
    lines = splits.by_rule(name)
    assert (lines.train.sum(), lines.test.sum()) == _COUNTS[name]
    assert not (lines.train.astype(bool) & lines.test.astype(bool)).any()


def test_splits_by_rule_hold_out_what_their_names_say() -> None:
    texts = np.array([command.text for command in commands()])
    assert set(texts[splits.by_rule("addprim_jump").test > 0]) == {t for t in texts if "jump" in t and t != "jump"}
    assert set(texts[splits.by_rule("addprim_turn_left").test > 0]) == {
        t for t in texts if "turn left" in t and t != "turn left"
    }
    around = {t for t in texts if "around right" in t and "turn around right" not in t}
    assert set(texts[splits.by_rule("template_around_right").test > 0]) == around
    assert {t for t in texts[splits.by_rule("filler_num1").train > 0] if "around right" in t} == {
        t for t in around if not any(f"{verb} around right" in t for verb in ("walk", "run", "jump"))
    }


def test_the_new_word_alone_is_a_tenth_of_the_lines() -> None:
    lines = splits.by_rule("addprim_jump")
    (jump,) = np.flatnonzero(lines.train > 1)
    assert commands()[jump].text == "jump"
    assert lines.train[jump] == 1_467
    assert lines.train[jump] / lines.train.sum() == 0.1


def test_the_sets_of_setting_a_are_the_published_lines() -> None:
    parts = Own().parts(Scan(), seed=0)
    assert {name: len(source.every()) for name, source in parts.tests.items()} == {"seen": 13_204, "unseen": 7_706}
    assert parts.train.weights.sum() == 14_670
    words = [text for text, _ in _read(Scan(), parts.train.draw(4_000, seed=1))]
    assert 320 < words.count("jump") < 480
    assert all(text == "jump" or "jump" not in text for text in words)


@pytest.mark.parametrize(
    ("setting", "replaced", "by"),
    [("B-all", ACTION_WORDS, ACTION_WORDS), ("B-jump", ("jump",), ("walk", "look", "run"))],
)
def test_setting_b_is_what_replacing_word_by_word_gives(setting, replaced, by) -> None:
    lines, expected = splits.by_rule("addprim_jump").train.copy(), Counter()
    lines[::5] = 0  # a table with gaps, so that an even answer is not a right one
    for place in np.flatnonzero(lines):
        choices = [by if word in replaced else (word,) for word in commands()[place].text.split()]
        made = [" ".join(words) for words in product(*choices)]
        expected.update(dict.fromkeys(made, Fraction(int(lines[place]), len(made))))
    weights = replaced_weights(lines.astype(float), replaced, by)
    found = {commands()[place].text: weights[place] for place in np.flatnonzero(weights)}
    assert found.keys() == expected.keys()
    assert all(abs(found[text] - weight) < 1e-9 for text, weight in expected.items())


def test_setting_b_all_shows_every_command_and_b_jump_never_says_jump() -> None:
    everything = Scan(setting="B-all").own_parts(seed=0)
    assert len(everything.train.every()) == 20_910
    assert everything.train.weights.sum() == pytest.approx(14_670)
    assert list(everything.tests) == ["seen", "unseen"]
    never = Scan(setting="B-jump").own_parts(seed=0)
    assert never.train.weights.sum() == pytest.approx(14_670)
    jump = space().factors[1].code("jump")
    shown = {tuple(row) for row in never.train.every().tolist()}
    assert not any(row[1] == jump or row[5] == jump for row in shown)
    assert all(row[1] == jump or row[5] == jump for row in never.tests["unseen"].every().tolist())
    assert {tuple(row) for row in never.tests["unseen_replaced"].every().tolist()} <= shown
    one = Counter(text for text, _ in _read(Scan(), never.train.every()[never.train.weights > 400]))
    assert set(one) == {"walk", "look", "run"}


def test_settings_that_mean_nothing_are_told() -> None:
    with pytest.raises(SettingError, match=r"no split 'addprim_jmp' of SCAN\n.*\n.*did you mean 'addprim_jump'"):
        Scan(split="addprim_jmp")
    with pytest.raises(SettingError, match="B replaces words in the training lines of addprim_jump"):
        Scan(split="length", setting="B-all")
    with pytest.raises(SettingError, match="the task 'scan' cannot be made of"):
        TASKS.build({"name": "scan", "setting": "C"})
    assert TASKS.spec(TASKS.build({"name": "scan", "setting": "B-all"})) == {
        "name": "scan",
        "split": "addprim_jump",
        "setting": "B-all",
    }


@pytest.mark.parametrize(
    "splitter",
    [
        HoldOutConjunctions(space().names, conjunctions=[{"verb1": "jump", "mode1": "around"}]),
        HoldOutCombinations(space().names, test_size=0.2, n_splits=1),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_any_splitter_works(splitter) -> None:
    parts = HeldOut(splitter).parts(Scan(), seed=0)
    sides = [len(parts.tests[side].every()) for side in ("seen", "unseen")]
    assert sum(sides) == 20_910
    assert min(sides) > 0


@pytest.mark.slow
def test_an_audit_of_the_jump_split_finds_the_published_test_unseen() -> None:
    task = Scan()
    parts = task.own_parts(seed=0)
    seen = task.table(task.combinations(parts.tests["seen"].every()))
    impossible = [
        {factor.name: factor.values[code] for factor, code in zip(space().factors, row, strict=True) if code >= 0}
        for row in space().impossible
    ]
    domain = {factor.name: list(factor.values) for factor in space().factors}
    support = recombine.read(seen, factors=list(space().names), domain=domain, impossible=impossible)
    counts = recombine.audit(support).counts
    assert (counts.seen, counts.determined + counts.undetermined + counts.novel) == (13_204, 7_706)


@pytest.mark.data
def test_the_grammar_equals_the_published_file(data) -> None:
    published = gzip.decompress((data / "scan" / "tasks.txt.gz").read_bytes()).decode().splitlines()
    # The file's order is that of a shuffle whose seed was not published: compared line for line once both are sorted.
    assert sorted(published) == sorted(f"IN: {command.text} OUT: {command.actions}" for command in commands())


@pytest.mark.data
def test_the_factors_equal_the_published_table(data) -> None:
    table = pq.read_table(data / "scan" / "scan_factors.parquet").to_pylist()
    for row in table:
        command = parse(row["command"])
        assert command.actions == row["actions"]
        assert command.factors == {name: row[name] or ABSENT for name in space().names}


@pytest.mark.data
@pytest.mark.parametrize("name", list(splits.RULES))
def test_splits_by_rule_equal_their_files(name, data, monkeypatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    ruled, filed = splits.by_rule(name), splits.from_files(name)
    assert np.array_equal(ruled.train, filed.train)
    assert np.array_equal(ruled.test, filed.test)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("simple", 16_728, 4_182),
        ("mcd1", 8_365, 1_045),
        ("mcd2", 8_365, 1_045),
        ("mcd3", 8_365, 1_045),
        ("simple_p1", 209, 20_701),
        ("fewshot_num8_rep1", 15_233, 1_173),
        ("addprim_complex_jump_num8_rep1", 14_670, 7_698),
    ],
)
def test_splits_that_were_drawn_come_from_their_files(name, train, test, data, monkeypatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    lines = splits.lines_of(name)
    assert (lines.train.sum(), lines.test.sum()) == (train, test)
    parts = Scan(split=name).own_parts(seed=0)
    assert len(parts.tests["unseen"].every()) == test


@pytest.mark.data
def test_every_published_file_has_a_name(data) -> None:
    with tarfile.open(data / "scan" / "extra_splits.tar.xz") as archive:
        members = [member.name for member in archive if member.isfile()]
    singles = [str(path.relative_to(data / "scan")).removesuffix(".gz") for path in (data / "scan").glob("*/*.txt.gz")]
    named = product(splits.FOLDERS.items(), ("train", "test"))
    assert {f"{folder}/tasks_{part}_{name}.txt" for (name, folder), part in named} == {*members, *singles}


def _read(task: Scan, latents: torch.Tensor) -> list[tuple[str, str]]:
    codes = task.combinations(latents)
    return [(commands()[row].text, commands()[row].actions) for row in encoded().rows(codes)]
