"""What all packages use: errors, wording, numbers with units, the numbers of the method."""
