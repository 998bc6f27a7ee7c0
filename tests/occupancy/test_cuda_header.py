"""The NVIDIA calculator against cuda_occupancy.h itself, on random launches.

The header is not part of this project. Where it is installed (a CUDA toolkit, the nvidia-cuda-runtime
wheel, or the path in CUDA_OCCUPANCY_H) a small driver is compiled with the system's C++ compiler.
"""

import os
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from triage.devices import NvidiaLimits, architectures
from triage.occupancy import occupancy

LAUNCHES_PER_ARCH = 400
BITS = {"waves": 1, "registers": 2, "shared": 4, "groups": 8, "barriers": 16}
CACHING = ("off", "on", "strict")

DRIVER = r"""
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include "cuda_occupancy.h"

int main() {
    int major, minor, warps, regs_block, regs_sm, block, regs, optin, barriers, carveout, caching;
    long smem_block, smem_sm, smem_optin, reserved, fixed, dynamic;
    while (std::scanf("%d %d %d %d %d %ld %ld %ld %ld %d %d %ld %ld %d %d %d %d", &major, &minor, &warps,
                      &regs_block, &regs_sm, &smem_block, &smem_sm, &smem_optin, &reserved, &block, &regs,
                      &fixed, &dynamic, &optin, &barriers, &carveout, &caching) == 17) {
        cudaOccDeviceProp gpu;
        gpu.computeMajor = major;
        gpu.computeMinor = minor;
        gpu.maxThreadsPerBlock = 1024;
        gpu.maxThreadsPerMultiprocessor = 32 * warps;
        gpu.regsPerBlock = regs_block;
        gpu.regsPerMultiprocessor = regs_sm;
        gpu.warpSize = 32;
        gpu.sharedMemPerBlock = smem_block;
        gpu.sharedMemPerMultiprocessor = smem_sm;
        gpu.numSms = 1;
        gpu.sharedMemPerBlockOptin = smem_optin;
        gpu.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = regs;
        kernel.sharedSizeBytes = fixed;
        kernel.partitionedGCConfig = static_cast<cudaOccPartitionedGCConfig>(caching);
        kernel.shmemLimitConfig = optin ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.numBlockBarriers = barriers;
        cudaOccDeviceState state;
        state.carveoutConfig = carveout;
        cudaOccResult out;
        std::memset(&out, 0, sizeof out);
        int error = cudaOccMaxActiveBlocksPerMultiprocessor(&out, &gpu, &kernel, &state, block, dynamic);
        std::printf("%d %d %u %d\n", error, out.activeBlocksPerMultiprocessor, out.limitingFactors,
                    out.blockLimitBarriers);
    }
}
"""


def find_header() -> Path | None:
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr"]
    places = [Path(os.environ.get("CUDA_OCCUPANCY_H", "/nonexistent"))]
    places += [Path(root) / "include" / "cuda_occupancy.h" for root in roots if root]
    for entry in filter(None, sys.path):
        places += Path(entry).glob("nvidia/*/include/cuda_occupancy.h")
    return next((place for place in places if place.is_file()), None)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    header, compiler = find_header(), shutil.which("g++") or shutil.which("c++")
    if header is None:
        pytest.skip("cuda_occupancy.h is not installed (nvidia-cuda-runtime wheel or a CUDA toolkit)")
    if compiler is None:
        pytest.skip("no C++ compiler to build the driver with")
    folder = tmp_path_factory.mktemp("header")
    (folder / "driver.cpp").write_text(DRIVER, encoding="utf-8")
    built = subprocess.run(
        [compiler, "-O1", "-w", "-I", str(header.parent), "driver.cpp", "-o", "driver"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "driver"


def launches(limits: NvidiaLimits, rng: random.Random) -> list[tuple[int, ...]]:
    """(block, regs, static, dynamic, optin, barriers, carveout, caching), edges over-represented."""
    found = []
    for _ in range(LAUNCHES_PER_ARCH):
        block = rng.choice([rng.randint(1, 1025), 32 * rng.randint(1, 32)])
        regs = rng.choice([0, rng.randint(0, 258), 8 * rng.randint(1, 32), rng.randint(16, 72)])
        static = rng.choice([0, 0, rng.randint(0, 50000)])
        most = limits.shared_per_group_optin + 300
        dynamic = rng.choice([0, 0, rng.randint(0, 49500), rng.randint(0, most), 128 * rng.randint(0, most // 128)])
        barriers = rng.choice([0, 1, 1, rng.randint(2, 17), rng.randint(18, 90)])
        carveout = rng.choice([-1, -1, rng.randint(0, 100)])
        found.append((block, regs, static, dynamic, rng.randint(0, 1), barriers, carveout, rng.choice([0, 0, 0, 1, 2])))
    return found


def test_random_launches_agree_with_the_header(driver: Path) -> None:
    rng = random.Random(20260127)
    asked: list[tuple[NvidiaLimits, tuple[int, ...]]] = []
    for device in architectures():
        if isinstance(device.limits, NvidiaLimits):
            asked += [(device.limits, launch) for launch in launches(device.limits, rng)]
    lines = []
    for gpu, launch in asked:
        version = divmod(int(gpu.arch[3:]), 10)
        numbers = (
            *version,
            gpu.max_warps,
            gpu.registers_per_group,
            gpu.registers,
            gpu.shared_per_group,
            gpu.shared,
            gpu.shared_per_group_optin,
            gpu.shared_reserved,
            *launch,
        )
        lines.append(" ".join(map(str, numbers)))
    text = subprocess.run([driver], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    answers = [tuple(map(int, line.split())) for line in text.splitlines()]
    assert len(answers) == len(asked)

    alike = defaultdict(list)
    unknown: set[str] = set()
    for (gpu, launch), (error, blocks, factors, by_barriers) in zip(asked, answers, strict=True):
        if error:
            unknown.add(gpu.arch)  # this header is older than the architecture
            continue
        count = launch[5]
        if gpu.barriers_newer and count and by_barriers == gpu.barriers_newer // count != (gpu.barriers or 0) // count:
            continue  # a header from 13.3 on; the note of the calculator says so
        key = gpu.arch, launch[4], launch[6], launch[7]
        alike[key].append((launch, blocks, factors))
    checked = 0
    for (arch, optin, carveout, caching), group in alike.items():
        block, regs, static, dynamic, barriers = (
            np.asarray([launch[i] for launch, _, _ in group]) for i in (0, 1, 2, 3, 5)
        )
        got = occupancy(
            arch,
            block,
            regs,
            static + dynamic,
            barriers=barriers,
            optin=bool(optin),
            carveout=carveout,
            global_caching=CACHING[caching],
        )
        bits = sum(got.limiters[name] * bit for name, bit in BITS.items())
        for i, (launch, blocks, factors) in enumerate(group):
            assert (int(got.groups[i]), int(bits[i])) == (blocks, factors), (arch, launch)
            checked += 1
    assert checked >= 0.9 * (len(asked) - LAUNCHES_PER_ARCH * len(unknown)) > 5000
