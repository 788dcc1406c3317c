"""What to collect next: the cheapest combinations that would fix what an audit or a prediction found wanting."""
