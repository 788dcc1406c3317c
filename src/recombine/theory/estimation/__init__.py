"""The weights of the conjunctions, estimated from the answers: a model with one variance for each set of factors."""
