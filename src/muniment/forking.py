"""Forking: a new bank from what counts in another, for its members as they stand (design section 4).

A bank that lost its last admin goes on, and nothing in it can be granted any more. Its members go on in a fork.
The words are signed anew, by who forks: who had signed them stands in their metadata, as in an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.bank_views import BankInfo
from muniment.base.ids import BankId, parse_cid, parse_record
from muniment.describing import described
from muniment.granting import Terms, grant
from muniment.identity.did import to_did
from muniment.ledger.levels import ADMIN, Level
from muniment.query import Asker
from muniment.reading import Reader
from muniment.remembering import Draft, remember
from muniment.store.base import Filter
from muniment.views import Record

if TYPE_CHECKING:
    from muniment.peer import Peer
    from muniment.shared_banks import Banks

_CHUNK = 500


def fork(banks: Banks, peer: Peer, bank: Bank, name: str) -> BankInfo:
    """Found a bank of what is live in another; its standing members are granted what they hold.

    Who forks is its admin(0); other admins become admin(1). Forking again makes another bank.

    Args:
        banks: The banks for the key that forks; it has to read the old one.
        peer: The peer.
        bank: The old bank.
        name: What to call the new one.

    Raises:
        NotPermitted: The key may not read the old bank.
        InvalidInput | LimitExceeded: The name is taken or none.
    """
    key, now = banks.key, bank.host.clock.now_ms()
    reader = Reader(bank, key, peer.name_of, Asker(frozenset({key}), frozenset()))
    authority = reader.enter()
    said = described(bank, key)
    info = banks.new(name, description="" if said is None else said.description)
    new = peer.bank(BankId(parse_cid(info.id)))
    kept = 0
    while True:
        with bank.store.read():
            rows = bank.store.newest(Filter(), _CHUNK, kept)
            records = reader.views(rows, authority)
        if not rows:
            break
        remember(new, key, [_draft(record, to_did(key)) for record in records])
        kept += len(rows)
    by_terms: dict[Terms, list[bytes]] = {}
    for member in authority.members(now):
        if member.state == "standing" and member.key != key:
            level = member.level if member.level.code < ADMIN else Level(ADMIN, max(1, member.level.rank))
            by_terms.setdefault(Terms(level, member.until, member.delegable), []).append(member.key)
    for terms, keys in by_terms.items():
        for at in range(0, len(keys), 64):
            grant(new, key, keys[at : at + 64], terms)
    new.tidy(force=True)
    return banks.describe(info.id)


def _draft(record: Record, did: str) -> Draft:
    metadata = dict(record.metadata)
    if record.author != did:
        came = {"author": record.author, "author_name": record.author_name, "version": record.version}
        metadata.setdefault("forked", {name: value for name, value in came.items() if value is not None})
    return Draft(
        text=record.text,
        key=record.key,
        title=record.title,
        tags=record.tags,
        metadata=metadata or None,
        type=record.type,
        session=record.session,
        created=record.created_at_ms,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        tool=record.tool,
        recalled=record.recalled,
        ref=record.source_ref or f"fork:{record.version}",
        id=parse_record(record.id),
    )
