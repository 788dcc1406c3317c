"""The ground of arrays: groups, graphs, arithmetic modulo a prime, null spaces, and the additive design."""
