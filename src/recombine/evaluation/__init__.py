"""Anybody's predictions: how they hold on combinations that were not seen, and why they fail there."""
