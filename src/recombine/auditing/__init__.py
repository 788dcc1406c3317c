"""What the data alone say: coverage, determinacy, leverage, dependence and redundancy."""
