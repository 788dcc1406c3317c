"""`python -m recombine`: the command, where it is not on the path."""

from recombine.cli import main

main()
