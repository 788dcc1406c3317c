"""A forecast beside a rehearsal of the same table: which of the two leads, and why.

| what was rehearsed | it leads |
|---|---|
| one's own learner (an estimator, a command, a model of the lab) | wherever it gives a score: nothing else knows it |
| kernel machines on inputs | unless rows of unseen combinations were asked about themselves |
| a closed form over combinations | where nothing else gives a score |

That is the order of what came true (`benchmarks/validity.py`): rows of unseen combinations before a rehearsal on
inputs, that before combinations alone, of which a closed form that is rehearsed knows no more than the forecast does.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from recombine.decoding import revive
from recombine.errors import SettingError
from recombine.expected import Expected
from recombine.grades import Grade
from recombine.tables.support import Support
from recombine.words import percent

_Prediction = TypeVar("_Prediction", bound=Any)


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal said, as a prediction keeps it."""

    learner: str
    verdict: str
    grade: Grade
    expected: Expected
    leads: bool


def check_rehearsal(given: Any, support: Support) -> None:
    """Refuse what is no rehearsal, or one of another question."""
    if given is None:
        return
    if getattr(given, "kind", None) != "rehearsal":
        raise SettingError(
            f"rehearsal={type(given).__name__}",
            why="it is not what recombine.rehearse gives back",
            instead="write rehearsal=recombine.rehearse(table, learner, factors=…, target=…)",
        )
    target = None if support.target is None else support.target.name
    own = {"factors": support.space.names, "target": target, "rows": support.rows}
    for name, value in own.items():
        if getattr(given, name) != value:
            raise SettingError(
                f"a rehearsal with {name}={getattr(given, name)!r}",
                why=f"here {name} is {value!r}: it speaks of another table, or asks something else of it",
                instead="rehearse the same table with the same settings",
            )


def with_rehearsal(found: _Prediction, rehearsal: Any) -> _Prediction:
    """The same prediction with a rehearsal: the one that leads gives the verdict, the grade and the score."""
    if rehearsal is None:
        return found
    leads = _leads(found, rehearsal)
    kept = Rehearsed(rehearsal.learner, rehearsal.verdict, rehearsal.grade, rehearsal.expected, leads)
    if not leads:
        return replace(found, rehearsed=kept, reasons=(_beside(kept, found.expected), *found.reasons))
    return replace(
        found,
        verdict=rehearsal.verdict,
        grade=rehearsal.grade,
        expected=rehearsal.expected,
        reasons=(*rehearsal.reasons, *_forecast_beside(found, kept), *found.reasons),
        rehearsed=kept,
    )


def _leads(found: Any, rehearsal: Any) -> bool:
    if rehearsal.expected.abstains:
        return False
    if found.expected is None or found.expected.abstains or not rehearsal.stands_for_a_network:
        return True
    asked = found.examples is not None and found.examples.way == "rows"
    return rehearsal.level == "rows" and not asked


def _beside(kept: Rehearsed, leading: Expected | None) -> str:
    """A rehearsal that does not lead."""
    said = kept.verdict.partition(" That speaks of ")[0]
    return f"Rehearsed as well: {said[0].lower()}{said[1:]}{_disagree(kept.expected, leading)}"


def _forecast_beside(found: Any, kept: Rehearsed) -> list[str]:
    """A forecast that does not lead."""
    if found.expected is None or found.expected.abstains:
        return []
    first = found.verdict.partition(". ")[0].removesuffix(".")
    return [f"Forecast without a rehearsal: {first[0].lower()}{first[1:]}.{_disagree(kept.expected, found.expected)}"]


def _disagree(one: Expected, other: Expected | None) -> str:
    """A word of warning where neither interval reaches the other."""
    if other is None or None in (one.low, one.high, other.low, other.high) or one.score != other.score:
        return ""
    low, high = sorted(((one.low or 0.0, one.high or 0.0), (other.low or 0.0, other.high or 0.0)))
    if low[1] >= high[0]:
        return ""
    between = f"{percent(max(low[1], 0.0))} and {percent(max(high[0], 0.0))}"
    return f" The two disagree by more than chance explains (nothing between {between} fits both): rely on neither."


def describe(kept: Rehearsed | None) -> dict[str, Any] | None:
    """As plain data."""
    return None if kept is None else asdict(kept)


def revived(plain: dict[str, Any] | None) -> Rehearsed | None:
    """As it was."""
    if plain is None:
        return None
    found: Rehearsed = revive(Rehearsed, plain, at="rehearsed")
    return found
