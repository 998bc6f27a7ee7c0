"""What a call's name says it does; names of versions and suffixes come and go, so parts of them decide."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.capture.trace_nouns import ALLOC, API, LAUNCH, LOAD, MEMCPY, SYNC

# (class, parts of names), in the order in which they decide where several fit
_PARTS: tuple[tuple[int, Sequence[str]], ...] = (
    (
        SYNC,
        "Synchronize hsa_signal_wait WaitForFences DeviceWaitIdle QueueWaitIdle WaitSemaphores clFinish clWaitForEvents "
        "urQueueFinish urEventWait".split(),
    ),
    (
        MEMCPY,
        "Memcpy Memset memory_async_copy memory_copy memory_fill AppendMemory AppendImage EnqueueRead EnqueueWrite EnqueueCopy "
        "EnqueueFill".split(),
    ),
    (
        ALLOC,
        "Malloc Free Alloc HostRegister HostUnregister MemPool MemCreate MemMap MemUnmap MemRelease MemSetAccess "
        "AddressReserve memory_allocate memory_pool_allocate memory_pool_free memory_free memory_lock".split(),
    ),
    (LOAD, "Module Library LoadData GetProcAddress KernelGetFunction executable_ code_object".split()),
    (LAUNCH, ("Launch", "ExecuteCommandLists", "QueueSubmit", "EnqueueNDRange")),
)
# a launch of a function that came from a module is a launch, not a load
_LAUNCHES = re.compile(r"ModuleLaunch")


def class_of(call: str) -> int:
    """The class of GAPS, up to API, of a call by its name: cudaMemcpyAsync_v3020 copies."""
    name = _LAUNCHES.sub("Launch", call)
    return next((kind for kind, parts in _PARTS if any(part in name for part in parts)), API)
