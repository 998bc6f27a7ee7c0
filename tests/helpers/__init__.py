"""What several test files share beyond tests/conftest.py, by what it is about."""
