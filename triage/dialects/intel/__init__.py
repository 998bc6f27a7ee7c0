"""Exports of Intel's tools: PTI, unitrace, VTune."""
