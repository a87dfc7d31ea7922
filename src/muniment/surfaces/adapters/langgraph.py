"""The long-term memory of LangGraph in a bank: its `BaseStore` (extra `langgraph`).

```python
from muniment.surfaces.adapters.langgraph import MunimentStore

graph = builder.compile(store=MunimentStore(peer.agent("ava")))
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from muniment.base.errors import InvalidInput, MissingExtra, UnknownRecord
from muniment.base.limits import LIMITS
from muniment.memory import Memory
from muniment.remembering import Draft
from muniment.surfaces.adapters.items import (
    INDEXED,
    Namespace,
    passes,
    place_of,
    record_key,
    tag_of,
    tags_of,
    value_of,
    words_of,
)
from muniment.surfaces.adapters.threads import Beside
from muniment.views import Record

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    raise MissingExtra("langgraph", "a store for LangGraph") from error

_PAGE = 500


class MunimentStore(BaseStore):
    """Items of LangGraph as memories of one agent, each with its history; other memories of the bank are not seen.

    A query is answered by recall: by words, and by meaning where an embedder is configured. What does not bear on it is
    left out. Without a query, the newest come first. Items do not expire.

    Args:
        memory: An agent, or what it keeps in another bank: `agent.bank("team")`.
        fields: Paths of what is to be found by, as LangGraph writes them (`text`, `facts[*].content`); by default a
            field `text`, `content`, `memory` or `data`, else the whole value. `index` of a put comes before it.
    """

    supports_ttl = False

    def __init__(self, memory: Memory, *, fields: Sequence[str] | None = None) -> None:
        self._memory, self._fields, self._beside = memory, fields, Beside()

    def __repr__(self) -> str:
        return f"MunimentStore({self._memory!r})"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer all that ask as of before the batch, then do what writes: its puts together, or none of them.

        Raises:
            InvalidInput | LimitExceeded: An operation has no meaning here; nothing is written.
            MunimentError: The bank does not take it, or can't be read.
        """
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op  # the last one of a place counts
                results.append(None)
            else:
                results.append(self._answer(op))
        self._write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread beside the event loop.

        Raises:
            As `batch`.
        """
        given = list(ops)
        return await self._beside.run(lambda: self.batch(given))

    # Reading

    def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            record = self._live(op.namespace, op.key)
            return None if record is None else _item(record, op.namespace, op.key)
        if isinstance(op, SearchOp):
            return list(self._search(op))
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise InvalidInput(f"a store has no operation {type(op).__name__}")

    def _live(self, namespace: Namespace, key: str) -> Record | None:
        try:
            record = self._memory.get(record_key(namespace, key))
        except UnknownRecord:
            return None
        return record if record.state == "live" else None

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise InvalidInput("limit and offset are 0 or more")
        passed = 0
        for record, score in self._found(op):
            place, value = place_of(record), value_of(record)
            if place is None or not passes(value, op.filter):
                continue
            passed += 1
            if passed > op.offset + op.limit:
                return
            if passed > op.offset:
                yield SearchItem(
                    namespace=place[0], key=place[1], value=value, score=score,
                    created_at=_time(record.created_at_ms), updated_at=_time(record.written_at_ms),
                )  # fmt: skip

    def _found(self, op: SearchOp) -> Iterator[tuple[Record, float | None]]:
        tag = tag_of(op.namespace_prefix)
        if not op.query:
            yield from ((record, None) for record in self._all(tag))
            return
        most = LIMITS.recall_limit if op.filter else min(op.offset + op.limit, LIMITS.recall_limit)
        if most:
            hits = self._memory.recall(op.query, tags=[tag, INDEXED], limit=most)
            yield from ((hit.record, hit.score) for hit in hits)

    def _all(self, tag: str) -> Iterator[Record]:
        start = 0
        while page := self._memory.list(tags=[tag], limit=_PAGE, offset=start):
            yield from page
            start += len(page)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        places = [place_of(record) for record in self._all(tag_of(()))]
        found = {place[0] for place in places if place is not None}
        kept = {one for one in found if all(_fits(rule, one) for rule in op.match_conditions or ())}
        cut = {one[: op.max_depth] for one in kept} if op.max_depth is not None else kept
        return sorted(cut)[op.offset : op.offset + op.limit]

    # Writing

    def _write(self, puts: Mapping[tuple[Namespace, str], PutOp]) -> None:
        drafts = [self._draft(op) for op in puts.values() if op.value is not None]
        if drafts:
            self._memory.remember_many(drafts)
        for (namespace, key), op in puts.items():
            if op.value is None and self._live(namespace, key) is not None:
                self._memory.forget(record_key(namespace, key))

    def _draft(self, op: PutOp) -> Draft:
        if op.ttl is not None:
            raise InvalidInput("items of this store do not expire", "Leave ttl out, and delete what is over.")
        words = words_of(op.value or {}, self._texts(op.index))
        before = self._live(op.namespace, op.key)
        return Draft(
            words.text,
            key=record_key(op.namespace, op.key),
            tags=tags_of(op.namespace, indexed=op.index is not False),
            metadata=words.metadata,
            created=None if before is None else before.created_at_ms,
        )

    def _texts(self, index: Any) -> Callable[[Mapping[str, Any]], Sequence[str]] | None:
        paths = self._fields if index is None or index is False else index
        if not paths:
            return None
        return lambda value: [text for path in paths for text in get_text_at_path(value, tokenize_path(path))]


def _item(record: Record, namespace: Namespace, key: str) -> Item:
    return Item(
        value=value_of(record), key=key, namespace=namespace,
        created_at=_time(record.created_at_ms), updated_at=_time(record.written_at_ms),
    )  # fmt: skip


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _fits(rule: MatchCondition, namespace: Namespace) -> bool:
    if rule.match_type not in {"prefix", "suffix"}:
        raise InvalidInput(f"there is no rule {str(rule.match_type)[:40]!r}", "There are prefix and suffix.")
    depth = len(rule.path)
    if depth > len(namespace):
        return False
    part = namespace[:depth] if rule.match_type == "prefix" else namespace[len(namespace) - depth :]
    return all(wanted in {"*", label} for wanted, label in zip(rule.path, part, strict=True))
