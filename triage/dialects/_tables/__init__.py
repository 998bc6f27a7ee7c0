"""What all dialects of tables share: parsing, columns, formulas."""
