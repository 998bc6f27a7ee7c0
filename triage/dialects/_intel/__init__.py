"""What the Intel dialects share."""
