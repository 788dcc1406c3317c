"""Splits that hold out combinations, and checks of splits that somebody already has."""
