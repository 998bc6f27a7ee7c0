"""Machine code of NVIDIA GPUs from Volta on (sm_70), as far as it says which instruction waits for which."""
