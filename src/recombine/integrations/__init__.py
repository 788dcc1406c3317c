"""The scoreboard in the form that each trainer, tracker and evaluation harness knows; one short file a package.

To add one: a file named after its package, an extra in `pyproject.toml`, its example in `examples/integrations/`. It
calls the scoreboard through `failsafe`, and logs what is known (`trainer_answers.known`).
"""
