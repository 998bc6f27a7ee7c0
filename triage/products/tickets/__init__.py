"""Root causes -> tickets with stable fingerprints, as files or in a tracker."""
