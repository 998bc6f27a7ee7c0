"""What the NVIDIA dialects share."""
