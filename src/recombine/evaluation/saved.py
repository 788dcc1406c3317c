"""How an evaluation's larger parts are laid out in tables, and read back from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.decoding import revive
from recombine.evaluation.outcomes import Kind, Outcomes, Score
from recombine.records import Record
from recombine.tables import stored
from recombine.tables.support import LabelTarget, Support


def describe(outcomes: Outcomes) -> dict[str, Any]:
    """The small facts about what was tested and trained on, as JSON holds them."""
    return {
        **stored.describe(outcomes.tested),
        "answers": outcomes.kind,
        "score": {"name": outcomes.score.name, "better": outcomes.score.better, "share": outcomes.score.is_share},
        "scores_about": outcomes.shift,
        "not_scored": dict(outcomes.left_out),
        "factors": [
            {"name": f.name, "values": size, "tested": int((counts > 0).sum()), "declared": f.declared}
            for f, size, counts in zip(
                outcomes.tested.space.factors,
                outcomes.tested.space.sizes,
                outcomes.tested.value_counts,
                strict=True,
            )
        ],
        "training": None if outcomes.training is None else _describe_training(outcomes.training),
    }


def tables(outcomes: Outcomes) -> dict[str, pa.Table]:
    """The large parts, as Parquet holds them."""
    found = stored.tables(outcomes.tested)
    sums = {"total": outcomes.total, "squares": outcomes.squares}
    if outcomes.prediction_total is not None:
        sums["prediction_total"] = outcomes.prediction_total
    found["sums"] = pa.table(sums)
    found["answers"] = pa.table({name: getattr(outcomes, name) for name in ("combination", "truth", "said", "count")})
    if outcomes.training is not None:
        found |= {f"training_{name}": table for name, table in stored.tables(outcomes.training).items()}
    return found


def load(record: Record) -> Outcomes:
    """The outcomes that a record was made from."""
    tested = stored.load_support(record)
    sums, answers = record.tables["sums"], record.tables["answers"]
    return Outcomes(
        tested=tested,
        training=_load_training(record),
        kind=revive(Kind, record.data["answers"], at="answers"),
        classes=tested.target.classes if isinstance(tested.target, LabelTarget) else (),
        combination=answers["combination"].to_numpy(),
        truth=answers["truth"].to_numpy(),
        said=answers["said"].to_numpy(),
        count=answers["count"].to_numpy().astype(np.float64),
        total=sums["total"].to_numpy(),
        squares=sums["squares"].to_numpy(),
        prediction_total=sums["prediction_total"].to_numpy() if "prediction_total" in sums.column_names else None,
        score=_load_score(record.data["score"]),
        left_out=revive(Mapping[str, int], record.data["not_scored"], at="not_scored"),
        shift=revive(float, record.data["scores_about"], at="scores_about"),
    )


def _load_score(plain: Any) -> Score:
    kept = {name: value for name, value in plain.items() if name != "share"}  # which follows from its name
    score: Score = revive(Score, kept, at="score")
    return score


def _describe_training(training: Support) -> dict[str, Any]:
    return {**stored.describe(training), "combinations": len(training)}


def _load_training(record: Record) -> Support | None:
    described = record.data["training"]
    if described is None:
        return None
    mine = {name.removeprefix("training_"): table for name, table in record.tables.items() if "training_" in name}
    part = Record(record.kind, described | {"factors": record.data["factors"]}, mine, record.provenance)
    return stored.load_support(part)
