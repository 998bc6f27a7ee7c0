"""Paths as people type them (quotes, globs, file://), read alike by every command."""

from __future__ import annotations

import glob
import os
import re
from urllib.parse import unquote, urlsplit

from triage.files import tree
from triage.ground.errors import CaptureError

STDIN = "-"


def spelled(text: str) -> str:
    """The path meant by a text with quotes, file:// or ~; raises CaptureError for web addresses.

    The name of an existing file is taken as it is.
    """
    if text == STDIN or os.path.lexists(text):
        return text
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if re.match(r"https?://", bare, re.IGNORECASE):
        raise CaptureError(f"{bare}: web addresses are not opened", "download it, and name the file")
    if bare.lower().startswith("file:"):
        parts = urlsplit(bare)
        if parts.netloc not in ("", "localhost"):
            raise CaptureError(f"{bare}: file of another machine", "copy it here, or name its mounted path")
        bare = unquote(parts.path)
        # file:///C:/frame.csv
        if re.match(r"/[A-Za-z]:[/\\]", bare) and os.name == "nt":
            bare = bare[1:]
    if bare.startswith("~"):
        bare = os.path.expanduser(bare)
    # a missing file is reported as typed
    return bare if os.path.lexists(bare) or bare != text else text


def expanded(text: str) -> tuple[str, ...]:
    """The captures meant by a text, sorted for a glob; a missing file stays for the reader to report.

    Raises CaptureError for remote addresses, for globs without a match, and for a whole file system.
    """
    path = spelled(text)
    if path == STDIN or os.path.lexists(path):
        return (path,)
    if re.match(r"[a-z][a-z0-9+.-]+://", path):
        raise CaptureError(f"{path}: remote file", "use triage batch, or copy it here")
    try:
        hits = tuple(tree.matching(path)) if glob.has_magic(path) else ()
    except tree.TooMany as e:
        raise CaptureError(f"{path}: {e} is not searched for captures", "name the folder of the captures") from None
    if glob.has_magic(path) and not hits:
        raise CaptureError(f"{path}: no file matches", "check the pattern and the folder")
    return hits or (path,)


def single(text: str) -> str:
    """The one capture meant by a text; raises CaptureError where a glob matches several."""
    hits = expanded(text)
    if len(hits) > 1:
        raise CaptureError(f"{text}: matches {len(hits)} files, such as {hits[0]}", "name one of them")
    return hits[0]
