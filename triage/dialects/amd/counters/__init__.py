"""What AMD's counters mean on each generation, and how many fit one pass."""
