"""deepchecks' suite for a train and a test table; the last line printed is JSON."""

import json
import sys
import warnings

import deepchecks
import pandas as pd
from deepchecks.tabular import Dataset
from deepchecks.tabular.suites import train_test_validation

warnings.filterwarnings("ignore")
train, test = (Dataset(pd.read_csv(file), label="label", cat_features=["material", "garment"]) for file in sys.argv[1:])
result = train_test_validation().run(train, test, with_display=False)
checks = [
    [one.get_header(), condition.details, not condition.is_pass]
    for one in result.get_not_passed_checks() + result.get_passed_checks()
    for condition in one.conditions_results
]
print(json.dumps({"version": deepchecks.__version__, "checks": checks}))
