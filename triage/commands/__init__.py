"""One click command per module; triage/cli.py loads them when they are asked for."""
