"""The public names: this list is the contract."""

import recombine

PUBLIC = [
    "Audit",
    "Backtest",
    "CombinationKFold",
    "CompoundDivergence",
    "Contract",
    "Corner",
    "Diagonal",
    "Donut",
    "Evaluation",
    "Factor",
    "HoldOutCombinations",
    "HoldOutConjunctions",
    "Lint",
    "OrthogonalPlanes",
    "Plan",
    "Prediction",
    "RecombineError",
    "Salience",
    "Space",
    "Split",
    "Support",
    "__version__",
    "audit",
    "audit_page",
    "backtest",
    "check_split",
    "compound_divergence",
    "evaluate",
    "evaluation_page",
    "lint",
    "plan",
    "plan_page",
    "predict",
    "prediction_page",
    "read",
    "train_test_split",
    "write_split",
]


def test_the_list() -> None:
    assert sorted(recombine.__all__) == PUBLIC
    assert dir(recombine) == recombine.__all__


def test_every_name_is_there() -> None:
    for name in PUBLIC:
        assert getattr(recombine, name) is not None


def test_a_verb_stays_a_verb_after_its_room_was_imported() -> None:
    from recombine.auditing import determinacy  # noqa: F401, PLC0415

    assert callable(recombine.audit)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recombine, "aduit")
