"""`python -m triage`."""

from triage.commands.cli import main

main()
