"""Which columns of a table could be factors, which the target: proposed with reasons, never taken for granted."""
