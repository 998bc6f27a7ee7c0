"""Notes beside the numbers: why a launch cannot run, and where sources disagree."""

from __future__ import annotations

import numpy as np
from msgspec.structs import asdict

from triage.devices import AmdLimits, NvidiaLimits, is_family
from triage.occupancy import amd_model, cuda
from triage.occupancy.model import Launch, Model


def disagreements(
    model: Model, launch: Launch, groups: int, limiters: tuple[str, ...], asked: str = ""
) -> tuple[str, ...]:
    """Sources that would answer this very launch differently, and what the answer takes for granted."""
    found = []
    arch = model.limits.arch
    if is_family(asked):
        found.append(f"{asked.strip()} read as {arch}; members of a family can differ")
    # A disagreement is only worth a line where it changes the answer: the launch is asked again under the other limit.
    for other in model.limits.disagreements:
        then = int(model.with_limit(other.field, other.value).run(**asdict(launch)).groups)
        if then != groups:
            found.append(f"{other.text}: {then} instead of {groups} {model.words['group']}s")
    if isinstance(model.limits, NvidiaLimits):
        found += _nvidia(model.limits, launch, groups, limiters)
    else:
        found += _amd(model, model.limits, launch, groups)
    return tuple(found)


def refusal(model: Model, launch: Launch, limits: dict[str, float]) -> str:
    """Why no group fits: one clause per limiter that allows none."""
    reasons = []
    if limits["waves"] == 0:
        reasons.append(_too_wide(model, launch))
    if limits["registers"] == 0:
        reasons.append(_registers(model, launch))
    if limits.get("sgprs") == 0:
        reasons.append(f"{launch.sgprs} SGPR are more than a wave can have or a whole group can hold")
    if limits["shared"] == 0:
        reasons.append(_shared(model, launch))
    if limits.get("barriers") == 0 and isinstance(model.limits, NvidiaLimits):
        reasons.append(f"{launch.barriers} barriers are more than the {model.limits.barriers} of an SM")
    return "; ".join(reasons)


def _nvidia(limits: NvidiaLimits, launch: Launch, groups: int, limiters: tuple[str, ...]) -> list[str]:
    found = []
    # More than 48 KiB need a call of cudaFuncSetAttribute, which no export shows.
    if groups and launch.shared > limits.shared_per_group:
        found.append(
            f"{launch.shared:,} B of shared memory need the kernel to opt in to more than "
            f"{limits.shared_per_group:,} B (dynamic shared memory attribute); assumed here"
        )
    if "barriers" in limiters and len(limiters) > 1:
        found.append("where barriers limit, NVIDIA's header also names the next limit")
    return found


MANY, FEW = 8, 2  # 512 work-items in waves of 64; from three resident groups on their ends spread out


def _amd(model: Model, limits: AmdLimits, launch: Launch, groups: int) -> list[str]:
    assert model.amd is not None
    registers = np.asarray([launch.registers], dtype=np.int32)
    agprs = None if launch.agprs is None else np.asarray([launch.agprs], dtype=np.int32)
    taken = amd_model.allocated_vgprs(limits, model.amd, amd_model.total_vgprs(limits, registers, agprs))
    # What most published tables list, and what people compare with: waves by registers alone, groups not considered.
    alone = min(limits.waves_per_simd, limits.vgprs[model.amd.wave] // max(int(taken[0]), 1))
    simds = amd_model.simds(limits, model.amd)
    waves = groups * -(-launch.threads // model.amd.wave)
    real = -(-waves // simds)
    found = []
    if groups and alone > real:
        found.append(
            f"registers alone allow {alone} waves per SIMD (basis of LLVM's Occupancy remark); "
            f"whole groups and the other limits: {waves / simds:g}"
        )
    found += _large(model, groups, waves // max(groups, 1))
    return found


def _large(model: Model, groups: int, waves: int) -> list[str]:
    """What a group of many waves costs beside its resources (Aaltonen, GPUOpen 2017)."""
    if waves < MANY or not 1 <= groups <= FEW:
        return []
    unit = "CU" if model.amd is None or model.amd.mode == "cu" else "WGP"
    text = "all waves of a group start together, and its registers and LDS are freed together when the last one ends"
    if groups == 1:
        text += f"; with one group on a {unit} nothing runs while it ends, and nothing covers its barriers"
    else:
        text += f"; with {groups} groups on a {unit} one works while the other waits at a barrier or ends"
    return [text]


def _too_wide(model: Model, launch: Launch) -> str:
    group = model.words["group"]
    return f"{launch.threads:,} threads are more than the {model.cap('threads'):,} a {group} may have"


def _registers(model: Model, launch: Launch) -> str:
    limits = model.limits
    name = model.words["registers"]
    if launch.registers > model.cap("registers"):
        return f"{launch.registers} {name} are more than the {model.cap('registers')} a thread can have"
    waves = -(-launch.threads // model.wave_size)
    if isinstance(limits, AmdLimits):
        assert model.amd is not None
        if launch.agprs and launch.agprs > 256:
            return f"{launch.agprs} AGPR are more than a wave can have"
        simds = amd_model.simds(limits, model.amd)
        return (
            f"one group needs {waves} waves at once, {waves / simds:g} per SIMD, "
            f"and {launch.registers} {name} leave room for fewer"
        )
    array = np.asarray([launch.registers], dtype=np.int32)
    per_warp = int(cuda.allocated_registers(limits, array)[0])
    # sm_60 has 2 sub-partitions, but must not run what no other Pascal could: there the check counts with their 4.
    parts = 4 if limits.arch == "sm_60" else limits.sub_partitions
    counted = -(-waves // parts) * parts
    if per_warp * counted > limits.registers_per_group:
        rounding = f" (counted as {counted})" if counted != waves else ""
        family = "; 6.0 refuses what no other Pascal GPU can run" if limits.arch == "sm_60" else ""
        return (
            f"{waves} warps{rounding} x {per_warp:,} registers = {per_warp * counted:,}, "
            f"a block may have {limits.registers_per_group:,}{family}"
        )
    if limits.arch == "sm_60":
        return "a kernel that fits no other Pascal GPU must not run on 6.0 either"
    return "one block does not fit the register file"


def _shared(model: Model, launch: Launch) -> str:
    name, group = model.words["shared"], model.words["group"]
    cap = model.cap("shared")
    text = f"{launch.shared:,} B of {name} are more than the {cap:,} B a {group} may have"
    if isinstance(model.limits, NvidiaLimits) and launch.shared <= model.limits.shared_per_group_optin:
        text += f" unless the kernel opts in (then up to {model.limits.shared_per_group_optin:,} B)"
    return text
