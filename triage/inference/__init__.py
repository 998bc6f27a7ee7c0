"""Rules over columns: groups of conditions, the engine, three-valued outcomes."""
