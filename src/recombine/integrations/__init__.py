"""The scoreboard in the form that each trainer, tracker and evaluation harness knows; one short file a package."""
