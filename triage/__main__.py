"""`python -m triage`, and what the script `triage` calls."""

import signal


def main() -> None:
    """Start the command line; Ctrl-C before it can answer ends the program without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # whoever ignores it, as nohup does, means it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from triage.commands import cli

    cli.main()


if __name__ == "__main__":
    main()
