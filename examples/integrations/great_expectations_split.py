"""A lint of a split as an expectation of Great Expectations, beside all others of a suite.

    pip install recombine great_expectations
    python examples/integrations/great_expectations_split.py

prints whether a clean split and a leaking one are as expected, and why not. It works on any batch of pandas; a table of
a database is linted where it lies by `recombine lint postgresql://… --table pairs`, without a batch.
"""

from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

import recombine

_METRIC = "table.recombine_lint"


class TableRecombineLint(TableMetricProvider):
    """What a lint says about the batch, once for all expectations that ask the same of it."""

    metric_name = _METRIC
    value_keys = ("factors", "split", "claim")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        asked = dict(metric_value_kwargs)
        return recombine.lint(rows, expect=asked.pop("claim"), **asked).record().to_json()


class ExpectSplitToHoldOutCombinations(BatchExpectation):
    """Every test row holds something new: `claim` is rows, combinations, conjunctions or values."""

    metric_dependencies = (_METRIC,)
    success_keys = ("factors", "split", "claim")

    factors: list[str]
    split: str = "split"
    claim: str = "combinations"

    def _validate(self, metrics: dict[str, Any], **_: Any) -> dict[str, Any]:
        found = metrics[_METRIC]
        details = {check["name"]: check["sentence"] for check in found["checks"] if check["verdict"] == "fail"}
        return {
            "success": found["grade"] == "sound",  # not enough evidence is no success either
            "result": {"observed_value": found["verdict"], "details": {"grade": found["grade"], **details}},
        }


def validate(rows: pd.DataFrame, expectation: BatchExpectation) -> Any:
    """One batch against one expectation."""
    source = gx.get_context(mode="ephemeral").data_sources.add_pandas("memory")
    batch = source.add_dataframe_asset("split").add_batch_definition_whole_dataframe("whole")
    return batch.get_batch({"dataframe": rows}).validate(expectation)


def main() -> None:
    combinations = [
        (material, garment) for material in ("wool", "silk", "denim") for garment in ("coat", "hat", "boot")
    ]
    held = {("wool", "hat"), ("silk", "boot")}
    lines = [(*one, "test" if one in held else "train") for one in combinations for _ in range(4)]
    clean = pd.DataFrame(lines, columns=["material", "garment", "split"])
    leaking = pd.concat([clean, pd.DataFrame([("wool", "hat", "train")], columns=clean.columns)])
    expected = ExpectSplitToHoldOutCombinations(factors=["material", "garment"])
    for name, rows in (("clean", clean), ("leaking", leaking)):
        found = validate(rows, expected)
        print(f"{name}: {found.success}. {found.result['observed_value']}")


if __name__ == "__main__":
    main()
