"""Exports of Nsight Compute and nvprof."""
