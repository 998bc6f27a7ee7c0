"""The numbers of the source articles, as tests: those that hold, and those that do not.

Ids are those of the fact list (A hardware, B the 1024-thread example, C tiles, D register budgets,
E concepts, F the CUDA guide's occupancy section, G groups, H misprints). A `wrong_` test keeps what
an article gets wrong from coming back.
"""

import math

import numpy as np
import pytest

from triage.devices import AmdLimits, NvidiaLimits, limits_of, require
from triage.occupancy import occupancy, tile, warps_needed
from triage.occupancy.grid import launch_shape

GCN = "gfx701"
KIB = 1024


def gcn(arch: str = GCN) -> AmdLimits:
    limits = limits_of(arch)
    assert isinstance(limits, AmdLimits)
    return limits


def nvidia(arch: str) -> NvidiaLimits:
    limits = limits_of(arch)
    assert isinstance(limits, NvidiaLimits)
    return limits


def test_a1_groups_have_at_most_1024_threads_and_32_kib_is_an_api_limit() -> None:
    assert gcn().max_threads_per_group == 1024
    assert gcn().lds_per_group == 64 * KIB  # the hardware gives one group more than Direct3D 11 does
    assert gcn("gfx600").lds_per_group == 32 * KIB


def test_a2_two_groups_of_1024_threads_fit_a_compute_unit() -> None:
    now = occupancy(GCN, 1024, 32)
    assert now.groups == 2 and now.waves == 32
    assert math.floor(40 / 16) == now.limits["waves"] == 2


def test_a3_a_compute_unit_has_65536_vector_registers() -> None:
    limits = gcn()
    assert limits.simds == 4
    assert limits.vgprs[64] * 64 * 4 == 64 * KIB  # bytes per SIMD
    assert limits.simds * limits.vgprs[64] * 64 == 65536


def test_a4_wrong_512_and_800_scalar_registers_are_per_simd_not_per_unit() -> None:
    assert (gcn("gfx600").sgprs, gcn("gfx701").sgprs, gcn("gfx803").sgprs) == (512, 512, 800)
    assert 4 * 800 == 3200 and 12.5 * KIB == 3200 * 4  # the article's own total needs them per SIMD
    assert 8 * KIB == 4 * 512 * 4


def test_a5_a_wave_is_64_lanes_on_gcn_and_32_or_64_on_rdna() -> None:
    assert gcn().wave_sizes == (64,) and gcn("gfx90a").wave_sizes == (64,)
    assert gcn("gfx1030").wave_sizes == (32, 64)


def test_a6_ten_wave_slots_except_polaris_and_later_cdna() -> None:
    slots = {arch: gcn(arch).waves_per_simd for arch in ("gfx701", "gfx900", "gfx906", "gfx908", "gfx803")}
    assert set(slots.values()) == {10}
    assert {gcn(arch).waves_per_simd for arch in ("gfx803_polaris", "gfx90a", "gfx942", "gfx950")} == {8}
    notes = occupancy("gfx803_polaris", 64, 24).notes
    assert any("LLVM says 10" in note for note in notes)


def test_a7_using_all_lds_takes_two_groups_of_32_kib() -> None:
    assert gcn().lds // (32 * KIB) == 2
    assert occupancy(GCN, 1024, 32, 32 * KIB).groups == 2
    old = occupancy("gfx600", 1024, 32, 32 * KIB)
    assert old.groups == 2
    assert any("LLVM and Mesa count 32 KiB" in note and "1 instead of 2" in note for note in old.notes)


def test_a8_a_scalar_register_is_64_times_cheaper() -> None:
    limits = gcn()
    assert limits.sgprs is not None
    bytes_per_vgpr, bytes_per_sgpr = 4 * limits.wave_sizes[0], 4
    assert bytes_per_vgpr == 64 * bytes_per_sgpr
    assert limits.vgprs[64] * bytes_per_vgpr == 32 * limits.sgprs * bytes_per_sgpr  # 64 KiB and 2 KiB


def test_b1_two_groups_of_1024_threads_need_at_most_32_registers() -> None:
    assert occupancy(GCN, 1024, 32).groups == 2
    assert occupancy(GCN, 1024, 33).groups == 1
    assert 65536 // 2048 == 32


@pytest.mark.parametrize("arch", ["GCN", "gfx701", "gfx900", "gfx906"])
def test_b2_b3_b5_b6_forty_registers_leave_one_group_at_40_percent(arch: str) -> None:
    now = occupancy(arch, 1024, 40, 32 * KIB)
    assert (now.groups, now.waves, now.occupancy) == (1, 16, 0.4)
    assert now.limiters == ("registers",)
    registers, lds = now.wasted["registers"], now.wasted["shared"]
    assert registers.allocated == 160 * KIB and registers.free == 96 * KIB and registers.free_share == 0.375
    assert lds.free_share == 0.5
    step = now.step("registers")
    assert step is not None and step.text == "40 -> 32 VGPR: 1 -> 2 groups, 40 % -> 80 %"
    assert now.best_step == step


def test_b4_wrong_registers_alone_say_60_percent() -> None:
    now = occupancy(GCN, 1024, 40)
    assert 256 // 40 == 6
    assert now.occupancy == 0.4 != 6 / 10
    assert any("6 waves per SIMD" in note for note in now.notes)


def test_b7_48_to_32_registers_doubles_the_groups() -> None:
    assert (occupancy(GCN, 1024, 48).groups, occupancy(GCN, 1024, 32).groups) == (1, 2)


def test_b8_two_groups_are_still_not_full() -> None:
    assert occupancy(GCN, 1024, 16).occupancy == 0.8


def test_b9_five_groups_of_512_need_24_registers_not_32() -> None:
    assert occupancy(GCN, 512, 24).groups == 5
    assert occupancy(GCN, 512, 25).groups == occupancy(GCN, 512, 32).groups == 4
    assert occupancy(GCN, 512, 32).limits["waves"] == 5


def test_b10_groups_of_one_wave_take_no_barrier() -> None:
    assert occupancy(GCN, 64, 16).groups == 40
    assert math.isinf(occupancy(GCN, 64, 16).limits["groups"])
    assert occupancy(GCN, 65, 16).limits["groups"] == 16


@pytest.mark.parametrize(
    ("size", "payload", "border", "over_payload"),
    [("8x8", 64, 36, 56), ("16x16", 256, 68, 27), ("32x32", 1024, 132, 13)],
)
def test_c1_to_c4_square_tiles_are_quoted_over_the_payload(
    size: str, payload: int, border: int, over_payload: int
) -> None:
    found = tile(size, 1)
    edge = found.size[0]
    assert (found.payload, found.border_elements) == (payload, border)
    assert border == 4 * edge + 4
    assert round(100 * found.over_payload) == over_payload


def test_c5_c6_wrong_cubes_are_quoted_over_the_total_and_216_is_not_hollow() -> None:
    small, large = tile("4x4x4", 1), tile("8x8x8", 1)
    assert small.total == 216 and small.border_elements == 152
    assert round(100 * small.over_total) == 70 and round(100 * small.over_payload, 1) == 237.5
    assert large.border_elements == 488
    assert round(100 * large.over_total) == 49  # printed as 48
    assert round(100 * large.over_payload, 1) == 95.3


def test_c7_wrong_cubes_are_not_better_at_the_same_number_of_threads() -> None:
    cube, flat = tile("8x8x8", 1), tile("32x16", 1)
    assert cube.payload == flat.payload == 512
    assert flat.over_payload < 0.2 < 0.9 < cube.over_payload


def test_c8_nine_loads_each_become_one_and_a_quarter() -> None:
    found = tile("16x16", 1)
    assert found.neighbours == 9
    assert found.loads_without == 9 * 256 and found.total == 324
    assert round(found.reduction, 2) == 7.11


def test_d2_d3_a_matrix_in_vector_registers_is_half_a_32_register_budget() -> None:
    assert 4 * 4 == 32 // 2
    assert 4 * 4 - 4 * 3 == 4


def test_d5_a_bool_is_one_bit_per_lane_in_a_pair_of_scalar_registers() -> None:
    (lanes,) = gcn().wave_sizes
    assert lanes / 32 == 2  # 32-bit registers for one bit per lane
    assert 8 * 4 == 32  # bools that one 32-bit vector register packs


def test_e1_warps_and_waves() -> None:
    assert {nvidia(arch).warp_size for arch in ("6.1", "8.6", "9.0", "12.0")} == {32}
    assert gcn().wave_sizes == (64,)


def test_e2_wrong_four_is_the_number_of_schedulers_not_of_warps() -> None:
    assert nvidia("8.6").sub_partitions == 4 and nvidia("8.6").max_warps == 48
    assert nvidia("6.0").sub_partitions == 2
    assert {nvidia(arch).max_warps for arch in ("7.5", "8.6", "8.0")} == {32, 48, 64}


def test_e3_e4_ga102() -> None:
    assert require("GeForce RTX 3080 Ti").sm_count == 80
    assert 4 * nvidia("8.6").registers == 256 * KIB


def test_e5_48_kib_is_the_default_per_block_not_the_limit() -> None:
    limits = nvidia("8.6")
    assert (limits.shared_per_group, limits.shared_per_group_optin, limits.shared) == (48 * KIB, 99 * KIB, 100 * KIB)


def test_e6_wrong_too_much_shared_memory_does_not_spill_but_fails() -> None:
    now = occupancy("8.6", 128, 32, 100 * KIB)
    assert now.groups == 0 and now.occupancy == 0
    assert "shared memory are more than" in now.why


def test_e7_wrong_nothing_is_backed_up_fewer_warps_are_resident() -> None:
    assert occupancy("8.6", 256, 80).waves < occupancy("8.6", 256, 40).waves


def test_e8_more_than_1024_threads_never_launch() -> None:
    now = occupancy("8.6", 1025, 16)
    assert now.groups == 0 and "1,024" in now.why
    assert occupancy("8.6", 1024, 16).waves_per_group == 32 > nvidia("8.6").sub_partitions


def test_f1_f2_kepler_arithmetic_needs_44_warps() -> None:
    assert nvidia("3.5").sub_partitions == 4
    assert warps_needed(11, nvidia("3.5").sub_partitions) == 44


def test_f3_f4_memory_latency_needs_40_warps() -> None:
    assert warps_needed(300, 4, 30) == 40
    assert warps_needed(301, 4, 30) == 41


@pytest.mark.parametrize("arch", ["6.0", "6.1", "6.2"])
def test_f6_64_registers_and_512_threads_are_two_blocks(arch: str) -> None:
    now = occupancy(arch, 512, 64)
    assert (now.groups, now.waves) == (2, 32)
    assert nvidia(arch).registers == 2 * 512 * 64


def test_f7_wrong_65_registers_are_one_block_on_6x_but_none_on_6_2() -> None:
    assert occupancy("6.0", 512, 65).groups == occupancy("6.1", 512, 65).groups == 1
    jetson = occupancy("6.2", 512, 65)
    assert jetson.groups == 0
    assert jetson.why == "16 warps x 2,304 registers = 36,864, a block may have 32,768"


def test_f8_registers_are_handed_out_per_warp_in_256s() -> None:
    waste = occupancy("6.1", 512, 65).wasted["registers"]
    assert waste.allocated == 4 * 16 * 2304 and 2304 == 72 * 32
    assert waste.rounding == 4 * 16 * (2304 - 65 * 32)


def test_f9_double_precision_values_take_two_registers() -> None:
    doubles = 32
    assert occupancy("6.1", 512, 2 * doubles).groups == 2
    assert occupancy("6.1", 512, doubles).groups == 4


def test_f10_block_sizes_should_be_multiples_of_32() -> None:
    now = occupancy("8.6", 33, 32)
    assert now.waves_per_group == 2 and now.wasted["lanes"].free == 31


def test_f12_occupancy_is_blocks_times_warps_over_the_most_warps() -> None:
    now = occupancy("8.6", 256, 80)
    assert now.occupancy == now.groups * 8 / 48 == 0.5


def test_g2_32_thread_blocks_meet_the_block_limit_on_some_architectures() -> None:
    pascal = occupancy("6.1", 32, 64)
    assert pascal.limits["registers"] == pascal.limits["groups"] == pascal.groups == 32
    for arch, blocks in (("7.5", 16), ("8.6", 16), ("8.9", 24), ("12.0", 24)):
        now = occupancy(arch, 32, 64)
        assert now.limiters == ("groups",) and now.groups == blocks


def test_g3_64_warps_is_full_on_a_gtx_1060() -> None:
    assert require("GeForce GTX 1060 6GB").max_warps_per_sm == 64


def test_h1_wrong_1024_counts_threads_not_kilobytes_and_is_not_102() -> None:
    assert occupancy(GCN, 1024, 32).groups == 2
    assert occupancy(GCN, 1024 * 1024, 32).groups == 0
    assert occupancy(GCN, 102, 32).groups != 2


def test_h2_wrong_the_payload_is_not_four_times_the_overhead() -> None:
    small, large = tile("8x8", 1), tile("16x16", 1)
    assert large.payload == 4 * small.payload  # the payload quadruples ...
    assert 4 * large.border_elements != large.payload  # ... it is not four times its overhead
    assert round(100 * large.over_payload) == 27  # the overhead is 27 %, it has not grown by that


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "groups", "share"),
    [
        ("6.1", 512, 64, 2, 0.5),
        ("6.1", 512, 65, 1, 0.25),
        ("8.9", 256, 255, 1, 8 / 48),
        ("8.9", 256, 80, 3, 0.5),
        ("8.9", 256, 64, 4, 32 / 48),
    ],
)
def test_published_cuda_cases(arch: str, threads: int, registers: int, groups: int, share: float) -> None:
    now = occupancy(arch, threads, registers)
    assert (now.groups, now.occupancy) == (groups, pytest.approx(share))


def test_published_register_limit_of_a_profiler_report() -> None:
    assert occupancy("8.6", 256, 16).limits["registers"] == 16


@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [(24, 10), (25, 9), (28, 9), (32, 8), (36, 7), (40, 6), (48, 5), (64, 4), (84, 3), (85, 2), (128, 2), (129, 1)],
)
def test_gcn_waves_per_simd_by_registers(vgprs: int, waves: int) -> None:
    assert occupancy(GCN, 64, vgprs).waves == 4 * waves


@pytest.mark.parametrize(("sgprs", "waves"), [(48, 10), (56, 9), (64, 8), (72, 7), (80, 6), (81, 5), (102, 4)])
def test_scalar_registers_on_gcn1_and_2(sgprs: int, waves: int) -> None:
    """LLVM never goes below 5; 512 registers in granules of 8 hold 4 waves of 104."""
    assert occupancy("gfx701", 64, 8, sgprs=sgprs).waves == 4 * waves


@pytest.mark.parametrize(("sgprs", "waves"), [(80, 10), (88, 8), (96, 8), (100, 7), (102, 7)])
def test_scalar_registers_on_gcn3_and_later(sgprs: int, waves: int) -> None:
    """800 registers in granules of 16: LLVM's table has 9 at 88 and 8 at 100, without the granule."""
    assert occupancy("gfx906", 64, 8, sgprs=sgprs).waves == 4 * waves
    assert occupancy("gfx1030", 64, 8, sgprs=sgprs).occupancy == 1  # never limiting from gfx10 on


def test_unified_register_file_of_cdna2() -> None:
    """124 VGPR and 4 AGPR on MI200: 4 waves per SIMD, 50 % (49.92 % measured)."""
    now = occupancy("gfx90a", 256, 124, agprs=4)
    assert now.occupancy == 0.5 and now.limiters == ("registers",)
    assert occupancy("gfx90a", 256, 124, agprs=5).occupancy == 0.375  # 124 + 5 = 129 round up to 136
    assert occupancy("gfx908", 256, 64, agprs=128).occupancy == 0.2  # separate files: the larger counts


def test_lds_bound_kernel_of_cdna2() -> None:
    """65,536 B of LDS and 256 threads on MI200: 12.5 % (12.49 % measured)."""
    now = occupancy("gfx90a", 256, 16, 65536)
    assert now.occupancy == 0.125 and now.limiters == ("shared",)


def test_warps_are_counted_in_fours_at_launch() -> None:
    now = occupancy("8.6", 800, 80)
    assert now.groups == 0
    assert now.why == "25 warps (counted as 28) x 2,560 registers = 71,680, a block may have 65,536"


def test_gp100_refuses_what_gp10x_cannot_run() -> None:
    """9 warps of 176 registers fit counted in twos, as GP100's halves take them, not in fours."""
    assert 10 * 176 * 32 < 65536 < 12 * 176 * 32
    now = occupancy("6.0", 9 * 32, 169)
    assert now.groups == 0 and "no other Pascal" in now.why
    registers, threads = np.meshgrid(np.arange(1, 256), np.arange(32, 1025, 32))
    other = occupancy("6.1", threads, registers).groups == 0
    assert (occupancy("6.0", threads, registers).groups[other] == 0).all()


def test_barriers_of_10_3_differ_between_headers() -> None:
    now = occupancy("10.3", 32, 20, barriers=2)
    assert now.groups == 32
    assert any("16 instead of 32" in note for note in now.notes)


def test_the_blackwell_tuning_guide_disagrees() -> None:
    assert any("Tuning Guide says 32 blocks" in note for note in occupancy("12.0", 32, 20).notes)
    assert not occupancy("12.0", 256, 80).notes  # said only where it changes the answer


def test_launch_shape_of_a_grid() -> None:
    now = occupancy("GeForce RTX 3080", 256, 80)
    shape = launch_shape((16, 16, 1), (1000, 1, 1), 68, now.groups, 32)
    assert shape.capacity == 204 and shape.rounds == 5 and shape.tail == 1000 - 4 * 204
    assert shape.to_fill == 20 and shape.subgroups == 8 and shape.idle_lanes == 0
    assert shape.utilisation == pytest.approx(1000 / 1020)
