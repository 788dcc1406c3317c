"""Small tasks over a few factors, each with the combinations that its paper shows: what kernels can and cannot do."""
