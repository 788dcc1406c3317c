"""Read a table of predictions: one GROUP BY is pushed to the engine, and only the sums come back.

The answers may stand beside factors and truth, or in a table of their own that is joined by an id. What was trained
on is told by a column of the same table (`split`) or by a table of its own (`train`).
"""

import shlex
from dataclasses import dataclass, replace
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, RecombineError, SettingError, TableError
from recombine.data import columns
from recombine.data.centred_sums import Centres, Sums, about, pilots, settled
from recombine.data.columns import FactorKey
from recombine.data.engine import Progress
from recombine.data.group_counts import Aggregate, EngineCounts, JoinedTable, columns_of, count_table, stacked
from recombine.data.sources import opened
from recombine.data.space import text
from recombine.data.split_sides import SplitColumn, likeliest, no_side, sides_of
from recombine.data.support_assembly import floats
from recombine.data.table_query import TableQuery
from recombine.verbs.evaluate.scoring import (
    SCORED,
    Columns,
    PredictionQuestion,
    RowScore,
    Scoring,
    answer_columns,
    clean,
    score_rows,
    scoring_of,
)

TAUGHT = "taught"
"""What the training side's truth is summed about, where both sides are in one table: they may lie far apart."""
_TRUTH_SUMS = ("target_count", "target_total", "target_squares")
_SCORE_SUMS = ("scored", "total", "squares")
NOT_BINARY = "not_binary"
"""The rows that the user's own column scores with neither 0 nor 1; where there are none, it is a share."""
_SEEN_SIDE = "seen"  # what `recombine split --seen-share` calls tested rows of seen combinations
_USUAL = ("split", "side", "subset", "partition", "set", "fold", "part")
_MOST = 50  # different values that a column which says the side is looked at for


@dataclass(frozen=True)
class GatheredLines:
    """The engine's lines, both sides under one another, and how rows were scored.

    `counted` says how many rows there were of each table that was joined, and how many of them found a partner.
    """

    lines: pa.Table
    keys: tuple[FactorKey, ...]
    scoring: Scoring
    source: str
    train: str | None
    counted: dict[str, tuple[int, int]]
    trained_about: Centres
    """What the sums of the training side's truth were taken about, where it is a table of its own."""


def gather(
    predictions: Any,
    question: PredictionQuestion,
    *,
    data: Any = None,
    train: Any = None,
    against: Any = None,
    progress: Progress | None = None,
) -> GatheredLines:
    """Count how the answers fared, by combination, on the side that is tested; and what was trained on."""
    if train is not None and question.split is not None:
        raise SettingError(
            "both train and split were given",
            why="each of them says what was trained on",
            instead="give the training table, or the column that says which rows were trained on",
        )
    if train is not None:
        check_sides_alike(question.query)
    source, question, beside = _beside(predictions, question, data, against)
    found = settled(
        lambda centres: count_table(
            source,
            question.query,
            lambda table, backend: _ask(table, question, backend, beside, centres),
            needs=question.needs(),
            joined=beside,
            progress=progress,
        ),
        _sums_of,
    )
    counts, marks = [found], ["test" if question.split is None else None]
    if train is not None:
        counts.append(
            settled(lambda centres: _count_training(train, question, found.context, progress, centres), _sums_of)
        )
        marks.append("train")
    return GatheredLines(
        stacked(counts, marks),
        found.keys,
        found.context,
        found.source,
        counts[1].source if train is not None else None,
        _partners(found, beside),
        counts[-1].context.centres,
    )


def _sums_of(found: EngineCounts) -> dict[str, Sums]:
    """What was summed about a number: the truth, and of the rows that were scored their scores."""
    told, lines = {}, found.lines
    side = lines["side"].to_numpy(zero_copy_only=False) if "side" in lines.column_names else None
    for name, parts, on in (
        ("target", _TRUTH_SUMS, "test"),
        (TAUGHT, _TRUTH_SUMS, "train"),
        ("score", _SCORE_SUMS, "test"),
    ):
        if name in found.context.centres:
            here = slice(None) if side is None else side == on
            count, total, squares = (floats(lines[part])[here] for part in parts)
            told[name] = (count, total, squares, found.context.centres[name])
    return told


def _beside(
    predictions: Any, question: PredictionQuestion, data: Any, against: Any
) -> tuple[Any, PredictionQuestion, tuple[JoinedTable, ...]]:
    """The table that is counted, and the tables whose answers are joined to it by their ids."""
    joined: list[JoinedTable] = []
    if data is not None:
        joined.append(_answer_table(predictions, question, question.prediction, "prediction", score=question.own_score))
        question = replace(
            question,
            prediction=_rename(question.prediction, "prediction"),
            score=_name("score", 0) if question.own_score is not None else question.score,
        )
    if against is not None:
        joined.append(_answer_table(against, question, question.other, "other"))
        question = replace(question, other=_rename(question.other, "other"))
    return (predictions if data is None else data), question, tuple(joined)


def _answer_table(
    source: Any, question: PredictionQuestion, answers: Columns | None, role: str, *, score: str | None = None
) -> JoinedTable:
    """A table's ids and answers, under names that nobody else has."""
    if question.id is None:
        raise SettingError(
            "two tables without an id",
            why="their rows are matched by a column that both have",
            instead="name it: id='image' (--id image)",
        )
    named = answer_columns(answers)
    rows = columns_of(source, [question.id, *named, *([score] if score else [])], role=f"the {role}")
    check_ids(rows[question.id], question.id, role)
    renamed = {_name(f"{role}_id", 0): rows[question.id]}
    renamed |= {_name(role, place): rows[name] for place, name in enumerate(named)}
    if score:
        renamed[_name("score", 0)] = rows[score]
    here = _name(f"{role}_here", 0)
    return JoinedTable(pa.table(renamed | {here: pa.array([True] * len(rows))}), _name(f"{role}_id", 0), question.id)


def _name(role: str, place: int) -> str:
    return f"recombine_{role}_{place}"


def _rename(answers: Columns | None, role: str) -> Columns | None:
    if answers is None or isinstance(answers, str):
        return None if answers is None else _name(role, 0)
    return {label: _name(role, place) for place, label in enumerate(answers)}


def check_ids(ids: pa.ChunkedArray, name: str, role: str) -> None:
    """Every row has an id, and no two the same."""
    if ids.null_count:
        raise ColumnError(
            f"the id {name!r} is missing in {ids.null_count:,} rows of the {role} table",
            why="rows are matched by it",
            instead="leave those rows out, or name another column",
        )
    twice = len(ids) - pc.count_distinct(ids).as_py()
    if twice:
        counted = pc.value_counts(ids.combine_chunks())
        first = next(pair["values"] for pair in counted.to_pylist() if pair["counts"] > 1)
        raise _repeated_ids(name, twice, f", such as {text(first)!r}")


def _repeated_ids(name: str, twice: int, such: str = "") -> ColumnError:
    return ColumnError(
        f"the id {name!r} is not unique: {twice:,} rows repeat one{such}",
        why="a row would be scored more than once, or with another row's answer",
        instead="keep one row for each id, or name another column",
    )


def _partners(found: EngineCounts, beside: tuple[JoinedTable, ...]) -> dict[str, tuple[int, int]]:
    counted = {}
    for role, one in _roles(beside).items():
        matched = int(pc.sum(found.lines[f"{role}_here"]).as_py() or 0)
        if not matched:
            raise TableError(
                f"no id of the {role} table is in '{found.source}'",
                why=f"{len(one.rows):,} rows were to be matched by {one.own_id!r}, and none was",
                instead="check that both tables write the id in the same way",
            )
        counted[role] = (len(one.rows), matched)
    return counted


def _ask(
    table: Any, question: PredictionQuestion, backend: Any, beside: tuple[JoinedTable, ...], centres: Centres
) -> Aggregate:
    """The keys and sums of the one aggregate."""
    scoring = scoring_of(table, question, backend)
    _check_own_ids(table, question, backend)
    side = None if question.split is None else _side(table, question, backend)
    test = ibis.literal(True) if side is None else (side == "test").fill_null(False)
    own = score_rows(table, question, scoring, backend, answers=question.prediction)
    by: dict[str, Any] = {} if side is None else {"side": side}
    by["state"] = test.ifelse(own.state, SCORED)
    ok = test & (own.state == SCORED)
    sums: dict[str, Any] = {f"{role}_here": table[_name(f"{role}_here", 0)].count() for role in _roles(beside)}
    centres = {**_pilots(table, question, scoring, backend, ok, test, own), **centres}
    if own.score is not None:
        apart = own.score - centres["score"]
        # whole numbers are counted: a sum of written fractions is a decimal in some engines
        summed = (ok.ifelse(1, 0).sum(), *(ok.ifelse(part, 0.0).sum() for part in (apart, apart * apart)))
        sums |= dict(zip(_SCORE_SUMS, summed, strict=True))
        if question.own_score is not None:
            sums[NOT_BINARY] = (ok & (own.score != 0) & (own.score != 1)).ifelse(1, 0).sum()
    if scoring.kind == "label":
        by |= {
            "truth": clean(table[question.target], backend),
            "said": test.ifelse(own.said, ibis.null(own.said.type())),
        }
        if own.later is not None:
            sums["prediction_total"] = ok.ifelse(own.later, 0.0).sum()
            sums["prediction_squares"] = ok.ifelse((1 - own.true) * (1 - own.true), 0.0).sum()
    elif scoring.kind == "number":
        sums |= _number_sums(table, question, backend, centres, ok, test)
    if question.other is not None:
        other = score_rows(table, question, scoring, backend, answers=question.other)
        _compare(by, sums, own, other, ok)
    return Aggregate(by, sums, replace(scoring, centres=centres))


def _pilots(
    table: Any, question: PredictionQuestion, scoring: Scoring, backend: Any, ok: Any, test: Any, own: RowScore
) -> Centres:
    wanted = {}
    if scoring.kind == "number":
        truth = table[question.target]
        wanted = {"target": truth}
        if question.split is not None:
            nothing = ibis.null(truth.type())
            wanted = {"target": test.ifelse(truth, nothing), TAUGHT: test.ifelse(nothing, truth)}
    if own.score is not None:
        wanted["score"] = ok.ifelse(own.score, ibis.null("float64"))
    return pilots(table, wanted, backend)


def _roles(beside: tuple[JoinedTable, ...]) -> dict[str, JoinedTable]:
    """The tables that are joined, by what they hold: this model's predictions, or the other's."""
    return {"prediction" if one.id == _name("prediction_id", 0) else "other": one for one in beside}


def _number_sums(
    table: Any, question: PredictionQuestion, backend: Any, centres: Centres, ok: Any, test: Any
) -> dict[str, Any]:
    """Truth and answers of the rows that are scored; of the training side all truth that there is."""
    centre = centres["target"]
    truth = about(table[question.target], centre, backend)
    if centres.get(TAUGHT, centre) != centre:
        truth = test.ifelse(truth, about(table[question.target], centres[TAUGHT], backend))
    known = ok | (~test & truth.notnull())
    return {
        "prediction_total": ok.ifelse(about(table[question.prediction], centre, backend), 0.0).sum(),
        "target_count": known.ifelse(1, 0).sum(),
        "target_total": known.ifelse(truth, 0.0).sum(),
        "target_squares": known.ifelse(truth * truth, 0.0).sum(),
    }


def _compare(by: dict[str, Any], sums: dict[str, Any], own: RowScore, other: RowScore, ok: Any) -> None:
    """Both models' sums over the rows that both answered; for plain labels the answers themselves are keys."""
    both = ok & (other.state == SCORED)
    sums["other_bad"] = (ok & (other.state > 2)).ifelse(1, 0).sum()
    if own.score is None:
        by["other"] = ok.ifelse(other.said, ibis.null(other.said.type()))
        return
    sums |= {
        "both_rows": both.ifelse(1, 0).sum(),
        "own_both": both.ifelse(own.score, 0.0).sum(),
        "other_both": both.ifelse(other.score, 0.0).sum(),
    }


def _check_own_ids(table: Any, question: PredictionQuestion, backend: Any) -> None:
    if question.id is None:
        return
    ids = table[question.id]
    found = backend.to_pyarrow(table.aggregate(rows=ids.count(), different=ids.nunique())).to_pylist()[0]
    if found["rows"] > found["different"]:
        raise _repeated_ids(question.id, found["rows"] - found["different"])


def _side(table: Any, question: PredictionQuestion, backend: Any) -> Any:
    """The side that each row stands on, in our own words."""
    split = question.split or SplitColumn()
    column = clean(table[split.name], backend)
    found = backend.to_pyarrow(table.select(side=column).filter(column.notnull()).distinct().limit(1001))
    values = columns.ordered(set(found["side"].to_pylist()))
    if len(values) > 1000:
        raise ColumnError(
            f"the split {split.name!r} has more than 1,000 different values",
            why="a split says on which side a row stands",
            instead="name the column that holds train and test",
        )
    sides: dict[Any, str] = dict(
        sides_of(split.name, values, **split.words, option=f"split=SplitColumn({split.name!r}, train=[{{!r}}])")
    )
    if not split.test:
        sides |= {value: "test" for value in values if text(value).lower() == _SEEN_SIDE}
    if "test" not in sides.values():
        free = [text(value) for value in values if value not in sides]
        raise no_side("test", split.name, values, instead=_ask_for_test(split.name, free))
    return ibis.cases(*[(column == value, side) for value, side in sides.items()], else_=ibis.null("string"))


def _ask_for_test(split: str, free: list[str]) -> str:
    if not free:
        return "give a split that has rows on another side than training"
    value = likeliest(free, ["test", "hold", "held", "eval"], alone=True)
    which, value = ("which value", value) if value is not None else ("which of them", "VALUE")
    return f"say {which} it is: split=SplitColumn({split!r}, test=[{value!r}]) (--test-side {shlex.quote(value)})"


def _count_training(
    train: Any, question: PredictionQuestion, scoring: Scoring, progress: Progress | None, centres: Centres
) -> EngineCounts:
    """The training table's combinations, with the target where it has one."""

    told = replace(scoring, centres={})

    def ask(table: Any, backend: Any) -> Aggregate:
        if scoring.kind == "score" or question.target not in table.columns:
            return Aggregate(context=told)
        if scoring.kind == "label":
            return Aggregate(by={"truth": clean(table[question.target], backend)}, context=told)
        if not table[question.target].type().is_numeric():
            raise ColumnError(
                f"the training table's {question.target!r} is of type {table[question.target].type()}",
                why="the truth of the predictions is a number",
                instead="give a training table with the same target",
            )
        found = centres or pilots(table, {"target": table[question.target]}, backend)
        truth = about(table[question.target], found["target"], backend)
        sums = {"target_count": truth.count(), "target_total": truth.sum(), "target_squares": (truth * truth).sum()}
        return Aggregate(sums=sums, context=replace(scoring, centres=found))

    query = replace(question.query, where=None, table=None)
    return count_table(train, query, ask, needs=[question.target] if question.target else [], progress=progress)


def check_sides_alike(query: TableQuery) -> None:
    """Bins that a table cuts by its own numbers would be cut otherwise in a table of training rows."""
    own = [name for name, bins in query.bins.items() if isinstance(bins, int) or str(bins).startswith("quant")]
    if own:
        raise SettingError(
            f"bins={query.bins[own[0]]!r} for {own[0]!r} with a training table",
            why="each table would be cut at edges of its own, so that a bin would mean two things",
            instead=f"give the edges: bins=dict({own[0]}=[0, 10, 20]) (--bins {own[0]}=0,10,20)",
        )


def split_column(source: Any, *, table: str | None = None) -> str | None:
    """The first column with a usual name whose values hold a training and a test side; None where there is none.

    >>> split_column({"a": [1, 2], "Split": ["train", "test"]})
    'Split'
    >>> split_column({"a": [1, 2], "split": ["x", "y"]}) is None
    True
    """
    with opened(source, table=table) as found:
        usual = [name for name in found.table.columns if name.lower() in _USUAL]
        try:
            return next((name for name in usual if _tells(found.table, name, found.backend)), None)
        except Exception:  # noqa: BLE001 - any engine's: an offer is not worth an evaluation that is made already
            return None


def _tells(table: Any, name: str, backend: Any) -> bool:
    column = clean(table[name], backend)
    found = backend.to_pyarrow(table.select(side=column).filter(column.notnull()).distinct().limit(_MOST))
    try:
        sides = sides_of(name, found["side"].to_pylist())
    except RecombineError:
        return False
    return {"train", "test"} <= set(sides.values())
