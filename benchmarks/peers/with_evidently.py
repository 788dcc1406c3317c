"""Evidently's drift and summary presets, training being the reference; the last line printed is JSON."""

import json
import sys
import warnings

import evidently
import pandas as pd
from evidently import DataDefinition, Dataset, Report
from evidently.presets import DataDriftPreset, DataSummaryPreset

warnings.filterwarnings("ignore")
columns = DataDefinition(categorical_columns=["material", "garment", "label"], numerical_columns=["price"])
train, test = (Dataset.from_pandas(pd.read_csv(file), data_definition=columns) for file in sys.argv[1:])
result = Report([DataDriftPreset(), DataSummaryPreset()], include_tests=True).run(test, train).dict()
checks = [[one["name"], one["description"], one["status"] != "SUCCESS"] for one in result["tests"]]
print(json.dumps({"version": evidently.__version__, "checks": checks}))
