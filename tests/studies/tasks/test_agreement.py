"""Agreement sentences: a reader who knows the words' numbers, and nothing of the templates, finds the odd one."""

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import HeldOut
from recombine_studies.tasks.agreement import FORMS, TEMPLATES, Agreement, Pair, frames, longest, sentences, vocabulary
from tests.properties import examples
from tests.studies.tasks.test_relations import WANTED

# --- the twin: reads a sentence word by word -------------------------------------------------------------------------

IRREGULAR = {"child": "children", "woman": "women", "story": "stories", "dress": "dresses"}
NOUNS = [
    *(["baker", "judge", "sailor", "poet", "nurse", "gardener", "miner", "singer", "lawyer", "neighbour"]),
    *(["child", "carpenter", "student", "plumber", "waiter", "driver", "engineer", "woman", "librarian", "tailor"]),
    *(["letter", "statue", "play", "story", "cake", "dress", "drawing", "map", "bracelet"]),
]
NOUN_NUMBER = dict.fromkeys(NOUNS, "singular") | {IRREGULAR.get(noun, noun + "s"): "plural" for noun in NOUNS}
VERBS = ["sing", "wait", "dance", "know", "look", "cost", "please", "meet", "trust", "follow", "call"]
VERB_NUMBER = dict.fromkeys(VERBS, "plural") | {verb + "s": "singular" for verb in VERBS}
VERB_NUMBER |= {"is": "singular", "was": "singular", "are": "plural", "were": "plural"}
PRONOUN_NUMBER = {"himself": "singular", "herself": "singular", "themselves": "plural"}


def components(pair: str, text: str) -> tuple[str, str]:
    """The numbers of the two components: of the first noun and the last verb, or of the last word and first noun."""
    words = text.split()
    subject = next(NOUN_NUMBER[word] for word in words if word in NOUN_NUMBER)
    if pair == "reflexive":
        return PRONOUN_NUMBER[words[-1]], subject
    return subject, [VERB_NUMBER[word] for word in words if word in VERB_NUMBER][-1]


def inner_clause_agrees(text: str) -> bool:
    """The verb of a relative clause always agrees: with the noun before it."""
    words = text.split()
    numbers = [NOUN_NUMBER.get(word) for word in words]
    verbs = [place for place, word in enumerate(words) if word.rstrip("s") in {"meet", "trust", "follow", "call"}]
    return all(next(n for n in reversed(numbers[:place]) if n) == VERB_NUMBER[words[place]] for place in verbs)


def as_kept(pair: str, number: str, text: str) -> tuple[int, int]:
    first, second = components(pair, text)
    return int(first == number), int(second == number)


@cache
def written(pair: Pair, construction: str) -> frozenset[str]:
    return frozenset(text for frame in frames(TEMPLATES[pair][construction]) for text in frame)


# --- sentences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", TEMPLATES)
def test_every_sentence_reads_as_its_place_says(pair: Pair) -> None:
    numbers = ("singular", "plural")
    for template in TEMPLATES[pair].values():
        for frame in frames(template):
            wanted = [(first, second) for first in numbers for second in numbers]
            assert [components(pair, text) for text in frame] == wanted
            assert all(inner_clause_agrees(text) for text in frame)


def test_the_reader_can_fail() -> None:
    assert components("subject_verb", "the baker that meets the children wait") == ("singular", "plural")
    assert components("reflexive", "the women warned himself") == ("singular", "plural")
    assert inner_clause_agrees("the baker that meets the children wait")
    assert not inner_clause_agrees("the baker that the children meets waits")


def test_counts() -> None:
    assert [len(FORMS[name]) for name in ("people", "others", "things", "do", "are", "did")] == [10, 10, 9, 7, 7, 7]
    counts = {name: sum(1 for _ in frames(text)) for named in TEMPLATES.values() for name, text in named.items()}
    assert counts == {
        "simple_agrmt": 10 * 7,
        "subj_rel": 10 * 4 * 10 * 2 * 7,
        "obj_rel_across": 10 * 10 * 2 * 4 * 7,
        "obj_rel_no_comp_across": 10 * 10 * 2 * 4 * 7,
        "prep_anim": 10 * 6 * 10 * 2 * 7,
        "prep_inanim": 9 * 2 * 10 * 2 * 7,
        "simple_reflexives": 10 * 7 * 2,
        "reflexives_across": 10 * 10 * 2 * 4 * 7 * 2,
    }


@pytest.mark.data
def test_as_many_frames_as_the_published_templates(data: Path) -> None:
    """Our words are our own; the constructions are as rich as those of Marvin and Linzen (2018), frame for frame."""
    published = Counter(pq.read_table(data / "agreement" / "marvin_linzen_2018.parquet")["construction"].to_pylist())
    ours = {name: sum(1 for _ in frames(text)) for named in TEMPLATES.values() for name, text in named.items()}
    # An item of theirs is a sentence with its number and the other form beside it: two to a frame.
    for construction in ("simple_agrmt", "subj_rel", "prep_anim", "obj_rel_across", "obj_rel_no_comp_across"):
        theirs = published[construction] or published[f"{construction}_anim"]
        assert theirs == 2 * ours[construction], construction
    assert published["prep_inanim"] * 9 == 2 * ours["prep_inanim"] * 10, "they have a television show besides"
    for construction in ("simple_reflexives", "reflexives_across"):
        assert published[construction] == 2 * ours[construction], construction


@pytest.mark.parametrize("pair", TEMPLATES)
def test_no_sentence_is_in_both_pools(pair: Pair) -> None:
    for construction in TEMPLATES[pair]:
        found = sentences(pair, construction, 12)
        pools = {
            part: {tuple(row) for row in found.tokens[rows].reshape(-1, 12).tolist()}
            for part, rows in found.pools.items()
        }
        assert pools["train"].isdisjoint(pools["test"])
        assert sum(map(len, found.pools.values())) == len(found.tokens)
        assert len(found.pools["test"]) == pytest.approx(len(found.tokens) / 10, abs=2)


# --- problems ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["singular", "plural"])
@pytest.mark.parametrize("pair", TEMPLATES)
@given(seed=st.integers(0, 2**40), name=st.sampled_from(sorted(WANTED)), part=st.sampled_from(["train", "test"]))
@examples(20)
def test_every_set_holds_what_it_says(pair: Pair, number: str, seed: int, name: str, part: str) -> None:
    task = Agreement(pair=pair, number=number, set=name)  # type: ignore[arg-type]
    codes = task.every()
    batch = task.tensors(codes, seed=seed, part=part)  # type: ignore[arg-type]
    others, odd = WANTED[name]
    found = set()
    for row, target, texts in zip(codes, batch.targets.tolist(), task.read(batch.inputs), strict=True):
        assert target == row[1]
        assert set(texts) <= written(pair, list(TEMPLATES[pair])[row[2]])
        stands = [as_kept(pair, number, text) for text in texts]
        assert stands[target] == {0: (0, 1), 1: (1, 0), 2: (0, 0)}[row[0]]
        found.add(stands.pop(target))
        assert set(stands) <= others
    assert found == (odd - {(0, 0)} if name == "base" else odd)


def test_base_breaks_one_half_the_time_and_never_both() -> None:
    task = Agreement(pair="subject_verb")
    latents = task.own_parts(seed=0).train.draw(4000, seed=1)
    shares = np.bincount(task.combinations(latents)[:, 0], minlength=3) / 4000
    assert shares[2] == 0
    assert abs(shares[0] - 0.5) < 0.03


@pytest.mark.parametrize("pair", TEMPLATES)
def test_own_sets(pair: Pair) -> None:
    task = Agreement(pair=pair, number="plural", set="mask_second")
    for side, wanted in {"seen": "mask_second", "target": "target_second", "other": "other_second"}.items():
        batch = task.render(task.own_parts(seed=0).tests[side].draw(60, seed=2), seed=3, part="test")
        for target, texts in zip(batch.targets.tolist(), task.read(batch.inputs), strict=True):
            stands = [as_kept(pair, "plural", text) for text in texts]
            assert stands.pop(target) in WANTED[wanted][1]
            assert set(stands) <= WANTED[wanted][0]


def test_spaces() -> None:
    assert len(Agreement(pair="subject_verb").every()) == 2 * 4 * 6
    assert len(Agreement(pair="reflexive", set="both_violated").every()) == 4 * 2
    assert Agreement(pair="reflexive").space.names == ("broken", "odd", "construction")


def test_the_same_seed_draws_the_same() -> None:
    task = Agreement(pair="reflexive", length=50)
    codes = task.every()
    before = torch.get_rng_state()
    one = task.tensors(codes, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert one.inputs.shape == (16, 4, 50)
    assert one.inputs.dtype == torch.int64
    assert int(one.inputs.max()) < task.shapes.vocabularies[0] == len(vocabulary("reflexive"))  # type: ignore[index]
    assert torch.equal(one.inputs, task.tensors(codes, seed=5).inputs)
    assert not torch.equal(one.inputs, task.tensors(codes, seed=6).inputs)
    assert not torch.equal(one.inputs, task.tensors(codes, seed=5, part="test").inputs)


def test_works_with_splitters() -> None:
    task = Agreement(pair="subject_verb")
    exposed = HeldOut(HoldOutCombinations(["broken", "construction"], test_size=0.3, random_state=0)).parts(
        task, seed=0
    )
    shown, held = (task.combinations(source.every()) for source in (exposed.tests["seen"], exposed.tests["unseen"]))
    assert len(shown) + len(held) == 48
    assert {tuple(row) for row in shown[:, [0, 2]]}.isdisjoint({tuple(row) for row in held[:, [0, 2]]})
    assert len(task.render(exposed.tests["unseen"].draw(3, seed=0), seed=0, part="test")) == 3


def test_a_spec_rebuilds_the_task() -> None:
    task = Agreement(pair="reflexive", number="plural", set="both_violated", length=20)
    assert TASKS.build(TASKS.spec(task)) == task


def test_refuses_what_cannot_be_written() -> None:
    with pytest.raises(SettingError, match="did you mean 'reflexive'"):
        Agreement(pair="reflexives")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="did you mean 'plural'"):
        Agreement(pair="reflexive", number="plurl")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="did you mean 'both_violated'"):
        Agreement(pair="reflexive", set="both_violatd")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="the longest of these sentences has 12 words"):
        Agreement(pair="subject_verb", length=11)
    assert longest("reflexive") == 9
