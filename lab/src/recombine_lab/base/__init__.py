"""What tasks, models, training and probes all stand on."""
