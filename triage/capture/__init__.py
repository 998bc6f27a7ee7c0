"""What readers return: Source, Table, Capture; and timeline/, busy and idle time of a trace."""
