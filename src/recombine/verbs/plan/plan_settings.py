"""What may be asked of a plan: settings that mean nothing are refused, before a table is read."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from recombine.base.checks import check_choice, check_number
from recombine.base.errors import SettingError

SHOT, CHANGE = "shot", "change-over"
"""Further columns of a plan where changes cost: a line's place in the walk, from 1, and what is paid to get there."""
Goal = Literal["determined", "pairs", "triples", "leverage", "variance", "balance"]


GOALS: tuple[str, ...] = get_args(Goal)


SERVES: Mapping[str, str] = {
    "determined": "the fewest after which everything can be worked out, if the factors add up",
    "pairs": "every pair of values seen together",
    "triples": "every triple of values seen together",
    "leverage": "for an additive model fitted to noisy answers: what hangs on least evidence hangs on more",
    "variance": "for a network or kernel: what tells it most about the unseen combinations",
    "balance": "more rows where there are fewest",
}
"""What each goal is for, in a line."""


_MEANT = {
    **dict.fromkeys(("coverage", "covering", "cover", "covered", "pair", "pairwise", "2-way", "all-pairs"), "pairs"),
    **dict.fromkeys(("triple", "3-way", "threewise", "three-way"), "triples"),
    **dict.fromkeys(("connected", "connect", "identified", "identifiable", "rank", "minimal", "fewest"), "determined"),
    **dict.fromkeys(("noise", "firm", "certainty", "robust", "evidence"), "leverage"),
    **dict.fromkeys(("uncertainty", "information", "informative", "kernel", "network", "active"), "variance"),
    **dict.fromkeys(("balanced", "thin", "rows", "count", "counts", "rare", "worst-group", "groups"), "balance"),
}
"""Words that people write, and the goal that they mean."""


def check_settings(
    *, goal: Any, budget: Any = None, salience: Any = None, ridge: Any = None, replay: bool = False
) -> None:
    """Refuse a goal that there is not, a budget or ridge below 0, and a learner where the goal asks none.

    >>> check_settings(goal="levrage")
    Traceback (most recent call last):
    recombine.base.errors.SettingError: goal='levrage'
      why      there is no such goal
      instead  did you mean 'leverage'?
    """
    meant = _MEANT.get(str(goal).lower().strip())
    said = None if meant is None else f"write goal={meant!r} (--goal {meant}): {SERVES[meant]}"
    check_choice("goal", goal, GOALS, why="there is no such goal", instead=said)
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
    if replay and goal == "balance":
        raise SettingError(
            "a replay (--replay) of a plan for 'balance'",
            why="a replay hides combinations and collects them again; balance adds rows to those that are there",
            instead="leave the replay out",
        )
    for name, given in (("salience", salience), ("ridge", ridge)):
        if given is not None and goal != "variance":
            raise _unused(name, given, goal)


def _unused(name: str, setting: Any, goal: str) -> SettingError:
    said = setting if isinstance(setting, str | int | float) else "…"
    return SettingError(
        f"{name}={said!r} (--{name} {said}) with the goal {goal!r}",
        why=f"only the goal 'variance' asks a learner, which {name} describes; a plan for {goal!r} would ignore it",
        instead=f"leave {name} out, or write goal='variance' (--goal variance)",
    )


def check_sets(set_factors: Sequence[int], *, goal: str, replay: bool) -> None:
    """Refuse what is not known of sets: the goals of pairs, triples and networks, and a replay."""
    if not set_factors or (goal in ("determined", "leverage", "balance") and not replay):
        return
    raise SettingError(
        "a replay (--replay) of sets" if replay else f"goal={goal!r} with a factor whose value is a set",
        why="sets are planned for by what their elements add up to, or by rows; pairs of elements and learners "
        "are not planned for yet",
        instead="leave the replay out"
        if replay
        else "write goal='determined' (--goal determined), 'leverage' or 'balance'",
    )


def check_untested(goal: str, *, table_settings: Mapping[str, Any], replay: bool) -> None:
    """Refuse what only a table can answer, where a plan begins with a model and nothing was tried yet."""
    given = [name for name, value in table_settings.items() if value and name not in ("command", "missing")]
    if given:
        raise SettingError(
            f"a model and {given[0]}",
            why="the model says what its factors are, and it has no rows",
            instead="leave it out, or give the table of results with --domain model.pict",
        )
    if goal not in ("pairs", "triples") or replay:
        raise SettingError(
            "replay of a model" if replay else f"goal={goal!r} for a model",
            why="nothing was tried yet, so there is nothing to work out from",
            instead="write goal='pairs' or 'triples' (--goal pairs), or give the table of results",
        )
