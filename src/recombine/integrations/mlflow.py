"""MLflow: an evaluator for `mlflow.models.evaluate`, and the scores of a training run by step.

    mlflow.models.evaluate(model, frame, targets="label", model_type="classifier", evaluators=["recombine"],
                           evaluator_config={"recombine": {"factors": ["colour", "shape"], "train": train}})

logs every score as `recombine_unseen_accuracy` and so on, the combinations as a table and the page as an artifact. In a
loop of one's own `log(board)` logs the last scores, and `log_summary(board)` the table and the page.
"""

import tempfile
from pathlib import Path
from typing import Any

from recombine.base.errors import SettingError
from recombine.base.plugins import needing
from recombine.integrations.trainer_answers import last_scores
from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard

with needing(__name__, "mlflow", extra="mlflow"):
    import mlflow
    import pandas as pd  # type: ignore[import-untyped]
    from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator

_PREFIX = "recombine_"


def log(board: Scoreboard, *, run_id: str | None = None) -> dict[str, float]:
    """Log the last scores, with their step, to a run: the active one, or one that is begun."""
    step, found = last_scores(board)
    named = {f"{_PREFIX}{name}": value for name, value in found.items()}
    mlflow.log_metrics(named, step=step, run_id=run_id)
    return named


def log_summary(board: Scoreboard, *, run_id: str | None = None) -> None:
    """Log the last evaluation: a table with a line for each combination, and the page."""
    columns = board.evaluation().table.to_pydict()
    mlflow.log_table(columns, artifact_file=f"{_PREFIX}combinations.json", run_id=run_id)
    with tempfile.TemporaryDirectory() as folder:
        page = board.page(Path(folder) / "scoreboard.html").read_text(encoding="utf-8")
    mlflow.log_text(page, f"{_PREFIX}scoreboard.html", run_id=run_id)


class ScoreboardEvaluator(ModelEvaluator):
    """What MLflow finds under the name `recombine`; it evaluates where its configuration names factors."""

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **_: Any) -> bool:  # noqa: ARG003
        """Only where it was asked: MLflow tries every evaluator that is installed."""
        return bool(evaluator_config and evaluator_config.get("factors"))

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        **_: Any,
    ) -> EvaluationResult:
        """Score a model, or the predictions of a dataset; `evaluator_config` holds a scoreboard's settings.

        Where the dataset is an array, its target has no name: `target` in the configuration is that of the training
        table, "target" unless given.
        """
        if "train" not in evaluator_config:
            raise SettingError(
                "evaluator_config['recombine'] without 'train'",
                why="what was trained on tells seen from unseen combinations",
                instead="add the training table: {'factors': […], 'train': frame}",
            )
        settings: dict[str, Any] = {"target": dataset.targets_name or "target"} | evaluator_config
        features = dataset.features_data
        answers = dataset.predictions_data if model is None else model.predict(_inputs(model, features))
        board = Scoreboard(_with_target(features, dataset, settings["target"]), **settings)
        board.score(answers)
        found = log(board, run_id=run_id)
        log_summary(board, run_id=run_id)
        return EvaluationResult(metrics=found, artifacts={}, run_id=run_id)  # type: ignore[no-untyped-call]


def _with_target(features: Any, dataset: Any, target: str) -> Any:
    """The rows with their true answers, which must not take the place of a feature."""
    frame = features if isinstance(features, pd.DataFrame) else pd.DataFrame(features, columns=dataset.feature_names)
    if target in frame.columns:
        raise SettingError(
            f"the target {target!r} is a column of the features too",
            why="the true answers stand in a column of that name",
            instead="rename that column, or the target: mlflow.models.evaluate(…, targets='label')",
        )
    labels = dataset.labels_data
    return frame.assign(**{target: None if labels is None else list(labels)})


def _inputs(model: Any, features: Any) -> Any:
    """The columns that the model was made for, where it says so: factors may stand beside them."""
    schema = model.metadata.get_input_schema() if getattr(model, "metadata", None) is not None else None
    names = [] if schema is None else [name for name in schema.input_names() if isinstance(name, str)]
    return features[names] if names and set(names) <= set(getattr(features, "columns", ())) else features
