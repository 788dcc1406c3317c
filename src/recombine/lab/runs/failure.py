"""An attempt at a run that failed."""

import json
from dataclasses import dataclass

from recombine.decoding import parsed, revive
from recombine.lab.runs.configuration import Configuration


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What was tried, for the how-manieth time, and why it failed."""

    configuration: Configuration
    reason: str
    attempt: int
    created: str

    @property
    def key(self) -> str:
        """The key that the run would have had."""
        return self.configuration.key

    def to_json(self) -> bytes:
        """As a file holds it."""
        return (
            json.dumps(
                {"kind": "failure", **vars(self), "configuration": self.configuration.plain()},
                indent=2,
                ensure_ascii=False,
            )
            + "\n"
        ).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Failure | None":
        """Back from a file; None where it is damaged: a failure is a note, and no numbers depend on it."""
        try:
            found = parsed(content)
            found.pop("kind")
            failure: Failure = revive(cls, found)
        except (ValueError, KeyError):
            return None
        return failure
