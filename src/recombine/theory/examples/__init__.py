"""The forecast from examples: a kernel machine on the inputs themselves, asked about unseen combinations."""
