"""Networks that were trained on cells of the bench of forecasts, for probes to look into."""
