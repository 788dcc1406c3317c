"""The public names: this list is the contract."""

from importlib import import_module

import pytest

import recombine
import recombine_lab
import recombine_studies

PUBLIC = [
    "Audit",
    "Backtest",
    "CombinationKFold",
    "CompoundDivergence",
    "Contract",
    "Corner",
    "Diagonal",
    "Diff",
    "Donut",
    "Evaluation",
    "Examples",
    "Expectation",
    "Factor",
    "FitSettings",
    "HoldOutCombinations",
    "HoldOutConjunctions",
    "HoldOutElements",
    "IntervalSettings",
    "Lint",
    "OrthogonalPlanes",
    "Plan",
    "Prediction",
    "Proposal",
    "RecombineError",
    "Rehearsal",
    "Result",
    "Salience",
    "Score",
    "Scoreboard",
    "Space",
    "Split",
    "SplitColumn",
    "StoredAudit",
    "StoredCounts",
    "StoredEvaluation",
    "Support",
    "VectorEvaluation",
    "__version__",
    "audit",
    "audit_stored",
    "backtest",
    "check_split",
    "compound_divergence",
    "diff",
    "evaluate",
    "evaluate_stored",
    "evaluate_vectors",
    "limited",
    "lint",
    "load",
    "plan",
    "predict",
    "propose",
    "read",
    "rehearse",
    "split",
    "store_counts",
    "train_test_split",
]


def test_the_list() -> None:
    assert sorted(recombine.__all__) == PUBLIC
    assert dir(recombine) == recombine.__all__


def test_every_name_is_there() -> None:
    for name in PUBLIC:
        assert getattr(recombine, name) is not None


def test_a_verb_stays_a_verb_after_its_room_was_imported() -> None:
    from recombine.verbs.audit import determinacy  # noqa: F401, PLC0415

    assert callable(recombine.audit)


def test_the_names_of_the_lab() -> None:
    assert sorted(recombine_lab.__all__) == [
        "Recipe",
        "Repaired",
        "Run",
        "Store",
        "SweepResult",
        "compare",
        "features",
        "fit",
        "learner",
        "models",
        "over_ray",
        "probes",
        "repair",
        "run_of",
        "sweep",
        "tasks",
        "trust",
    ]
    for name in recombine_lab.__all__:
        assert getattr(recombine_lab, name) is not None


def test_the_names_of_the_probes() -> None:
    assert sorted(recombine_lab.probes.__all__) == [
        *["AnswerKey", "EstimatorAgreement", "FactorExamples", "FamilyFit", "FittedComposition", "MaskEvidence"],
        *["MaskSearch", "MaskedWeights", "Probe", "TrainingRows"],
        *["agreement", "fit_composition", "geometry", "influence", "subnetworks", "support"],
    ]


def test_the_names_of_the_studies() -> None:
    assert sorted(recombine_studies.__all__) == ["Claim", "Study", "StudyResult", "report_study", "run_study"]
    for name in recombine_studies.__all__:
        assert getattr(recombine_studies, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recombine, "aduit")


@pytest.mark.parametrize(("room", "catalogue"), [("tasks", "TASKS"), ("models", "MODELS")])
def test_the_rooms_of_the_lab_name_all_that_their_catalogue_holds(room: str, catalogue: str) -> None:
    names = import_module(f"recombine_lab.{room}").__all__
    entries = getattr(import_module(f"recombine_lab.{room}.catalogue"), catalogue).entries
    assert {place.partition(":")[2] for place in entries.values()} <= set(names)
    for name in names:
        assert getattr(getattr(recombine_lab, room), name).__name__ == name
