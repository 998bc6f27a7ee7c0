"""An agent on the tasks of the skill, with and without triage: `python -m benchmarks.agents --help`."""
