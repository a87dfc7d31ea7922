"""Tips and wanted ids of many entries that are stored at once (see `EntryTables._move_tips` for one)."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.base.ids import CID_PREFIX
from muniment.store.base import EntryRow
from muniment.store.link import Link
from muniment.store.select import among

_DIGEST = len(CID_PREFIX)


def move_tips(
    link: Link,
    seqs: Sequence[int],
    digests: Sequence[bytes],
    authors: Sequence[int],
    rows: Sequence[EntryRow],
) -> None:
    """Note which authors' newest entries these are, which ones they follow, and what they name that is not here.

    The outcome is that of storing them one after the other.
    """
    batch = set(digests)
    named = {
        (parent[_DIGEST:], author) for row, author in zip(rows, authors, strict=True) for parent in row.prev
    }
    outside = sorted({parent for parent, _ in named if parent not in batch})
    known = {
        digest: (author, seq)
        for digest, seq, author in among(link, "SELECT id, seq, author FROM entries WHERE id", outside)
    }
    waited = set(among(link, "SELECT id, author FROM wanted WHERE id", digests))
    link.run_many(
        "DELETE FROM wanted WHERE id = ?", [(digest,) for digest in sorted({one for one, _ in waited})]
    )
    missing = sorted(pair for pair in named if pair[0] not in batch and pair[0] not in known)
    link.run_many("INSERT OR IGNORE INTO wanted (id, author) VALUES (?, ?)", missing)
    followed = [known[parent] for parent, author in named if parent in known and known[parent][0] == author]
    link.run_many("DELETE FROM tips WHERE author = ? AND seq = ?", sorted(followed))
    tips = [
        (author, seq)
        for seq, digest, author in zip(seqs, digests, authors, strict=True)
        if (digest, author) not in named and (digest, author) not in waited
    ]
    link.run_many("INSERT INTO tips (author, seq) VALUES (?, ?)", tips)
