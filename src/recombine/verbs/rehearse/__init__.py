"""Rehearsal: seen combinations held out as the unseen ones are, and any learner tried on them.

To add a kind of learner: `learners` (`name`, `level`, `answer`); all rounds at once: `AllAtOnce`, as the lab's
`sweeps/ray_pool`. A number of what makes a combination hard: `difficulty`, its formula and unit, a twin in
`tests/rehearse/twins.py`, its two sentences in `verdict`.
"""
