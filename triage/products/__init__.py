"""What is built around a diagnosis: compare, tickets, batch, and the proof that the rules hold."""
