"""cleanlab's Datalab, with the probabilities of a cross-validated model: on the training table alone, and on
training and test rows stacked in that order. The last line printed is JSON.

Where an issue flags three rows or fewer, their values are told too, as a user would look them up.
"""

import json
import sys
import warnings

import cleanlab
import pandas as pd
from cleanlab import Datalab
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

FEW = 3


def checks(table: pd.DataFrame, called: str) -> list[list[object]]:
    """Name, message and alarm of every kind of issue that is looked for by default."""
    features = pd.get_dummies(table[["material", "garment", "price"]], dtype=float)
    features["price"] = (features["price"] - features["price"].mean()) / features["price"].std()
    model = LogisticRegression(max_iter=1000)
    guesses = cross_val_predict(model, features, table["label"], cv=5, method="predict_proba")
    lab = Datalab(table, label_name="label", verbosity=0)
    lab.find_issues(features=features.to_numpy(), pred_probs=guesses)
    found = []
    for name, score, count in lab.get_issue_summary().itertuples(index=False):
        said = f"{count} rows flagged, score {score:.3f}"
        if 0 < count <= FEW:
            flagged = table[lab.get_issues(name)[f"is_{name}_issue"]]
            said += f": {flagged[['material', 'garment']].to_numpy().tolist()}"
        found.append([f"{name} ({called})", said, bool(count)])
    return found


warnings.filterwarnings("ignore")
train, test = (pd.read_csv(file) for file in sys.argv[1:])
stacked = pd.concat([train, test], ignore_index=True)
said = [*checks(train, "training alone"), *checks(stacked, "training, then test")]
print(json.dumps({"version": cleanlab.__version__, "checks": said}))
