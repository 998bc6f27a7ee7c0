"""Many captures: a report each, an index over all; killed and resumed to the same bytes."""
