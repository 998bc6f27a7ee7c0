"""rocprofv3: its CSV tables, and the rocpd database."""
