"""The public names: this list is the contract."""

import recombine

PUBLIC = [
    "Audit",
    "Backtest",
    "Factor",
    "Prediction",
    "RecombineError",
    "Salience",
    "Space",
    "Support",
    "__version__",
    "audit",
    "audit_page",
    "backtest",
    "predict",
    "prediction_page",
    "read",
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
