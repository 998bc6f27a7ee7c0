"""A small machine that runs made-up kernels, and prints what Nsight Compute would have measured: patients without a GPU.

Everything here is synthetic. A kernel is what a warp does (instructions, accesses, waits); the machine is rates and
latencies of a chip; counters follow from work per unit and time. Nothing here knows a rule or a threshold of triage.
"""
