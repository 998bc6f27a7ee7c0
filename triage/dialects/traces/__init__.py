"""Traces: what ran on the device when, such as Nsight Systems exports."""
