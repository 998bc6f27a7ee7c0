"""Every rule proves itself: embedded tests, edges, coverage, the published cases."""
