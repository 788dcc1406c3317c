"""Checks of splits that somebody already has."""
