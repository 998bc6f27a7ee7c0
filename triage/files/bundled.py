"""Find rules/, reports/, sample_captures/ and skills/, in an installed wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from triage.ground.errors import TriageError

_HERE = Path(__file__).resolve().parent.parent  # the package


def share(kind: str) -> Path:
    """The folder `kind`; the wheel's copy first, then the checkout's. Raises TriageError when there is neither."""
    # Anchored on this file: an editable install leaves stale copies elsewhere, which must not be found.
    for base in (_HERE / "_share", _HERE.parent):
        if (base / kind).is_dir():
            return base / kind
    raise TriageError(f"folder {kind}/ missing from this installation", "reinstall sol-triage")
