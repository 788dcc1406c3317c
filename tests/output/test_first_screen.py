"""The first screen of every verb on seven planted worlds: a short sentence on what matters, a reason, a next step."""

import html
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from recombine.output.first_screen import first_sentence
from recombine.output.headline import headline
from recombine.output.pages import draw

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import first_screens

WORLDS = {make.__name__: make for make in first_screens.WORLDS}
MATTERS = {
    ("product_with_shortcut", "evaluate"): "The answers follow place: ",
    ("fairness", "evaluate"): r" overall; worst group .*female.*VI.*; 2 groups never tested",
    ("robots", "audit"): "The table falls into 2 islands ",
    ("robots", "plan"): r"if the factors add up \(held-out combinations say so\)",
    ("drugs", "audit"): "Adding up one effect for each value explains 9",
    ("qa_matrix", "plan"): "would cover all [0-9]+ pairs",
    ("noise", "audit"): "Nothing to learn was found",
    ("noise", "predict"): "Nothing to learn was found",
    ("noise", "plan"): r"if the factors add up \(the audit says: do not rely on it\)",
    ("xor", "audit"): "has its own fixed answer",
    ("xor", "predict"): "has its own fixed answer",
}
STEPS = {
    ("product_with_shortcut", "evaluate"): "more rows in which place does not give the answer away",
    ("fairness", "evaluate"): "errors in .*skin type=VI",
    ("robots", "audit"): "^Record gripper=.*tie the islands together",
    ("robots", "plan"): "^Collect gripper=.* first: joins",
    ("drugs", "audit"): "^Forecast the .* unseen combinations",
    ("qa_matrix", "plan"): "^Collect system=.* new pairs",
    ("noise", "audit"): "^Look for other factors",
    ("xor", "audit"): "^Collect every combination that matters, such as left=",
}


@cache
def world(name):
    return WORLDS[name]()


@cache
def found(name, verb):
    return world(name).ask(verb)


def word_count(sentence):
    return len(re.findall(r"[^\s]*\w[^\s]*", sentence))


def header(result):
    return html.unescape(draw(result.record()).partition("<header>")[2].partition("</header>")[0])


@pytest.mark.parametrize("verb", first_screens.VERBS)
@pytest.mark.parametrize("name", WORLDS)
def test_one_short_sentence_one_reason_and_a_next_step(name, verb):
    result = found(name, verb)
    first = result.first_screen
    assert word_count(first.sentence) <= 25, first.sentence
    assert result.verdict.startswith(first.sentence)
    assert re.search(MATTERS.get((name, verb), "."), first.sentence)
    assert re.search(STEPS.get((name, verb), r"\.$"), first.next_step)
    assert first.because
    assert " or " not in first.because


@pytest.mark.parametrize("verb", ["audit", "predict", "evaluate", "rehearse", "diff"])
@pytest.mark.parametrize("name", ["fairness", "robots"])
def test_no_large_number_stands_beside_untested(name, verb):
    result = found(name, verb)
    shown = headline(result.kind, result.record().data)
    page = header(result)
    assert not (shown.shows_number and "badge-untested" in page)
    if result.grade == "untested" and result.kind != "evaluation":
        assert not shown.shows_number


def test_without_training_the_groups_lead_and_untested_is_told_in_words():
    page = header(found("fairness", "evaluate"))
    assert '<p class="big">74' in page
    assert "<b>Not known</b> <span>what the model was trained on was not said" in page


def test_a_weak_score_stands_beside_the_rule_that_is_as_good():
    assert re.search(r'<p class="big">\d+.% vs \d+.%', header(found("noise", "audit")))


def test_what_was_told_in_full_is_still_on_the_page():
    result = found("noise", "audit")
    assert result.verdict in header(result)


def test_a_plan_is_no_better_than_the_rule_that_it_rests_on():
    assert found("noise", "plan").grade == "weak"
    assert found("noise", "plan").rule.refuted
    assert found("drugs", "plan").rule.limit == "plausible"


@pytest.mark.parametrize(
    ("verdict", "first"),
    [
        ("One. Two.", "One."),
        ("It gets 0.5 (e.g. 3 cats). 7 more are open.", "It gets 0.5 (e.g. 3 cats)."),
        ("No end", "No end"),
        ("", ""),
    ],
)
def test_the_first_sentence_ends_where_the_next_begins(verdict, first):
    assert first_sentence(verdict) == first
