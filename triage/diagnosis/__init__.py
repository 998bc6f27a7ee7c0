"""Capture + rules -> what fired, what it saves, which cause is the root: arrays over all workloads."""
