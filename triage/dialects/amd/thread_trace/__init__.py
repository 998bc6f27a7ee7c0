"""AMD thread traces: cycles per instruction of a kernel, and what its waits are for."""
