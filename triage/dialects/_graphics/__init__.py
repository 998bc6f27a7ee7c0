"""What the dialects of graphics debuggers share."""
