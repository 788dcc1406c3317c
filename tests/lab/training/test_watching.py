"""A bar on a terminal, and nothing anywhere else; any other `progress` is told the share of all steps."""

import io
from typing import Any

import pytest
from rich.console import Console

from recombine.cli import terminal as terminals
from recombine_lab.training import progress_bar as bars
from recombine_lab.training.fit import fit
from tests.lab.training.toys import SPLIT, Net, Sum


@pytest.mark.parametrize(("terminal", "shown"), [(True, True), (True, False), (False, True)])
def test_a_bar_is_drawn_on_a_terminal_only(terminal: bool, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()

    def console(**_: Any) -> Console:
        return Console(file=written, force_terminal=terminal, width=100)

    monkeypatch.setattr(terminals, "Console", console)
    fit(Sum(), SPLIT, Net(), {"steps": 3}, seeds=(0, 1), **({} if shown else {"progress": None}))
    assert ("training 2 runs" in written.getvalue()) == (terminal and shown)


@pytest.mark.parametrize(("together", "runs_a_call"), [("always", 3), ("never", 1)])
def test_what_is_counted_is_every_step_of_every_run(
    together: str, runs_a_call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "_EVERY", 0.0)
    told: list[tuple[str, float | None]] = []
    recipe = {"steps": 7, "together": together}
    fit(Sum(), SPLIT, Net(), recipe, seeds=(0, 1, 2), progress=lambda *news: told.append(news))
    assert {share for text, share in told if text == "training 3 runs"} == {k / 21 for k in range(0, 21, runs_a_call)}
    assert told[-1][0].startswith("training 3 runs: 21 steps in ")
    assert told[-1][1] == 1.0


def test_a_bar_is_closed_when_training_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(terminals, "Console", lambda **_: Console(file=written, force_terminal=True, width=100))

    def stop(_: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(Sum(), SPLIT, Net(), {"steps": 3}, callbacks=[stop])
    assert written.getvalue().rfind("\x1b[?25h") > written.getvalue().rfind("\x1b[?25l")  # the cursor is shown again
