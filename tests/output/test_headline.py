"""The number at the top of a page says what it is a score of."""

from recombine.output.headline import headline

SCORE = {"score": "accuracy", "value": 0.9, "low": 0.8, "high": 1.0, "tested": 20, "of": 20, "basis": "combinations"}


def test_a_forecast_against_the_truth_does_not_claim_to_have_been_held_out():
    held_out = SCORE | {"value": None, "reason": "nothing can be spared"}
    forecast = headline("prediction", {"expected": SCORE, "held_out": held_out})
    tested = headline("prediction", {"expected": SCORE, "held_out": SCORE})
    assert forecast.what == "of the unseen combinations would come out right"
    assert "unseen combinations with a truth" in forecast.notes[0]
    assert "held-out" in tested.what
