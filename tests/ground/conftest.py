"""What all tests of this room share."""

from tests.helpers.looked_up import rules_looked_up_once  # noqa: F401 - a fixture that all of them use
