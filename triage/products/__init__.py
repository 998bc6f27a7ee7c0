"""Programs built on a diagnosis: compare, history, tickets, batch, watched folders, rule checks."""
