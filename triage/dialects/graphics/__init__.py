"""Exports of graphics profilers: GPU Trace, PIX, RenderDoc, Xcode, phones."""
