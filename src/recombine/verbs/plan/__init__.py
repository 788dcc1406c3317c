"""What to collect next: the cheapest combinations that would fix what an audit or a prediction found wanting.

To add a goal: a file `goal_…` with a function that returns a `Choice`, its call in `plan`.
"""
