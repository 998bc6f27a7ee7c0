"""Diagnosis -> the one plain-data document that every report is made from."""
