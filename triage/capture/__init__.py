"""What a reader hands over: Source, Table, Capture; and timeline/, what a trace says of the time between the work."""
