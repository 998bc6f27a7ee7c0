"""Capture + rules -> what is wrong, what it costs, and why: arrays first, objects for what is shown."""
