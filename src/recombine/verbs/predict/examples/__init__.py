"""The forecast from examples: a kernel machine on the inputs themselves, asked about unseen combinations.

To add a kernel: `input_kernels`. A machine: `kernel_machines`; who is asked: `forecast_members`.
"""
