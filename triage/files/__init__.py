"""Disk access other than exports: bundled folders, the cache, writing, strict YAML."""
