"""What the AMD dialects share."""
