"""Nsight Compute's own report files: the container, launches as columns, rules, and the counters per instruction."""
