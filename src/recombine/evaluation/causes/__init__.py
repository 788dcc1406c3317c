"""Why a model fails on unseen combinations: its errors, what its answers hang on, and what theory expected."""
