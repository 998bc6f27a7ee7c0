"""What readers of tables share: CSV parsing, number cells, columns, formulas."""
