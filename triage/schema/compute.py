"""The pipes of an SM: what was issued to each, and how long it was busy."""

from triage.schema._metric import Metric

_PIPES = {
    "alu": "integer and logic",
    "fma": "FP32 multiply-add",
    "fmaheavy": "heavy FP32 and integer multiply",
    "fmalite": "light FP32",
    "fp16": "half precision",
    "fp64": "double precision",
    "xu": "special functions, conversions",
    "lsu": "load/store",
    "tex": "texture",
    "tensor": "matrix (tensor) unit",
    "tc": "fifth-generation matrix (tensor) unit",
    "uniform": "uniform datapath",
    "adu": "address divergence",
    "cbu": "branches",
}


# the SM and its sub-partitions count the same instructions; tuners collect the latter
_AT = ("sm", "smsp")
# parts of a pipe that stand for it where the whole was not exported
_OPS = ("hmma", "imma", "dmma")
_PARTS = {"tensor": (*(f"tensor_op_{op}" for op in _OPS), *(f"tensor_subpipe_{op}" for op in _OPS))}


# A pipe can be busy without being issued to, as FP64 on consumer cards with one unit for many lanes: both are kept.
def _pipe(name: str, what: str) -> tuple[Metric, ...]:
    names = (name, *_PARTS.get(name, ()))
    return (
        Metric(
            f"pipe.{name}",
            "ratio",
            f"{name.upper()} pipe issue",
            "",
            f"Instructions issued to the {what} pipe as a share of its peak, over active cycles",
            tuple(f"{at}__inst_executed_pipe_{n}.avg.pct_of_peak_sustained_active" for n in names for at in _AT),
        ),
        Metric(
            f"pipe_busy.{name}",
            "ratio",
            f"{name.upper()} pipe busy",
            "",
            f"Cycles in which the {what} pipe was active, over active cycles",
            tuple(f"{at}__pipe_{n}_cycles_active.avg.pct_of_peak_sustained_active" for n in names for at in _AT),
        ),
    )


METRICS = tuple(metric for name, what in _PIPES.items() for metric in _pipe(name, what))
