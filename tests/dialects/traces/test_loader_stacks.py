"""The function that takes most of a data loader's waits is the innermost one in which half of them passes."""

import numpy as np

from triage.dialects.traces.loader_stacks import hottest

WORDS = ["/x/site-packages/lib/resize.py(7): resize", "lib/main.py(1): preprocess", "<built-in zoom>", "a.py(1): short"]


def test_the_innermost_function_with_half_of_the_waits() -> None:
    waits = np.array([0, 200]), np.array([100, 300])
    start, end = np.array([0, 10, 20, 200, 210, 400]), np.array([100, 90, 80, 300, 290, 900])
    assert hottest(waits, start, end, np.array([1, 0, 2, 1, 0, 3]), WORDS) == ("lib/resize.py(7): resize", 0.8)


def test_nothing_where_no_function_takes_half() -> None:
    waits = np.array([0]), np.array([100])
    assert hottest(waits, np.array([5]), np.array([30]), np.array([3]), WORDS) is None
