"""What a network would score on unseen combinations, forecast from examples: arrays in, a forecast out.

The learner is a kernel machine on the inputs themselves (pixels, embeddings, features). It is fitted to the rows at
hand and asked about rows of unseen combinations; nothing is trained. Several machines are asked (`forecast_members`),
their mean is the forecast and their spread is part of its interval. Three ways, by what there is to ask:

- *rows*: rows of unseen combinations are there, and their true answers are known;
- *composed*: the true answers are known, but there are no such rows: they are composed from seen ones (`composed_rows`;
  both in `forecast_methods`);
- *held out*: no true answer is known: seen combinations are held out, and stand for the unseen ones
  (`holdout_forecast`).

Whoever asks without the true answers of a table is first offered those of a rule in their place (`rule_answers`).

Two things make a score low, and they are told apart. Rows that are hard to read cost as much on new rows of seen
combinations (`seen`); what is missing from there to the score on unseen combinations (`drop`) is the price of the
combinations that were not seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recombine.base.checks import check_number, check_seed, check_whole
from recombine.base.grades import Expected
from recombine.verbs.predict.examples.example_forecast import COMPOSED, ExampleForecast
from recombine.verbs.predict.examples.forecast_members import Loss, losses_of
from recombine.verbs.predict.examples.forecast_methods import on_composed, on_rows
from recombine.verbs.predict.examples.forecast_state import InputExamples, OutOfTime, Settings, Work, codes_of, read
from recombine.verbs.predict.examples.holdout_forecast import on_held_out
from recombine.verbs.predict.examples.input_kernels import Kernel, kernels_of
from recombine.verbs.predict.examples.kernel_machines import Kind

MOST_OUTPUTS = 10
"""Numbers that one row is answered with. Networks that draw pictures were stopped long before they could draw those of
seen combinations (R² of .1 to .9), so what they come to hangs on that, and forecasts without it were off by .5."""
DRAWN = (
    f"networks with more than {MOST_OUTPUTS} outputs seldom learn all they are shown, and their score hangs on it: "
    "say how well they do on seen combinations (seen_score=)"
)
MOST_ROWS = 3_000
"""Rows that are fitted, unless more are asked for: 5 to 30 seconds, and little is gained by more."""
TIME_LIMIT = 3600.0
"""Seconds that solving may take, unless told otherwise."""


def forecast(  # noqa: PLR0913 - each is one plain question
    X: Any,  # noqa: N803 - scikit-learn's name
    y: Any,
    codes: Any,
    X_unseen: Any = None,  # noqa: N803
    codes_unseen: Any = None,
    truth_unseen: Any = None,
    *,
    kind: Kind | None = None,
    kernel: str | Kernel | Sequence[Kernel] | None = None,
    losses: Sequence[Loss] | None = None,
    seen_score: float | None = None,
    rows: int = MOST_ROWS,
    of: int | None = None,
    seed: int = 0,
    device: str | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[float], None] = lambda _: None,
) -> ExampleForecast:
    """Forecast the score on unseen combinations from examples.

    `X` (n, d) are the inputs of the training rows, `y` their targets (labels, numbers, or numbers (n, q)) and `codes`
    (n, k) their combinations. `truth_unseen` are the true targets of the rows `X_unseen`, whose combinations are
    `codes_unseen`; without `X_unseen` those of the combinations themselves. Without a truth seen combinations are held
    out. `of` is the number of unseen combinations, where those that are asked about are only some of them. `losses` are
    "margin" and "squared" for labels, "fitted" (no ridge) and "squared" (the best ridge) for both, unless left out.

    `seen_score` is a known or assumed score on new rows of seen combinations: machines that are stopped where they have
    it are then asked as well.

    Where solving takes longer than `time_limit` (seconds), nothing is forecast, and `expected` says how far it came: a
    number never depends on how fast a machine is. `progress` is told the share that is done.

    >>> rng = np.random.default_rng(0)
    >>> codes = np.array([(a, b) for a in range(6) for b in range(6)] * 5)
    >>> X = np.eye(6)[codes].reshape(180, 12) + 0.1 * rng.normal(size=(180, 12))
    >>> unseen = codes.sum(axis=1) % 3 == 0
    >>> found = forecast(X[~unseen], codes[~unseen, 0], codes[~unseen], X[unseen], codes[unseen], codes[unseen, 0])
    >>> found.expected.value, found.seen, len(found.members)
    (1.0, 1.0, 3)
    """
    _check(rows, seed, seen_score, time_limit)
    train, asked, truth = read(X, y, codes, X_unseen, codes_unseen, truth_unseen, kind)
    if train.answers.values.shape[1] > MOST_OUTPUTS and seen_score is None:
        unsaid = Expected(train.answers.score, of=of or 0, reason=DRAWN)
        return _abstaining(unsaid, train, asked, truth)
    settings = Settings(
        kernels=kernels_of(kernel),
        losses=losses_of(train.answers, seen_score) if losses is None else tuple(losses),
        seen_score=seen_score,
        most=rows,
        of=of,
        seed=seed,
        device=device,
        time_limit=time_limit,
        progress=progress,
    )
    work = Work(train, settings)
    try:
        if truth is None:
            found = on_held_out(work)
        elif asked is None:
            found = on_composed(work, codes_of(codes_unseen, train.codes.shape[1]), truth)
        else:
            found = on_rows(work, asked)
    except OutOfTime as far:
        return _abstaining(_out_of_time(far, settings, work), train, asked, truth)
    return found if found.constant is None else replace(found, constant=_class(found.constant, y, truth_unseen))


def _class(place: str, y: Any, truth: Any) -> str:
    """A class by its place among all of them, as it was given."""
    every = np.asarray(y) if truth is None else np.concatenate([np.asarray(y), np.asarray(truth)])
    return str(np.unique(every)[int(place)])


def _abstaining(unsaid: Expected, train: InputExamples, asked: InputExamples | None, truth: Any) -> ExampleForecast:
    way = "held out" if truth is None else COMPOSED if asked is None else "rows"
    return ExampleForecast.abstaining(unsaid, way=way, factors=train.codes.shape[1], of_rows=len(train), notes=())


def _out_of_time(far: OutOfTime, settings: Settings, work: Work) -> Expected:
    """Why nothing is forecast, and what to do: more time, or fewer rows."""
    fewer = max(work.fitted_rows // 2, 10)
    reason = (
        f"the time limit of {settings.time_limit:g} seconds was over when {far}; allow more "
        f"(time_limit, --time-limit), or fit fewer rows than {work.fitted_rows:,}: rows={fewer} (--rows {fewer})"
    )
    return Expected(work.score, of=settings.of or 0, reason=reason)


def _check(rows: Any, seed: Any, seen_score: Any, time_limit: Any) -> None:
    check_number("time_limit", time_limit, above=0, instead="write seconds, such as time_limit=600 (--time-limit 600)")
    check_whole("rows", rows, least=10, instead=f"write rows={MOST_ROWS}")
    check_seed(seed)
    if seen_score is not None:
        check_number("seen_score", seen_score, above=-1e9, most=1.0, instead="write a score, such as seen_score=0.95")
