"""Bumps: a blob at a place in an image, and stripes that show one coordinate alone."""
