"""GPU performance triage."""
