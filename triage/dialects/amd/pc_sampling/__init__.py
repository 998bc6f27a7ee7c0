"""AMD program-counter samples: what the waves of a kernel do, and where in its code they wait."""
