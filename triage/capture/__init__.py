"""What a reader hands over: Source, Table, Capture."""
