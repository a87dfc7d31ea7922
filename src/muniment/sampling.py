"""A bank seen from afar: when its memories came, and the vectors of some of them (design section 11, "Web page")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muniment.base.ids import BankId, parse_cid, parse_version
from muniment.memory import Memory
from muniment.peer import Peer
from muniment.store.base import State
from muniment.views import Record

if TYPE_CHECKING:
    from muniment.embed.base import Vectors

WINDOWS = 16


def sample(memory: Memory, most: int) -> list[Record]:
    """Live records from all of a memory's time: at most `most`, in runs of neighbours that lie evenly apart.

    Raises:
        NotPermitted: The agent may not read the bank.
    """
    count = memory.stats().records
    if count <= most:
        return _run(memory, count, 0)
    length = most // WINDOWS
    starts = [number * (count - length) // (WINDOWS - 1) for number in range(WINDOWS)]
    return [record for start in starts for record in _run(memory, length, start)]


def _run(memory: Memory, length: int, start: int) -> list[Record]:
    found: list[Record] = []
    while len(found) < length:
        page = memory.list(limit=min(1000, length - len(found)), offset=start + len(found))
        found += page
        if not page:
            break
    return found


def moments(peer: Peer, memory: Memory) -> list[int]:
    """When each live record was said, Unix ms, ascending.

    Raises:
        NotPermitted: The agent may not read the bank.
    """
    memory.stats()  # asks whether it may be read
    store = peer.bank(BankId(parse_cid(memory.bank_id))).store
    with store.read():
        rows = store.versions_after(0, store.watermark().last_ord)
        return sorted(row.created for row in rows if row.state is State.LIVE)


def vectors_of(peer: Peer, memory: Memory, records: Sequence[Record]) -> tuple[list[int], Vectors] | None:
    """The vectors of the active model: the places in `records` that have one, and a row of float32 for each.

    None where there is no embedder, or hardly a vector.

    Raises:
        MissingExtra | EmbedderError: The embedder's settings lead to none.
    """
    bank = peer.bank(BankId(parse_cid(memory.bank_id)))
    meaning = bank.host.meaning
    if meaning is None:
        return None
    import numpy as np

    from muniment.meaning import BankVectors
    from muniment.recall.vector_corpus import ROW

    places: dict[int, int] = {}
    with bank.store.read():
        for place, record in enumerate(records):
            if (row := bank.store.version_at(parse_version(record.version))) is not None:
                places[row.ord] = place
        rows = [row for row in BankVectors(bank, meaning.model).pick(list(places)) if row.vector is not None]
    sizes = {len(row.vector or b"") for row in rows}
    if len(rows) < 3 or len(sizes) != 1:
        return None
    joined = b"".join(row.vector or b"" for row in rows)
    return [places[row.ord] for row in rows], np.frombuffer(joined, ROW).reshape(len(rows), -1).astype(
        np.float32
    )
