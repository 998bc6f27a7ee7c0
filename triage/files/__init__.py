"""Everything that touches the disk but an export: bundled folders, the cache, writing, strict YAML."""
