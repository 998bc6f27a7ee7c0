"""Diagnosis -> document: findings with cells, evidence, near misses, decision paths."""
