"""Facts of a framework's operators and steps over a whole trace, computed by triage/diagnosis/operator_facts.py and step_facts.py.

Shares are of device time: the span, of all devices together.
"""

from triage.schema._metric import Metric


def _share(name: str, label: str, meaning: str) -> Metric:
    return Metric(f"operators.{name}", "ratio", label, "low", f"Share of device time: {meaning}")


METRICS = (
    Metric(
        "steps.variance",
        "count",
        "Longest step over the median",
        "low",
        "Time of the longest step over the median of all",
        bounded=False,
    ),
    Metric(
        "steps.loading",
        "ratio",
        "Loading in the longest step",
        "low",
        "Share of the longest step in calls that load or compile code",
    ),
    Metric("steps.count", "count", "Steps", "", "Steps of the framework's profiler in the trace", bounded=False),
    Metric(
        "steps.waiting",
        "ratio",
        "Data loader in a step",
        "low",
        "Median share of a step in which the loop waits for its data loader",
    ),
    Metric(
        "optimizer.kernels",
        "count",
        "Kernels of an optimizer step",
        "low",
        "Kernels launched in one step of the optimizer",
        bounded=False,
    ),
    Metric(
        "optimizer.time",
        "ratio",
        "Time of the optimizer's kernels",
        "low",
        "Share of device time: kernels launched by the optimizer",
    ),
    Metric(
        "optimizer.fused",
        "ratio",
        "Fused kernels of the optimizer",
        "",
        "Share of the optimizer's kernels that update many parameters at once",
    ),
    _share("fp32", "FP32 products", "matrix products and convolutions in FP32"),
    _share("layout", "Layout conversions", "kernels that only change the layout of tensors"),
    _share("copies", "Copying operators", "operators that only copy, cast, concatenate or fill tensors on the device"),
    _share("filled", "Filling operators", "those of the copying operators that fill tensors with a value"),
    _share("joined", "Concatenating operators", "those of the copying operators that concatenate or stack tensors"),
    _share("attention", "Unfused attention", "products and softmax of attention whose scores go through memory"),
    _share("attention_products", "Products of unfused attention", "matrix products of that attention"),
    _share("attention_least", "Products of unfused attention, least", "the same at the peak of their type"),
    _share("misaligned", "Misaligned products", "16-bit products whose rows are no multiple of 16 bytes"),
    _share("misaligned_excess", "Misaligned products, excess", "their time above the rate of aligned products"),
    _share("misaligned_most", "Misaligned products, above the roof", "their time above that at their roof"),
    _share("elementwise_spare", "Passes to spare", "what goes if neighbouring passes over tensors of one size are one"),
    _share("elementwise_most", "Passes to spare, most", "the same where they make their further arguments themselves"),
    _share("fp32_shaped", "FP32 products with shapes", "FP32 products whose FLOPs and bytes are known"),
    _share("fp32_spare", "FP32 products, to spare", "what they save in 16 bits, with conversions of their arguments"),
    _share("product_most", "Slow products, above the roof", "slow products' time above that at their roof"),
    _share("slow_attention", "Slow attention", "attention operators below half of their roof"),
    Metric(
        "operators.fp32_peak",
        "ratio",
        "FP32 peak over 16-bit peak",
        "",
        "Peak of FP32 over that of the device's matrix units in 16 bits",
    ),
    _share("memory_bound", "Memory-bound products", "products whose least bytes outweigh their FLOPs"),
    _share(
        "product_excess", "Slow products", "16-bit products below half of their roof, time above seven tenths of it"
    ),
    _share("tile_waste", "Quantised products", "unused parts of the tiles and last waves of matrix products"),
    Metric(
        "operators.product_roof",
        "ratio",
        "Longest product, of its roof",
        "high",
        "FLOP rate of the longest 16-bit product over its roof",
    ),
    _share("elementwise", "Elementwise operators", "elementwise, normalising and copying operators"),
    Metric(
        "operators.elementwise_calls",
        "count",
        "Elementwise calls",
        "low",
        "Calls of elementwise, normalising and copying operators",
        bounded=False,
    ),
    _share(
        "elementwise_excess",
        "Slow elementwise operators",
        "elementwise operators below three fifths of the DRAM peak, time above four fifths of it",
    ),
)
