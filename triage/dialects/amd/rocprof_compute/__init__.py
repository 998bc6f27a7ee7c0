"""ROCm Compute Profiler (Omniperf): its workload folder, and the tables it saves."""
