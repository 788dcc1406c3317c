"""Geometry: how a layer holds the factors, on a grid of combinations, held against things that cannot compose.

`design.py` says which row is which combination, `layer_sources.py` what each layer gives for it, `cells.py` holds a
layer as the dot products of its combinations, from which nearly every measure follows. A measure a file; `controls.py`
makes the nulls, `verdict.py` the outcome, `geometry.py` is the one call.
"""
