"""Pairs of digits, and images as a code for any values."""
