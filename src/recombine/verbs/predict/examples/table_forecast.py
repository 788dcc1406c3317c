"""A forecast from the rows of a table: which of them are fetched, which are asked about, and what they look like."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any

import numpy as np

from recombine.base.checks import check_number, check_whole
from recombine.base.errors import SettingError, TableError
from recombine.base.grades import Expected
from recombine.base.progress import Progress, silent
from recombine.base.words import text
from recombine.data.sources import opened
from recombine.data.support import Support
from recombine.data.table_query import ReadOptions, TableQuery, declared_bins
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.answers import Answers, Truth
from recombine.verbs.predict.examples import example_rows
from recombine.verbs.predict.examples import input_features as reading_inputs
from recombine.verbs.predict.examples.example_forecast import ExampleForecast
from recombine.verbs.predict.examples.example_rows import Fetched, fetch, glance
from recombine.verbs.predict.examples.forecast import MOST_ROWS, TIME_LIMIT, forecast
from recombine.verbs.predict.examples.input_kernels import Kernel

_FEWEST_EACH = 2
"""Rows of each combination: one to learn from, and one to be tried on."""
_UNSETTLED = 0.1
_WITHIN = (
    "Rows of one combination differ in their answer, so one true answer for each combination does not say what a row's "
    "is: seen combinations were held out instead, and scored on their own rows."
)


@dataclass(frozen=True)
class Examples:
    """What a model looks at, for `recombine.predict`, and how a forecast from it is made.

    `inputs` are columns of numbers or lists, images, or an array in step with the rows. Then the forecast is of rows,
    made by kernel machines on the inputs themselves, and says what it costs that some rows are hard to read. Rows of
    unseen combinations are those whose target is missing, or those of `unlabelled`; without any they are put together
    from seen ones. `kernel` names the machines ("relu", "relu:2", "ntk", "linear"); `seen_score` stops them at a score
    on new rows of seen combinations. At most `rows` are looked at, or `rows_per_combination` of each. Where solving
    takes longer than `time_limit` (in seconds), the examples forecast nothing, and the reasons say how far it came.

    `symbols=True` instead of inputs: all examples of a combination look the same, so none is hard to read.

    >>> Examples("vector", rows=500).rows, Examples(symbols=True).inputs
    (500, None)
    """

    inputs: Any = None
    _: KW_ONLY
    symbols: bool = False
    unlabelled: Any = None
    kernel: str | Kernel | Sequence[Kernel] | None = None
    seen_score: float | None = None
    rows: int = MOST_ROWS
    rows_per_combination: int | None = None
    device: str | None = None
    time_limit: float = TIME_LIMIT

    def __post_init__(self) -> None:
        if self.inputs is not None and self.symbols:
            raise SettingError(
                "symbols=True beside inputs",
                why="the one says that all examples of a combination look the same, the other what each looks like",
                instead="leave one of them out (--symbols or --inputs)",
            )
        others = [one for one in fields(self) if one.name not in ("inputs", "symbols")]
        idle = next((one.name for one in others if getattr(self, one.name) is not one.default), None)
        if self.inputs is None and idle is not None:
            raise SettingError(
                f"{idle}=… without inputs",
                why="it speaks of a forecast from examples, which looks at their inputs",
                instead=f"name them: inputs='COLUMN' (--inputs), or leave {idle} out",
            )

    def check_seen_score(self, answers: Answers, *, truth: bool) -> None:
        """Refuse a score that nobody can have, or that nothing could be held against."""
        if self.seen_score is None:
            return
        if answers.kind == "label":
            said = "an accuracy lies between 0 and 1"
            check_number("seen_score", self.seen_score, least=0.0, most=1.0, why=said, instead="write seen_score=0.95")
        else:
            said = "no R² is above 1"
            check_number("seen_score", self.seen_score, most=1.0, why=said, instead="write seen_score=0.9")
        if not truth:
            raise SettingError(
                f"seen_score={self.seen_score} without a truth",
                why="machines that are stopped at that score are asked about unseen combinations, and held against "
                "their true answers",
                instead="give truth= (--truth), or leave seen_score out",
            )


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a table before its rows are fetched."""

    support: Support
    answers: Answers
    truth: Truth | None
    unseen: int  # how many combinations are unseen
    unlike: str | None = None  # why no seen combination that could be held out stands for them, if none does
    seed: int = 0
    only_if: bool = False  # whether the truth is that of a rule which nothing could test


def forecast_from(
    source: Any, known: Known, options: Examples, reading: ReadOptions, *, tell: Progress = silent
) -> ExampleForecast:
    """The forecast of the score on a table's unseen combinations, from its own rows."""
    _check(source, options)
    question = _question(reading)
    notes = reading_inputs.below_one_answer(options.seen_score, known.answers)
    tell("fetching rows", None)
    plan = reading_inputs.inputs_of(options.inputs, glance(source, question.table))
    own = _rows(source, known, options, question, plan)
    reading_inputs.check_length(plan, _all_rows(source, plan, own, question))
    labelled = np.flatnonzero((own.codes >= 0).all(axis=1) & np.isfinite(own.targets))
    train = own.subset(_drawn(own.codes[labelled], labelled, options, known.seed))
    asked, asked_plan = _asked(known, options, question, plan, own, notes)
    if known.truth is not None and known.answers.unsettled > _UNSETTLED:
        notes.append(_WITHIN)
        known, asked = replace(known, truth=None), None
    if known.only_if and asked is None:  # an untested rule beside rows that nobody has seen would be two guesses
        known = replace(known, truth=None)
    counted = int(known.answers.counts.sum())
    if known.unlike and _asked_about(known, asked)[0] is None:
        why = Expected("R²" if known.answers.kind == "number" else "accuracy", of=known.unseen, reason=known.unlike)
        factors = train.codes.shape[1]
        return ExampleForecast.abstaining(why, way="held out", factors=factors, of_rows=counted, notes=tuple(notes))
    tell("reading inputs", None)
    given = reading_inputs.values(plan, train, notes)
    others = None if asked is None else reading_inputs.values(asked_plan, asked, notes)
    tell("solving on examples", None)
    found = _forecast(known, options, train, given, asked, others, tell=tell)
    return replace(
        found, of_rows=max(counted, found.of_rows), notes=(*found.notes, *notes), constant=_constant(known, found)
    )


def _check(source: Any, options: Examples) -> None:
    if isinstance(source, Support):
        raise SettingError(
            "a Support and inputs",
            why="a Support holds counts of combinations, and inputs belong to rows",
            instead="give the table itself: recombine.predict(table, factors=[…], target='…', examples=Examples(…))",
        )
    check_whole("rows", options.rows, least=10, instead=f"write rows={MOST_ROWS} (--rows {MOST_ROWS})")
    if options.rows_per_combination is not None:
        check_whole("rows_per_combination", options.rows_per_combination, least=_FEWEST_EACH)


def _question(reading: ReadOptions) -> TableQuery:
    factors = reading["factors"]
    return TableQuery(
        factors=(factors,) if isinstance(factors, str) else tuple(factors),
        target=reading.get("target"),
        target_kind=reading.get("target_kind"),
        where=reading.get("where"),
        bins=declared_bins(reading.get("bins")),
        domain={name: list(values) for name, values in (reading.get("domain") or {}).items()},
        missing=reading.get("missing", "leave out"),
        table=reading.get("table"),
    )


def _rows(source: Any, known: Known, options: Examples, question: TableQuery, plan: reading_inputs.Inputs) -> Fetched:
    each = None if plan.ordered else _each(known.support.counts, options)
    return fetch(source, known.support, question, inputs=plan.names, each=each, ordered=plan.ordered, seed=known.seed)


def _each(counts: Numbers, options: Examples) -> int:
    """Rows of each combination: as asked, or the fewest with which there are rows enough in all."""
    if options.rows_per_combination is not None:
        return options.rows_per_combination
    sizes = np.sort(np.asarray(counts, dtype=np.float64))
    for each in range(_FEWEST_EACH, options.rows):
        if np.minimum(sizes, each).sum() >= min(options.rows, sizes.sum()):
            return each
    return options.rows


def _all_rows(source: Any, plan: reading_inputs.Inputs, own: Fetched, question: TableQuery) -> int:
    """How many rows the table has, where inputs are in step with it; a condition leaves some of them out."""
    if not plan.ordered or question.where is None:
        return len(own)
    with opened(source, table=question.table) as open_table:
        return int(open_table.backend.to_pyarrow(open_table.table.count()).as_py())


def _drawn(codes: Codes, rows: Ints, options: Examples, seed: int) -> Ints:
    """Of the rows with a target, as many of each combination as are wanted."""
    if not len(rows):
        raise TableError(
            "no row has a target and all of its factors",
            why="there is nothing to learn from",
            instead="name a target that is filled in",
        )
    combination, _ = example_rows.numbered(codes)
    if options.rows_per_combination is not None:
        return rows[example_rows.first_of_each(combination, options.rows_per_combination, seed=seed)]
    return rows[example_rows.drawn(combination, options.rows, seed=seed)]


def _asked(
    known: Known,
    options: Examples,
    question: TableQuery,
    plan: reading_inputs.Inputs,
    own: Fetched,
    notes: list[str],
) -> tuple[Fetched | None, reading_inputs.Inputs]:
    """Rows of unseen combinations whose truth is known: those of the table without a target, or of another table."""
    rows, used = own, plan
    if options.unlabelled is not None:
        rows, used = _of_another_table(known, options, question, plan)
    else:
        rows = own.subset(np.flatnonzero(~np.isfinite(own.targets)))
    unseen = _unseen(known, rows.codes)
    if not unseen.any():
        if options.unlabelled is not None:
            raise TableError(
                f"none of the {len(rows):,} unlabelled rows is of an unseen combination",
                why="all of them hold combinations that were seen, or values that were not",
                instead="give rows of combinations that the table has no answer for",
            )
        return None, used
    if known.truth is None:
        reading_inputs.values(used, rows.subset(np.flatnonzero(unseen)), [])  # what is wrong with them is said anyway
        notes.append(
            "There are rows of unseen combinations, but not their true answers, so they could not be scored: "
            "give truth= (--truth)."
        )
        return None, used
    sure = unseen & np.isfinite(known.truth.on(rows.codes))
    return (rows.subset(np.flatnonzero(sure)) if sure.any() else None), used


def _of_another_table(
    known: Known, options: Examples, question: TableQuery, plan: reading_inputs.Inputs
) -> tuple[Fetched, reading_inputs.Inputs]:
    given = options.unlabelled
    source, inputs = given if isinstance(given, tuple) and len(given) == 2 else (given, options.inputs)
    if plan.ordered and not isinstance(given, tuple):
        raise SettingError(
            "unlabelled rows without inputs of their own",
            why="the table's inputs stand in an array or folder, in step with its own rows",
            instead="give both: unlabelled=(table, inputs)",
        )
    alike = replace(question, where=None, table=None)
    used = reading_inputs.inputs_of(inputs, glance(source, None))
    each = None if used.ordered else max(_FEWEST_EACH, options.rows // max(known.unseen, 1) + 1)
    rows = fetch(source, known.support, alike, inputs=used.names, each=each, ordered=used.ordered, seed=known.seed)
    reading_inputs.check_length(used, len(rows))
    return rows, used


def _unseen(known: Known, codes: Codes) -> Any:
    """Which rows hold a combination of seen values that has no answer."""
    whole = (codes >= 0).all(axis=1)
    place = known.support.groups(range(codes.shape[1])).lookup(codes)
    answered = np.append(np.isin(np.arange(len(known.support)), known.answers.rows), False)
    return whole & ~answered[place]


def _forecast(
    known: Known,
    options: Examples,
    train: Fetched,
    given: Numbers,
    asked: Fetched | None,
    others: Numbers | None,
    *,
    tell: Progress,
) -> ExampleForecast:
    kind = known.answers.kind
    targets = train.targets if kind == "number" else train.targets.astype(np.int64)
    codes, truth = _asked_about(known, asked)
    return forecast(
        given,
        targets,
        train.codes,
        others,
        codes,
        truth,
        kind=kind,
        kernel=options.kernel,
        seen_score=options.seen_score,
        rows=options.rows if options.rows_per_combination is None else max(len(train), 10),
        of=known.unseen or None,
        seed=known.seed,
        device=options.device,
        time_limit=options.time_limit,
        progress=lambda share: tell("solving on examples", share),
    )


def _asked_about(known: Known, asked: Fetched | None) -> tuple[Codes | None, Any]:
    """The combinations that are asked about with their true answers: of rows, or those that the truth speaks of."""
    if known.truth is None:
        return None, None
    codes = known.truth.codes[_unseen(known, known.truth.codes)] if asked is None else asked.codes
    if not len(codes):
        return None, None
    truth = known.truth.on(codes)
    return codes, truth if known.answers.kind == "number" else truth.astype(np.int64)


def _constant(known: Known, found: ExampleForecast) -> str | None:
    """One answer for all, as people read it."""
    return None if found.constant is None else text(known.answers.classes[int(found.constant)])
