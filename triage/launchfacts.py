"""Occupancy theory as facts: what limits residency and the nearest step that would help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LABELS: dict[str, Callable[[Any, int], str]] = {}
