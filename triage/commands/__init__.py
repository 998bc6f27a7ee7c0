"""One click command per module; cli.py loads them when they are asked for."""
