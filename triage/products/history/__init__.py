"""Runs of many builds in one SQLite file: their trend, and which build moved what."""
