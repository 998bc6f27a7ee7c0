"""Names from captures, escaped for each kind of text.

A marker name is data. Control and direction-changing characters become visible, markup characters are escaped, and
long names are shortened: C++ names lose what does not tell them apart (triage.names), then any name its middle.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from markupsafe import Markup

from triage.ground.kernel_names import kernel, plain
from triage.ground.phrasing import cut_middle

# Bidirectional controls and invisible characters reorder or hide the text around them in a report.
_HIDDEN = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u061c\u00ad\ud800-\udfff\ufffe\uffff]"
)
# with C1: a terminal takes U+009B for the beginning of a command, as it takes ESC [
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBERED = re.compile(r" \((?:\d{1,4}|\d+x\d+x\d+)\)$")  # names that differ in this number, or grid, only
_RUN = re.compile(r"[ \t\r\n\u2028\u2029\x0b\x0c]+")


def clean(text: object) -> str:
    """One line without control characters; what was hidden or would reorder the text is named: `<U+202E>`."""
    line = str(text) if text is not None else ""
    # nearly every name ends here, without a search through it: the one blank that is printable is " "
    if line.isprintable() and "  " not in line:
        return line.strip()
    line = _RUN.sub(" ", line).strip()
    line = _HIDDEN.sub(_named, line)
    return _CONTROL.sub(_named, line)


def _named(m: re.Match[str]) -> str:
    return f"‹U+{ord(m[0]):04X}›"


def short(text: object, most: int = 60) -> str:
    """Cleaned and cut to `most` characters: C++ parameters and namespaces go first, then the middle."""
    # the levels of a path are marker names, whose brackets hold what tells them apart
    levels, slash, name = clean(text).rpartition(" / ")
    name = plain(name)
    if len(levels + slash + name) > most:
        name = kernel(name)
    return excerpt(levels + slash + name, most)


def nearest(levels: Sequence[str], name: str, most: int) -> str:
    """A name with as many levels above it as fit, nearest first: `… / GBuffer / DrawIndexed(36)`."""
    out = short(name, most)
    for i, level in enumerate(reversed(levels)):
        longer = f"{clean(level)} / {out}"
        if len(longer) > most - (len(_MORE) if i + 1 < len(levels) else 0):
            return f"{_MORE}{out}" if len(out) <= most - len(_MORE) else out
        out = longer
    return out


_MORE = "… / "  # levels that do not fit


def excerpt(text: object, most: int) -> str:
    """Cleaned and cut to `most` characters in the middle: prose, which `short` would take for the name that stands in it."""
    return cut_middle(clean(text), most)


def distinct(texts: Sequence[object], most: int = 60, taken: Sequence[int] = ()) -> list[str]:
    """`short` of each; where different ones would come out alike, cut elsewhere so that they differ.

    taken: characters of each that something else needs. What no one cut tells apart stays as it is.
    """
    lines = [clean(text) for text in texts]
    ends = [m[0] if (m := _NUMBERED.search(line)) else "" for line in lines]
    lines = [plain(line.removesuffix(end)) for line, end in zip(lines, ends, strict=True)]
    sizes = [most - len(end) - (taken[i] if taken else 0) for i, end in enumerate(ends)]
    out = [short(line, size) + end for line, size, end in zip(lines, sizes, ends, strict=True)]
    for same in {s for s in out if out.count(s) > 1}:
        rows = [i for i, s in enumerate(out) if s == same]
        of, telling = [lines[i] for i in rows], [kernel(lines[i]) for i in rows]
        of = telling if len(set(telling)) == len(set(of)) else of
        differ = next((i for i, letters in enumerate(zip(*of, strict=False)) if len(set(letters)) > 1), sys.maxsize)
        for start in (sys.maxsize, differ):  # their ends, by which names differ most often; where they first do
            cuts = [_around(line, start, sizes[i]) for line, i in zip(of, rows, strict=True)]
            if len(set(of)) == len(set(cuts)) > 1:
                for i, cut in zip(rows, cuts, strict=True):
                    out[i] = cut + ends[i]
                break
    return out


def _around(line: str, start: int, most: int) -> str:
    """The first letters and as much from `start` on as fits, of a path its end alone: `reduce<51…MaxOps<…`."""
    if len(line) <= most:
        return line
    head = 0 if " / " in line else min(most // 4, start)
    size = most - head - 1
    end = min(start + size, len(line))
    if end == len(line):
        return f"{line[:head]}…{line[-size:]}"
    return f"{line[:head]}…{line[end - size : end - 1]}…"


# Always: what can start markup anywhere. Underscores only at the edge of a word, "<" and "&" only where HTML could begin.
_MARKDOWN = re.compile(r"([\\`*\[\]|~$]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|(?<!\w)[@#](?=\w))")


def markdown(text: object) -> str:
    """Prose for Markdown: nothing in it can start markup, in a table cell or outside."""
    line = _MARKDOWN.sub(r"\\\1", clean(text))
    # at the start of a line `1.` begins a list, `-` and `+` too, `=` underlines a heading, `/` is a quick action of GitLab
    if m := re.match(r"(\d+)([.)])(\s)", line):
        return f"{m[1]}\\{m[2]}{m[3]}{line[m.end() :]}"
    return f"\\{line}" if line[:1] in ("+", "-", "=", ":", ">", "#", "/") else line


def unmentioned(text: object) -> str:
    """Text for raw HTML in Markdown, where no backslash and no code span keeps `@name` and `#1` from being mentions."""
    return re.sub(r"([@#\uff20])(?=\w)", "\\1\u200b", str(text))


def markdown_code(text: object, most: int = 60, cell: bool = True) -> str:
    """A name or cell as a code span: no mention, link or entity in it is alive. Pipes are escaped for table cells."""
    line = short(text, most) or " "
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    # no backslash escapes anything in a code span: only a longer fence does
    fence = "`" * (longest + 1)
    pad = " " if longest and (line[0] == "`" or line[-1] == "`") else ""
    if cell:
        # inside a table cell a backslash before a pipe is eaten by the table, one before another character is not
        line = re.sub(r"(\\*)\|", lambda m: m[1] + "\\|", line)
    return f"{fence}{pad}{line}{pad}{fence}"


_JIRA = re.compile(r"[{}\[\]|!\\&]|[*_+^~?#-]")


def jira(text: object) -> str:
    """Prose for Jira wiki markup: braces, brackets and pipes are escaped, marks where they could start a style."""
    line = clean(text)

    def one(m: re.Match[str]) -> str:
        c, at = m[0], m.start()
        if c == "\\":
            return "&#92;"  # two of them would be a line break
        if c == "&":
            return "&amp;" if re.match(r"&#?\w+;", line[at:]) else "&"
        if c == "|":
            return "&#124;"  # a backslash before it is honoured by Jira itself, not by all that read its markup
        if c in "{}[]!":
            return f"\\{c}"
        # between letters, or alone between blanks, Jira starts no style: `snake_case` and `a - b` stay readable
        before, after = line[at - 1 : at], line[at + 1 : at + 2]
        inside = before.isalnum() and after.isalnum()
        apart = before in ("", " ") and after in ("", " ") and at > 0
        return c if inside or apart else f"\\{c}"

    return _JIRA.sub(one, line)


def jira_name(text: object, most: int = 60) -> str:
    """A marker name for Jira."""
    return jira(short(text, most)) or " "


def breaks(text: object) -> Markup:
    """HTML that narrow columns break between the parts of a path or a name, not within a word."""
    return Markup("").join(Markup("%s<wbr>") % p for p in re.split(r"(?<=[/\\_<,:-])(?![/\\_<,:-])", clean(text)))


_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled, and kept by re, where it is used


def xml_chars(text: object) -> str:
    """Only characters that XML 1.0 allows; the rest is named."""
    line = clean(text)
    # controls, surrogates and non-characters are not printable
    return line if line.isprintable() else re.sub(_NOT_XML, _named, line)
