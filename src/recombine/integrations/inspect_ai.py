"""inspect_ai: the samples of an evaluation's log as a table for `recombine.evaluate`, grouped by any of their metadata.

    rows = samples("logs/2026-11-16_geography.eval")
    recombine.evaluate(rows, factors=["topic", "language"], score="match")

inspect_ai's own `grouped` takes one key; here combinations of several are told apart.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from recombine.base.decoding import MalformedError, revive, shown
from recombine.base.errors import RecombineError, SourceError
from recombine.base.plugins import needing
from recombine.data.locations import check_plain_file, scheme_of
from recombine.integrations.sample_logs import beside, plain_fields, reading_sample, sample_table

with needing(__name__, "inspect_ai", extra="inspect"):
    from inspect_ai.log import EvalLog, read_eval_log
    from inspect_ai.scorer import value_to_float
    from pydantic import ValidationError

_INSTEAD = "give a whole .eval or .json file that inspect_ai wrote"
_MOST_BYTES, _MOST_INFLATED = 2**30, 200
"""A log may be of any size, and shrink to any; one that does both is made to fill the memory."""

_ZERO = ("i", "n", "no", "false")
"""Incorrect, no answer, and what inspect_ai reads like them."""


def samples(log: EvalLog | str | Path, *, prefix: str = "") -> pa.Table:
    """A row for each sample and epoch: id, epoch, target, the metadata, and each scorer's score and answer.

    `log` is a file (.eval or .json), or a log that was read already. A scorer's number stands under its own name (C, P
    and I as 1, 0.5 and 0), its answer under `answer.<scorer>`; of a score with several values `<scorer>.<value>`.
    """
    found = log if isinstance(log, EvalLog) else _read(log)
    source = str(found.location or "a log of inspect_ai")
    rows: dict[tuple[Any, Any], dict[str, Any]] = {}
    for sample in found.samples or []:
        where = f"the sample {shown(sample.id)} (epoch {shown(sample.epoch)}) of '{source}'"
        with reading_sample(where, instead=_INSTEAD):
            if (sample.id, sample.epoch) in rows:  # as it is where an archive holds a file twice
                raise MalformedError("it stands in the log twice")
            rows[sample.id, sample.epoch] = _row(sample, prefix, where)
    return sample_table(list(rows.values()), source=source)


def _read(file: str | Path) -> EvalLog:
    try:
        if not scheme_of(str(file)):
            check_plain_file(Path(file), str(file))
            _check_archive(Path(file))
        return read_eval_log(str(file))
    except RecombineError:
        raise
    except Exception as error:
        raise SourceError(
            f"'{file}' cannot be read as a log of inspect_ai", why=_reason(error), instead=_INSTEAD
        ) from error


def _check_archive(path: Path) -> None:
    """Refuse a .eval, which is a zip file, that would fill the memory. Names in it that lead elsewhere do no harm:
    inspect_ai unpacks nothing into files.
    """
    if path.suffix != ".eval":
        return
    with ZipFile(path) as archive:
        members = archive.infolist()
    # Newer versions of inspect_ai read the last of two samples of one name, and say nothing.
    for name, times in Counter(member.filename for member in members).items():
        if times > 1:
            raise MalformedError(f"{shown(name)} stands in the log twice")
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(_MOST_BYTES, _MOST_INFLATED * path.stat().st_size):
        raise SourceError(
            f"'{path}' would unpack to {unpacked:,} bytes",
            why=f"that is more than {_MOST_INFLATED} times its size, as no log is",
            instead="if you trust it, read it yourself: samples(inspect_ai.log.read_eval_log(file))",
        )


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    said = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
    return said.splitlines()[0]


def _row(sample: Any, prefix: str, where: str) -> dict[str, Any]:
    target = sample.target if isinstance(sample.target, str) else " | ".join(sample.target)
    own = {"id": sample.id, "epoch": sample.epoch, "target": target, "completion": sample.output.completion}
    renamed = "rename it in the log that you read: sample.scores['other name'] = sample.scores.pop(…) for each sample"
    row = beside(own, _scores(sample.scores or {}), where=where, what="score", instead=renamed)
    metadata = plain_fields(sample.metadata or {}, prefix=prefix)
    apart = "give a prefix for the metadata: prefix='metadata.'"
    row = beside(row, metadata, where=where, what="field", instead=apart)
    return dict(revive(dict[str, Any], row, at="the sample"))


def _scores(scores: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, score in scores.items():
        if isinstance(score.value, dict):
            yield from ((f"{name}.{part}", _number(value, name)) for part, value in score.value.items())
        elif not isinstance(score.value, list):
            yield name, _number(score.value, name)
        yield f"answer.{name}", score.answer


def _number(value: Any, scorer: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value_to_float()(value))
        # Newer versions of inspect_ai take a text that is no number for 0, with a warning in a log of their own.
        return float(value) if isinstance(value, str) and number == 0 and value.lower() not in _ZERO else number
    except (ValueError, OverflowError) as error:
        raise MalformedError(f"the score {shown(value)} of {scorer!r} is no number") from error
