"""Scenes of random outlines: what lies inside what, what touches what, and how many there are."""
