"""What a learner that weighs conjunctions of factors would answer on combinations that it has not seen, and why.

To add a kind of network: `kernel/network_kernels`, one layer's recursion and one entry of `FAMILIES`, known values in
the tests. A verdict on a combination: `diagnosis`, its sentence in `verdict`, its colour in `output/`. A rule to be
compared with: `simple_rules`. A cell of the bench of forecasts: `benchmarks/validity_cells/cell_list.py`; how far
forecasts were off is written to `track_record.json` by `benchmarks/validity.py --track-record`.
"""
