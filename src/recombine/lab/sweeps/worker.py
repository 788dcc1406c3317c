"""What a worker does with a pack: train it, write its runs into the store, and say how it went."""

import json
import socket
import time
import traceback
import warnings
from functools import lru_cache
from pathlib import Path

from recombine._version import __version__
from recombine.errors import OutputError, RecombineError, RecordError, SourceError
from recombine.lab.runs.layout import EarlierStoreWarning
from recombine.lab.runs.run import Configuration, Run
from recombine.lab.runs.store import Store
from recombine.lab.sweeps.behind import WrittenBehind
from recombine.lab.sweeps.crew import Outcome, Report, Trouble
from recombine.lab.training.configurations import numerics
from recombine.lab.training.pack import train
from recombine.redaction import guarded, redacted_words

_LONGEST_REASON = 2000


def work(sent: str, place: str) -> str:
    """Train a pack that was sent as text; the answer is a report, as text. Nothing that a run does is raised."""
    began = time.monotonic()
    configurations = [Configuration(**run) for run in json.loads(sent)]
    with guarded(place):  # what a model or a package raises may quote the store's address
        report = _report(configurations, place)
    return Report(
        outcomes=report.outcomes,
        trouble=report.trouble,
        reason=report.reason,
        host=socket.gethostname(),
        seconds=time.monotonic() - began,
    ).to_text()


def _report(configurations: list[Configuration], place: str) -> Report:
    try:
        _check_code(configurations)
        store = _opened(place)
    except RecombineError as error:
        return Report(trouble="store", reason=_words(error))
    try:
        with WrittenBehind(store) as behind:
            runs = train(configurations, store=behind)
    except Exception as error:  # noqa: BLE001 - whatever a model raises is that run's fate, not the sweep's
        return Report(trouble=_fault(error), reason=_words(error))
    return Report(outcomes=tuple(map(outcome, runs)))


@lru_cache(maxsize=4)
def _opened(place: str) -> Store:
    """The store, opened once a process; whoever started the sweep was told what is to be said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierStoreWarning)
        return Store.open(place, create=False)


def _fault(error: Exception) -> Trouble:
    """A store that is full or gone is no run's fault; what recombine refuses, it refuses
    again, but for files that another machine may have."""
    if isinstance(error, OutputError | RecordError):
        return "store"
    return "mistake" if isinstance(error, RecombineError) and not isinstance(error, SourceError) else "program"


def _check_code(configurations: list[Configuration]) -> None:
    """A run belongs to the numbers that it names; a node whose code gives others must not write under that name."""
    for run in configurations:
        ours = numerics(run.task, run.split, run.model)
        if run.code != ours:
            raise SourceError(
                f"{socket.gethostname()} gives the numbers of {ours}; the sweep was started with {run.code}",
                why=f"a run's address names the version of its numbers, and recombine is {__version__} here",
                instead="install the same version of recombine on every node",
            )


def outcome(run: Run) -> Outcome:
    """What is told of a run."""
    part, score = main_score(run)
    return Outcome(key=run.key, status=run.status, score=score, part=part, reason=run.reason)


def main_score(run: Run) -> tuple[str | None, float | None]:
    """The number that is shown: the score on what was unseen, else on whatever was asked last."""
    scores = [name for name in run.metrics if name.endswith(".score") and not name.startswith("train.")]
    if not scores:
        return None, None
    name = "unseen.score" if "unseen.score" in scores else scores[-1]
    return name.removesuffix(".score"), run.metrics[name]


def _words(error: Exception) -> str:
    """What went wrong, and where."""
    if isinstance(error, RecombineError):
        return f"{error.what}: {error.why}; {error.instead}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    said = redacted_words(str(error)) or "no words"
    return f"{type(error).__name__}: {said}{where}"[:_LONGEST_REASON]
