"""YAML -> Rule: the expression language, one rule, one file, the packs."""
