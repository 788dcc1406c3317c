"""What a sweep shows while it runs."""

import io

import pytest
from rich.console import Console

from recombine.base.words import span
from recombine_lab.sweeps.progress import Board
from recombine_lab.sweeps.queue import Outcome
from tests.lab.sweeps.test_packs import run

RUNS = [run(model, seed) for model in "ab" for seed in range(10)]


def board(**options):
    console = Console(file=io.StringIO(), width=100, **options)
    return Board(RUNS, console, workers=2)


def ended(one, status="finished", score=0.5):
    return Outcome(key=one.key, status=status, score=score, part="unseen", reason=None)


def printed(shown):
    return shown.console.file.getvalue()


def test_piped_output_is_a_line_for_every_twentieth_and_no_codes():
    with board() as shown:
        for one in RUNS:
            shown.refresh()
            shown.ended([ended(one)], seconds=4.0)
    lines = printed(shown).splitlines()
    assert len(lines) == 20
    assert lines[0].strip() == "1 of 20 runs (about 38 s left)"
    assert lines[-1].strip() == "20 of 20 runs"
    assert "\x1b" not in printed(shown)


def test_nothing_is_shown_where_nobody_asks():
    console = Console(file=io.StringIO())
    with Board(RUNS, console, shown=False) as shown:
        shown.ended([ended(RUNS[0])], seconds=1.0)
        shown.say("a word")
    assert not printed(shown)


def test_the_table_has_a_line_for_each_group():
    shown = board(height=30)
    shown.add_finished(one.key for one in RUNS[:3])
    shown.add_running(one.key for one in RUNS[3:8])
    shown.ended([ended(one) for one in RUNS[3:5]], seconds=6.0)
    shown.add_running((one.key for one in RUNS[3:5]), by=-1)
    shown.ended([ended(RUNS[10], "diverged", None), ended(RUNS[11], "failed", None)], seconds=2.0)
    shown.console.print(shown.table())
    a, b = printed(shown).splitlines()[-3:-1]
    assert a.split() == ["a", "5/10", "3", "unseen", "0.5", "8", "s"]  # 5 left, 3 s each, two at once
    assert b.split() == ["b", "0/10", "1", "1", "4", "s"]
    assert "7 of 20 runs" in printed(shown)
    assert "1 diverged, 1 failed" in printed(shown)


def test_headings_are_whole_and_columns_with_nothing_in_them_are_left_out():
    runs = [run(f"a model with a long name and many settings {k} " * 3, 0) for k in range(2)]
    shown = Board(runs, Console(file=io.StringIO(), width=100, height=30))
    shown.ended([ended(runs[0]), ended(runs[1], "failed", None)], seconds=1.0)
    shown.console.print(shown.table())
    head, first, second = printed(shown).splitlines()[-4:-1]
    assert head.split() == ["model", "done", "failed", "latest", "left"]
    assert "1/1" in first
    assert "0/1" in second


def test_where_groups_do_not_fit_those_at_work_come_first():
    runs = [run(f"m{k}", 0) for k in range(50)]
    shown = Board(runs, Console(file=io.StringIO(), width=100, height=10))
    shown.add_running([runs[40].key])
    shown.ended([ended(runs[0]), ended(runs[1]), ended(runs[2])], seconds=1.0)
    shown.console.print(shown.table())
    lines = printed(shown).splitlines()
    assert lines[2].startswith("m40 ")  # after a line of progress and the head
    assert "… 45 more groups" in printed(shown)
    assert "m0 " not in "".join(lines[2:])


def test_a_terminal_gets_a_table_that_goes_away():
    shown = board(force_terminal=True, height=30)
    with shown:
        shown.refresh()
    assert "latest" in printed(shown)
    assert "\x1b[2K" in printed(shown)  # the lines are wiped at the end


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "1 s"), (89, "89 s"), (90, "1.5 min"), (7200, "2.0 h"), (10**6, "11.6 days")]
)
def test_spans(seconds, words):
    assert span(seconds) == words


def test_another_progress_is_told_the_share_of_runs_that_ended():
    told = []
    with Board(RUNS, Console(file=io.StringIO()), shown=False, progress=lambda *news: told.append(news)) as shown:
        shown.ended([ended(one) for one in RUNS[:5]], seconds=1.0)
    assert told == [("training 20 runs", 0.25)]
    assert not printed(shown)
