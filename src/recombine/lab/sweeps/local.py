"""The work done in this process, one pack after another: for debugging, and where Ray is not installed."""

import json
from collections.abc import Mapping
from typing import final

from recombine.lab.sweeps.crew import Crew, Report
from recombine.lab.sweeps.packs import Pack
from recombine.lab.sweeps.worker import work


class Alone(Crew):
    """This process."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._next: tuple[int, Pack] | None = None

    @final
    def free(self) -> int:
        """One pack at a time."""
        return 0 if self._next else 1

    @final
    def size(self) -> int:
        """One."""
        return 1

    @final
    def start(self, number: int, pack: Pack) -> None:
        """Kept until its end is asked for."""
        self._next = (number, pack)

    @final
    def ended(self) -> Mapping[int, Report]:
        """Train what was handed out, and say how it went."""
        if self._next is None:
            return {}
        number, pack = self._next
        self._next = None
        return {number: Report.from_text(work(sent(pack), self._place))}

    @final
    def stop(self) -> None:
        """Nothing goes on behind our back."""
        self._next = None


def sent(pack: Pack) -> str:
    """A pack as it is sent."""
    return json.dumps([run.plain() for run in pack.runs])
