"""What builds on a diagnosis: compare, history, tickets, batch, watched folders, rule checks."""
