"""Diagnosis -> what is shown of it: findings with cells, evidence, near misses, decision paths."""
