"""Captures as people name them: quoted, with a glob, as file:// address - the same in every command."""

from __future__ import annotations

import glob
import os
import re
from urllib.parse import unquote, urlsplit

from triage.files import tree
from triage.ground.errors import CaptureError

STDIN = "-"


def spelled(text: str) -> str:
    """The path behind what was typed: quotes that a shell left, file:// and ~ are understood. Raises CaptureError.

    What exists under the very name is taken as it is. An address on the web is refused: nothing is downloaded.
    """
    if text == STDIN or os.path.lexists(text):
        return text
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if re.match(r"https?://", bare, re.IGNORECASE):
        raise CaptureError(f"{bare}: addresses on the web are not opened", "download it, and name the file")
    if bare.lower().startswith("file:"):
        parts = urlsplit(bare)
        if parts.netloc not in ("", "localhost"):
            raise CaptureError(f"{bare}: a file of another machine", "copy it here, or name it by its mounted path")
        bare = unquote(parts.path)
        # file:///C:/frame.csv
        if re.match(r"/[A-Za-z]:[/\\]", bare) and os.name == "nt":
            bare = bare[1:]
    if bare.startswith("~"):
        bare = os.path.expanduser(bare)
    # what is not there under either name is reported as it was typed
    return bare if os.path.lexists(bare) or bare != text else text


def expanded(text: str) -> tuple[str, ...]:
    """The captures that are meant, sorted where a glob names several; what matches nothing stays for the reader to report.

    Raises CaptureError for an address that only `batch` opens, and for a whole file system.
    """
    path = spelled(text)
    if path == STDIN or os.path.lexists(path):
        return (path,)
    if re.match(r"[a-z][a-z0-9+.-]+://", path):
        raise CaptureError(f"{path}: remote files are read by triage batch", "or copy it here and name the file")
    try:
        found = tuple(tree.matching(path)) if glob.has_magic(path) else ()
    except tree.TooMany as e:
        raise CaptureError(f"{path}: {e} is not searched for captures", "name the folder they lie in") from None
    if glob.has_magic(path) and not found:
        raise CaptureError(f"{path}: nothing matches", "check the pattern and the folder")
    return found or (path,)


def single(text: str) -> str:
    """The one capture that is meant. Raises CaptureError where a glob names several."""
    found = expanded(text)
    if len(found) > 1:
        raise CaptureError(f"{text}: matches {len(found)} files, such as {found[0]}", "name one of them")
    return found[0]
