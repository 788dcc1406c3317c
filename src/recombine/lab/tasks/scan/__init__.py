"""SCAN: commands of a small language, and the actions that they stand for."""
