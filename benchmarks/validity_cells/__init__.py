"""The cells of the bench of forecasts (`../validity.py`): what is asked, what was trained, how it came out."""
