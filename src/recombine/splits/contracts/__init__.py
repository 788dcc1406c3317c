"""Splits that keep a contract, solved as a program or refused with the reason."""
