"""Frame-time logs: one row per frame, such as PresentMon's."""
