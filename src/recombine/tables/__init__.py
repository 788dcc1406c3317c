"""Factors, spaces and supports: what could occur, what did, and how it is read from any table."""
