"""Tables that no tool defines: columns named by metric id or in plain words."""
