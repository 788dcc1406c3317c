"""A forest in cross-validation over combinations, scored on the held-out ones; three lines bring the scores."""

import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from toy import table

import recombine
from recombine.integrations.sklearn import UnseenScorer  # added

frame = pd.DataFrame(table(400, 2, unseen=True))
inputs = pd.get_dummies(frame[["colour", "shape"]])
scorer = UnseenScorer(frame, factors=["colour", "shape"], target="label")  # added
search = GridSearchCV(
    RandomForestClassifier(n_estimators=20, random_state=0),
    {"max_depth": [1, 4]},
    cv=recombine.CombinationKFold(["colour", "shape"], n_splits=3, table=frame),
    scoring=scorer,  # added
    refit="unseen_accuracy",
)
search.fit(inputs, frame["label"])
found = search.cv_results_
print({name: found[f"mean_test_{name}"].round(3).tolist() for name in ("unseen_accuracy", "unseen_majority_accuracy")})
print(search.best_params_)
