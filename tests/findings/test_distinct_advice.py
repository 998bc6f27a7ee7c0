"""Each measure once in an item's advice."""

from triage.findings.chosen_advice import distinct


def test_the_same_measure_in_other_words_is_left_out() -> None:
    lines = (
        "Raise num_workers, and set pin_memory, persistent_workers and prefetch_factor.",
        "Set num_workers, pin_memory=True, persistent_workers=True and prefetch_factor of the DataLoader.",
        "Load and transform the next batches while the device computes this one.",
    )
    assert distinct(lines) == [lines[0], lines[2]]


def test_short_lines_that_share_a_word_both_stay() -> None:
    lines = ("Pad rows by one word.", "Swizzle the column with the row.", "Pad rows by one word.")
    assert distinct(lines) == list(lines[:2])
