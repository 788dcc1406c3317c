"""Sentences in which two words agree in number, or do not."""
