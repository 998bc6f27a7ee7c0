"""Before and after: matched workloads, a verdict by time, what each counter's movement means."""
