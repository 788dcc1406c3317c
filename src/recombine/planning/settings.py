"""What may be asked of a plan: settings that mean nothing are refused, before a table is read."""

from typing import Any, Literal, get_args

from recombine.checks import check_choice, check_number
from recombine.errors import SettingError

Goal = Literal["determined", "pairs", "triples", "leverage", "variance"]
GOALS: tuple[str, ...] = get_args(Goal)


def check_settings(*, goal: Any, budget: Any = None, salience: Any = None, ridge: Any = None) -> None:
    """Refuse a goal that there is not, a budget or ridge below 0, and a learner where the goal asks none.

    >>> check_settings(goal="levrage")
    Traceback (most recent call last):
    recombine.errors.SettingError: goal='levrage'
      why      there is no such goal
      instead  did you mean 'leverage'?
    """
    check_choice("goal", goal, GOALS, why="there is no such goal")
    if budget is not None:
        check_number(
            "budget",
            budget,
            least=0,
            why="a budget is a number from 0 on, in units of cost",
            instead="write for example budget=50 (--budget 50), or leave it out for what is needed",
        )
    if ridge is not None:
        why = "a ridge is a number from 0 on"
        check_number("ridge", ridge, least=0, why=why, instead="write ridge=0.1 (--ridge 0.1)")
    for name, given in (("salience", salience), ("ridge", ridge)):
        if given is not None and goal != "variance":
            raise _unused(name, given, goal)


def _unused(name: str, given: Any, goal: str) -> SettingError:
    said = given if isinstance(given, str | int | float) else "…"
    return SettingError(
        f"{name}={said!r} (--{name} {said}) with the goal {goal!r}",
        why=f"only the goal 'variance' asks a learner, which {name} describes; a plan for {goal!r} would ignore it",
        instead=f"leave {name} out, or write goal='variance' (--goal variance)",
    )
