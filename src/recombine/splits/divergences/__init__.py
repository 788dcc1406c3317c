"""Splits whose compounds differ while their atoms do not, and how far a split is from that."""
