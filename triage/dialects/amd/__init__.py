"""Exports of AMD's tools: rocprof, rocprofv3, rocpd, rocprof-compute, RGA, RCP."""
