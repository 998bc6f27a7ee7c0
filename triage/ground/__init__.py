"""What every room stands on: errors, words, numbers with units, the numbers of the method."""
