"""The work model: what a launch did, what its threads asked for, and whether less would do."""

from triage.schema._metric import Metric, flag

METRICS = (
    Metric(
        "l1tex.write_bytes",
        "byte",
        "Bytes from L1 to L2",
        "",
        "Bytes that stores, reductions and atomics of an SM sent on to L2, in whole sectors",
        ("l1tex__m_l1tex2xbar_write_bytes.sum",),
        additive=True,
    ),
    Metric(
        "l2.load_hit_rate",
        "ratio",
        "L2 hit rate of loads",
        "high",
        "L2 hits of loads alone; stores always hit and are taken out",
    ),
    Metric(
        "work.needed_bytes",
        "byte",
        "Compulsory bytes",
        "",
        "Bytes that a kernel must move: its inputs and outputs once, as stated with --needs or in triage.toml",
    ),
    Metric(
        "work.argument_bytes",
        "byte",
        "Bytes of the argument arrays",
        "",
        "One element of each array that the kernel's parameters name, for each thread: what a map over arrays must move",
    ),
    Metric(
        "name.operand_bytes",
        "byte",
        "Operand load by name",
        "high",
        "Bytes that a library's matrix product loads at a time, as its kernel's name states them",
    ),
    Metric(
        "work.needed_flops",
        "count",
        "Compulsory operations",
        "",
        "Floating-point operations that a kernel must do, as stated with --needs or in triage.toml",
    ),
    Metric(
        "work.flop_excess",
        "ratio",
        "Arithmetic not needed",
        "low",
        "Share of the counted FP32 and FP64 operations beyond those stated as needed",
    ),
    Metric(
        "work.needed_rate",
        "ratio",
        "Needed arithmetic, share of peak",
        "",
        "Stated operations over time and the FP32 peak of the device",
    ),
    Metric(
        "work.dram_excess",
        "ratio",
        "DRAM bytes not needed",
        "low",
        "Share of the bytes DRAM moved beyond those stated as needed, or else that no global load or store asked for",
    ),
    Metric(
        "work.reread_share",
        "ratio",
        "DRAM reads beyond one input",
        "low",
        "Share of DRAM traffic that a kernel would not need whose input is as large as its output",
    ),
    flag(
        "work.counted_once",
        "Every byte moves once",
        "1 where loads are dense, hardly hit L2 and DRAM reads no more than L2 loads: no array is read twice",
    ),
    Metric(
        "work.roof",
        "ratio",
        "Share of the true roof",
        "",
        "Highest share of peak among units no rewrite can pass: tensor, FMA and FP64 pipes; DRAM where every byte moves once",
    ),
)
