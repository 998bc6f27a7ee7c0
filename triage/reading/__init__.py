"""File -> Capture: pick the dialect, read, check the data, group repeats, build the marker tree."""
