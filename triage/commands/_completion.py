"""Shell completions of options: (value, description) pairs, imported when a shell asks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click


def metrics(_: click.Context) -> Iterable[tuple[str, str]]:
    """Canonical metrics."""
    from triage import schema

    return ((m.id, m.label) for m in schema.all_metrics().values())


def dialects(_: click.Context) -> Iterable[tuple[str, str]]:
    """Input formats."""
    from triage.dialects import dialects as known

    return ((name, d.TITLE) for name, d in known().items())


def formats(_: click.Context) -> Iterable[tuple[str, str]]:
    """Report formats."""
    from triage.rendering.formats import formats as known

    return ((name, "") for name in known())


def devices(_: click.Context) -> Iterable[tuple[str, str]]:
    """Architectures, and products of one word: bash splits `GeForce RTX 3080` into three."""
    from triage.devices import architectures as known
    from triage.devices import listing

    return ((d.name, d.generation) for d in (*known(), *listing()) if " " not in d.name)


def architectures(_: click.Context) -> Iterable[tuple[str, str]]:
    """Architectures."""
    from triage.devices import architectures as known

    return ((d.arch, d.generation) for d in known())


def rules(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Rule ids and packs, including those of --rules."""
    from triage.rulebook import packs

    book = packs.load([Path(f) for f in ctx.params.get("rules") or ()])
    yield from ((r.id, r.title) for r in book.rules)
    yield from ((pack, "the whole pack") for pack in dict.fromkeys(r.pack for r in book.rules))


def thresholds(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """`rule.threshold=`, for --set."""
    from triage.rulebook import packs

    book = packs.load([Path(f) for f in ctx.params.get("rules") or ()])
    return ((f"{r.name}.{t.name}=", t.why) for r in book.rules for t in r.thresholds.values())


def names(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Names of one word that `triage explain` takes."""
    from triage.ground import glossary
    from triage.rulebook import packs

    yield "guide", "NVIDIA's Compute Triage Guide: its checks and their rules"
    book = packs.load()
    yield from ((word, r.title) for r in book.rules for word in (r.id, r.name))
    yield from ((c.id, c.title) for c in book.causes.values())
    yield from metrics(ctx)
    yield from ((e.term, e.meaning) for e in glossary.entries() if " " not in e.term)
