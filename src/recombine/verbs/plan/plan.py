"""What to collect next: an ordered list, what each line of it buys, and what cannot be had; the value, and the verb."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Unpack, cast

import numpy as np
import pyarrow as pa

from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_seed
from recombine.base.decoding import revive_all
from recombine.base.errors import SettingError
from recombine.base.grades import Grade, at_most
from recombine.base.progress import Progress, of_step, silent
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.data import support as stored
from recombine.data.locations import is_model
from recombine.data.pict import untested
from recombine.data.read import support_of
from recombine.data.support import Support
from recombine.data.table_query import TableOptions
from recombine.numerics.simple_rules import ADDITIVE
from recombine.verbs.audit.audit import audit
from recombine.verbs.audit.structural_zeros import suspect_zeros
from recombine.verbs.plan import verdict as wording
from recombine.verbs.plan.choice import (
    COLUMNS,
    BlockedValues,
    Choice,
    PlanLine,
    PlanMeasure,
    PlanNeed,
    Point,
    RuleTest,
    curve,
    table,
)
from recombine.verbs.plan.collectable import Collectable, Costs
from recombine.verbs.plan.goal_balance import plan_balance
from recombine.verbs.plan.goal_covering import plan_covering
from recombine.verbs.plan.goal_determined import plan_determined
from recombine.verbs.plan.goal_leverage import plan_leverage
from recombine.verbs.plan.matrix import write_matrix
from recombine.verbs.plan.plan_settings import SHOT, Goal, check_sets, check_settings, check_untested
from recombine.verbs.plan.replay import LearnerSettings, Replay
from recombine.verbs.plan.replay import replay as replayed
from recombine.verbs.plan.set_basis import plan_set_basis
from recombine.verbs.plan.shot_list import change_costs, choose_within, with_shots
from recombine.verbs.predict.kernel.salience import Salience

_SHARES = {"leverage": "firm", "variance": "explained", "balance": "balance"}
_ADDITIVE = ("determined", "leverage")  # goals that count on factors that add up
_COUNTED = ("pairs", "triples", "balance")
_FIRM = 0.9  # of one example, what an unseen combination must be worth on average to be called plausible
_SAVED_LINES = 200  # that a record has as JSON, for people; its table has all of them
_SALIENCE = "relu:3"  # an ordinary network of three layers: the learner of somebody who says nothing of it
_LEFT_OUT = "They are not proposed; with --any (plausible=False) they are."
_RIDGE = 0.0  # answers are believed as they are, unless the user says how noisy they are


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """What to collect next for a goal, within a budget, in order.

    >>> import recombine
    >>> table = {"colour": ["red", "red", "blue"], "shape": ["disc", "cube", "ball"]}
    >>> plan = recombine.plan(table, factors=["colour", "shape"])
    >>> print(plan.verdict.replace(". ", ".\\n"))
    1 more combination would let all 3 undetermined ones be worked out, if the factors add up.
    The first joins colour=blue and shape=ball to the rest.
    >>> plan.table.select(["colour", "shape", "cost", "gain"]).to_pylist()
    [{'colour': 'blue', 'shape': 'cube', 'cost': 1.0, 'gain': 3.0}]
    """

    kind: ClassVar[str] = "plan"
    verdict: str
    grade: Grade
    reasons: tuple[str, ...]
    goal: str
    budget: float | None
    measure: PlanMeasure
    curve: tuple[Point, ...]
    needed: PlanNeed
    reached: bool
    blocked: BlockedValues | None
    replay: Replay | None
    rule: RuleTest | None
    shares: Mapping[str, float | None]
    settings: Mapping[str, Any]
    table: pa.Table
    support: Support

    @property
    def provenance(self) -> Provenance:
        """Where it came from."""
        return self.support.source

    @cached_property
    def lines(self) -> tuple[PlanLine, ...]:
        """The combinations to collect, in order."""
        return self.first(self.table.num_rows)

    def first(self, number: int) -> tuple[PlanLine, ...]:
        """The first few lines."""
        names = self.support.space.names
        part = self.table.slice(0, number)
        columns = [part[place].to_pylist() for place in range(part.num_columns)]
        own = dict(zip(COLUMNS, columns[len(names) : len(names) + len(COLUMNS)], strict=True))
        return tuple(
            PlanLine(
                combination={name: columns[k][row] for k, name in enumerate(names)},
                **{name: own[name][row] for name in COLUMNS},
            )
            for row in range(part.num_rows)
        )

    def share(self, name: str) -> float:
        """A share that a gate can be held against, once the plan is carried out: `determined`, `pairs` or `triples` of
        the possible ones; `firm`, the part of one example that an unseen combination is worth on average; `explained`,
        of the variance; `balance`, the rows of the thinnest combination against the median.
        """
        if name not in self.shares:
            raise SettingError(
                f"no share {name!r}",
                why=f"a plan for {self.goal!r} does not measure it",
                instead=f"write {', '.join(self.shares)}",
            )
        found = self.shares[name]
        return math.nan if found is None else found

    @property
    def shots(self) -> pa.Table:
        """The lines in the order that is short to walk through, where changes cost something; else as they are."""
        return self.table.sort_by(SHOT) if "change_over" in self.settings and self.table.num_rows else self.table

    def matrix(self, form: Literal["csv", "tsv", "json"]) -> str:
        """What to collect as rows: comma-separated, tab-separated as PICT prints it, or the matrix of a CI server."""
        return write_matrix(self.shots.select(list(self.support.space.names)), form)

    def record(self) -> Record:
        """The plan as plain data, which can be saved, drawn and loaded."""
        tables = stored.tables(self.support) | {"lines": self.table}
        return Record("plan", self._data(), tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "Plan":
        """Back from plain data."""
        return cls(
            **revive_all(cls, (*_PLAIN, "measure", "curve", "needed", "blocked", "replay", "rule"), record.data),
            table=record.tables["lines"],
            support=stored.load_support(record),
        )

    def _data(self) -> dict[str, Any]:
        support = self.support
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "reasons": list(self.reasons),
            **stored.describe(support),
            "factors": [
                {"name": f.name, "values": len(f.values), "seen": int((counts > 0).sum()), "declared": f.declared}
                for f, counts in zip(support.space.factors, support.value_counts, strict=True)
            ],
            "combinations": len(support),
            "space": support.space.size,
            "line_count": self.table.num_rows,
            "spent": self.curve[-1].spent,
            "measure": asdict(self.measure),
            "curve": [asdict(point) for point in self.curve],
            "needed": asdict(self.needed),
            "blocked": asdict(self.blocked) if self.blocked is not None else None,
            "replay": asdict(self.replay) if self.replay is not None else None,
            "rule": asdict(self.rule) if self.rule is not None else None,
            "lines": [asdict(line) | {"combination": self._plain(line)} for line in self.first(_SAVED_LINES)],
        }

    def _plain(self, line: PlanLine) -> dict[str, Any]:
        """A combination as JSON has it: of sets the elements, in their order."""
        sets = {factor.name: factor.sets for factor in self.support.space.factors if factor.sets is not None}
        return {
            name: sets[name].element_names(sets[name].code(value)) if name in sets else value
            for name, value in line.combination.items()
        }


_PLAIN = ("verdict", "grade", "reasons", "goal", "budget", "reached", "shares", "settings")


class PlanOptions(TableOptions, total=False):
    """How the table is read, what the goal "variance" plans for, and what it costs to change a factor's value."""

    salience: Salience | str | None
    ridge: float | None
    change_over: Mapping[str, float] | None


@explain_kinds
def plan(  # noqa: PLR0913 - each is one plain question, and all but one have an answer already
    source: Any,
    *,
    factors: Sequence[str] | None = None,
    target: str | None = None,
    goal: Goal = "determined",
    budget: float | None = None,
    costs: Any = None,
    replay: bool = False,
    plausible: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Say which combinations to collect next, in which order, and what each of them buys.

    `source` is anything that `recombine.read` takes, with `factors` and the other settings of `read` beside it; or a
    `Support`, which was read already; or a PICT model, `model.pict`, of which nothing was tried yet (pairs, triples).

    `goal` is "determined" (the fewest after which everything can be worked out), "pairs" or "triples" (every pair or
    triple of values seen together), "leverage" (for an additive model fitted to noisy answers: what hangs on least
    evidence hangs on more), "variance" (what tells a network or kernel most; `salience`, default "relu:3", and `ridge`,
    default 0, describe it, and are refused with another goal) or "balance" (more rows where there are fewest). `costs`
    is a CSV file or a table with factors as columns and `cost`. `budget` is in units of cost; by default what is
    needed, at most 50 for leverage and variance. Of combinations that are worth the same, the more `plausible` comes
    first, estimated from which values co-occur, and none holds a pair of values that perhaps cannot occur. `replay`
    compares the plan's order with random ones on the table's own past. `change_over` says what it costs to change a
    factor's value between two lines, {"table": 600, "lamp": 10}: it counts towards the budget, and `shots` is then the
    order that is short to walk through. Of factors whose value is a set (`sets`, as in `recombine.read`) a plan is made
    for "determined" or "balance"; prices of elements add up.
    """
    salience, ridge = options.pop("salience", None), options.pop("ridge", None)
    changing = options.pop("change_over", None)
    check_settings(goal=goal, budget=budget, salience=salience, ridge=ridge, replay=replay)
    learning = LearnerSettings(_SALIENCE if salience is None else salience, _RIDGE if ridge is None else ridge)
    reading = cast("TableOptions", options)
    check_seed(seed)
    tell: Progress = progress or silent
    counting = of_step(progress, "counting combinations")
    if is_model(source):
        check_untested(goal, table_settings={"factors": factors, "target": target, **reading}, replay=replay)
        support = untested(source, command=reading.get("command"))
    else:
        support = support_of(source, "plan", factors=factors, target=target, progress=counting, **reading)
    check_sets(support.space.set_factors, goal=goal, replay=replay)
    zeros, support = suspect_zeros(support) if plausible else (None, support)
    ranked = plausible and not support.space.set_factors  # which elements keep company is not asked yet
    collectable = Collectable(support, Costs.of(costs, support.space), ranked=ranked)
    changes = change_costs(changing, support.space)

    def choose(offered: Collectable, spent: float | None) -> Choice:
        return _choose(offered, goal, spent, learning, seed, tell)

    if changes is None:
        choice = choose(collectable, budget)
    else:
        choice = with_shots(choose_within(choose, collectable, budget, changes), changes)
    past = replayed(support, goal, learning=learning, seed=seed, tell=tell) if replay else None
    settings: dict[str, Any] = {"seed": seed, "costs": collectable.costs.line_count, "plausible": plausible}
    if changes is not None:
        settings["change_over"] = dict(zip(support.space.names, changes.tolist(), strict=True))
    if goal == "variance":
        settings |= {"salience": str(learning.salience), "ridge": learning.ridge}
    if len(choice.codes) and collectable.tells_plausible:
        choice = replace(choice, extra={**choice.extra, "plausibility": collectable.plausible(choice.codes)})
    left_out = "" if zeros is None or zeros.combinations is None else f" {zeros.sentence} {_LEFT_OUT}"
    complete, spent = len(support) == support.space.size, np.cumsum(choice.prices)
    rule = _rule_test(support, seed) if goal in _ADDITIVE and not complete else None
    return Plan(
        verdict=f"{wording.verdict(goal, choice, budget, complete=complete, rule=rule)}{left_out}",
        grade=at_most("sound" if rule is None else rule.limit, _grade(goal, choice, complete=complete)),
        reasons=tuple(filter(None, (*choice.notes, past.said if past else None, *support.row_notes))),
        goal=goal,
        budget=None if budget is None else float(budget),
        measure=choice.measure,
        curve=curve(choice, spent),
        needed=choice.needed,
        reached=choice.reached,
        blocked=choice.blocked,
        replay=past,
        rule=rule,
        shares={_SHARES.get(goal, goal): _share(goal, choice)},
        settings=settings,
        table=table(support, choice, spent),
        support=support,
    )


def _rule_test(support: Support, seed: int) -> RuleTest | None:
    """What an audit finds of adding up, on which the plan rests; None where no target was named to test it on."""
    if support.target is None:
        return None
    found = audit(support, seed=seed)
    chosen = ADDITIVE if found.additive is None else found.additive.chosen
    return RuleTest(found.grade, refuted=found.refuted, other=chosen != ADDITIVE)


def _choose(
    collectable: Collectable, goal: str, budget: float | None, learning: LearnerSettings, seed: int, tell: Progress
) -> Choice:
    if goal == "determined" and collectable.space.set_factors:
        return plan_set_basis(collectable, budget=budget, seed=seed, tell=tell)
    if goal == "determined":
        return plan_determined(collectable, budget=budget, seed=seed, tell=tell)
    if goal == "leverage":
        return plan_leverage(collectable, budget=budget, seed=seed, tell=tell)
    if goal == "balance":
        return plan_balance(collectable, budget=budget, tell=tell)
    if goal != "variance":
        return plan_covering(collectable, goal, budget=budget, seed=seed, tell=tell)
    from recombine.verbs.plan.goal_variance import Posterior, plan_variance  # noqa: PLC0415
    from recombine.verbs.predict.kernel.salience_fit import resolve  # noqa: PLC0415

    if learning.salience == "fit" and collectable.support.target is None:
        raise SettingError(
            "salience='fit' without a target",
            why="weights are fitted to the answers of the seen combinations",
            instead="name the column to predict (--target COLUMN), or a network: salience='relu:3'",
        )
    posterior = Posterior(
        collectable.support, resolve(learning.salience, collectable.support, seed=seed), learning.ridge, seed
    )
    return plan_variance(collectable, posterior, budget=budget, seed=seed, tell=tell)


def _grade(goal: str, choice: Choice, *, complete: bool) -> Grade:
    """How far the goal is reached once the plan is carried out.

    Only what was counted can be sound: that everything was seen, that every pair was, that no combination is thin. What
    can be worked out, and how firmly, rests on factors that add up: what an audit finds of that holds it down.
    """
    if choice.blocked is not None:
        return "failing"
    if complete and goal != "balance":
        return "sound"
    if goal == "leverage" and choice.share is not None:
        return "plausible" if choice.share >= _FIRM else "weak"
    if not choice.reached:
        return "weak"
    return "plausible" if len(choice.codes) or goal not in _COUNTED else "sound"


def _share(goal: str, choice: Choice) -> float | None:
    """What a gate is held against; nothing where it cannot be known."""
    if goal in _SHARES:
        return choice.share
    if not choice.measure.full or choice.measure.name.startswith("independent"):
        return None
    last = float(choice.after[-1]) if len(choice.after) else choice.measure.today
    return None if last is None else last / choice.measure.full
