"""A bar on a terminal, and nothing anywhere else."""

import io
from typing import Any

import pytest
from rich.console import Console

from recombine_lab.training import loop as watching
from recombine_lab.training.fit import fit
from tests.lab.training.toys import SPLIT, Net, Sum


@pytest.mark.parametrize(("terminal", "shown"), [(True, True), (True, False), (False, True)])
def test_a_bar_is_drawn_on_a_terminal_only(terminal: bool, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()

    def console(**_: Any) -> Console:
        return Console(file=written, force_terminal=terminal, width=100)

    monkeypatch.setattr(watching, "Console", console)
    fit(Sum(), SPLIT, Net(), {"steps": 3}, seeds=(0, 1), progress=shown)
    assert ("training 2 runs" in written.getvalue()) == (terminal and shown)


def test_what_is_counted_is_every_step_of_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    for together in ("always", "never"):
        counted.clear()

        class Watched:
            def __init__(self, text: str, total: int, *, shown: bool) -> None:
                self.total = total

            def __enter__(self) -> Any:
                return counted.append

            def __exit__(self, *_: Any) -> None:
                assert sum(counted) == self.total

        monkeypatch.setattr("recombine_lab.training.fit.progress_bar", Watched)
        fit(Sum(), SPLIT, Net(), {"steps": 7, "together": together}, seeds=(0, 1, 2))
        assert sum(counted) == 21
