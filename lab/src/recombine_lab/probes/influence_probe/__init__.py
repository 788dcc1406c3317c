"""What an answer depends on: input factors (`input_sensitivity`) and training combinations (`training_influence`)."""
