"""Memory integrity: edits of the files at rest, and writes through the front door (agent-memory-integrity, agmi).

    pip install agent-memory-integrity
    python -m benchmarks.integrity [--mutate] [--json FILE]

*At rest* somebody edits the bank's file and holds no key: what counts is what the read path then does (`Agent.list`,
`Agent.get` and `Agent.recall` in a process of its own). The peer has a witness file outside its folder, as
docs/threat-model.md recommends; the suite's rollback edit can't be seen without one. Edits are made as well as somebody
who knows the format can make them: hashes, ids and derived rows are made to fit.

*At the front door* an attacker writes. What the user wrote (the suite's signature holds) is signed by the user's agent;
everything else is written by another key that the bank's owner let write. What an agent reads as its own is
`recall(source="self")`: provenance comes from the key that signed, not from a label.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

import muniment
from muniment.base import codec
from muniment.base.errors import MunimentError
from muniment.base.ids import cid_of
from muniment.ledger import entry as entries
from muniment.ledger.control import Grant
from muniment.ledger.levels import parse_level
from muniment.remembering import Draft, remember
from muniment.witness import VARIABLE
from muniment.writing import Writer

FIRST, SECOND = "ava", "ben"
_ENTRY = ("id", "at", "control", "verdict", "local", "readable", "prev", "envelope")
_VERSION = (
    "record", "key_group", "content", "write", "state", "type", "tool", "recalled", "session", "created", "at", "ended",
)  # fmt: skip


def _agmi(name: str) -> Any:
    return importlib.import_module(f"agmi.{name}")


class Bankfile:
    """The bank of one agent, edited behind its back with plain SQL."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def connect(self) -> Iterator[apsw.Connection]:
        """A connection without foreign keys, as an attacker would open it; what was done is kept."""
        link = apsw.Connection(str(self._path))
        try:
            with link:
                yield link
        finally:
            link.close()

    def seqs(self, link: apsw.Connection) -> list[int]:
        """Numbers of the entries with memories."""
        return [row[0] for row in link.execute("SELECT seq FROM entries WHERE control = 0 ORDER BY seq")]

    def read(self, link: apsw.Connection, seq: int) -> dict[str, Any]:
        """All rows of one memory: its entry, its sealed body and what was derived."""
        fields: dict[str, Any] = {}
        columns = ", ".join(f"e.{name}" for name in _ENTRY)
        sql = f"SELECT {columns}, a.key, p.key FROM entries e JOIN authors a ON a.id = e.author"
        row = link.execute(f"{sql} JOIN epochs p ON p.id = e.epoch WHERE e.seq = ?", (seq,)).fetchone()
        fields["entry"] = [_hex(value) for value in row]
        sealed = link.execute("SELECT sealed FROM bodies WHERE place = ?", (seq << 8,)).fetchone()
        fields["body"] = sealed[0].hex()
        columns = ", ".join(_VERSION)
        row = link.execute(f"SELECT {columns} FROM versions WHERE place = ?", (seq << 8,)).fetchone()
        fields["version"] = [_hex(value) for value in row]
        return fields

    def write(self, link: apsw.Connection, seq: int, fields: dict[str, Any]) -> None:
        """Put those rows into a slot, whatever stood there."""
        *entry, author, epoch = (_unhex(value) for value in fields["entry"])
        author_id, epoch_id = _number(link, "authors", author), _number(link, "epochs", epoch)
        marks = ", ".join("?" * (len(_ENTRY) + 3))
        sql = f"INSERT OR REPLACE INTO entries (seq, author, epoch, {', '.join(_ENTRY)}) VALUES ({marks})"
        link.execute(sql, (seq, author_id, epoch_id, *entry))
        link.execute(
            "INSERT OR REPLACE INTO bodies VALUES (?, 0, ?)", (seq << 8, bytes.fromhex(fields["body"]))
        )
        marks = ", ".join("?" * (len(_VERSION) + 3))
        sql = f"INSERT OR REPLACE INTO versions (ord, place, author, {', '.join(_VERSION)}) VALUES ({marks})"
        ord_ = seq - self.seqs(link)[0] + 1
        link.execute(sql, (ord_, seq << 8, author_id, *map(_unhex, fields["version"])))
        self._mend(link)

    def delete(self, link: apsw.Connection, seq: int) -> None:
        """Take a memory out, with all that points at it."""
        for sql in (
            "DELETE FROM versions WHERE place = ? << 8",
            "DELETE FROM bodies WHERE place = ? << 8",
            "DELETE FROM entries WHERE seq = ?",
        ):
            link.execute(sql, (seq,))
        self._mend(link)

    def _mend(self, link: apsw.Connection) -> None:
        """Make the tips fit: a key's newest entry is the last that is there."""
        link.execute("DELETE FROM tips")
        link.execute("INSERT INTO tips SELECT author, max(seq) FROM entries GROUP BY author")


def _hex(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _unhex(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def _number(link: apsw.Connection, table: str, key: bytes) -> int:
    link.execute(f"INSERT OR IGNORE INTO {table} (key) VALUES (?)", (key,))
    return int(link.execute(f"SELECT id FROM {table} WHERE key = ?", (key,)).fetchone()[0])


def _resealed(fields: dict[str, Any], body: bytes, *, at: int = 0) -> dict[str, Any]:
    """Rows with another body, the header's hash and the entry's id made to fit; only a key could sign it."""
    slot = _ENTRY.index("envelope")
    signed, signature = codec.decode(_unhex(fields["entry"][slot]), 1 << 20)
    header = entries.parse_header(signed)
    prev = (cid_of(_unhex(fields["entry"][slot])),) if at else header.prev
    acts = (entries.act_ref(header.acts[0].kind, body),)
    changed = entries.header_bytes(replace(header, acts=acts, at=header.at + at, prev=prev))
    envelope = codec.encode([changed, signature])
    entry = list(fields["entry"])
    entry[slot], entry[0] = _hex(envelope), _hex(bytes(cid_of(envelope))[4:])
    entry[1] += at
    version = list(fields["version"])
    if at:  # a record of its own
        version[0], version[2], version[3] = _hex(os.urandom(16)), _hex(os.urandom(16)), _hex(os.urandom(16))
        version[_VERSION.index("at")] += at
    return {**fields, "entry": entry, "body": body.hex(), "version": version}


def at_rest_adapter(*, witness: bool = True) -> Any:
    """The suite's at-rest adapter for muniment, with a witness or without."""
    base = _agmi("adapters.base")

    class MunimentAdapter(base.MemoryAdapter):  # type: ignore[misc, name-defined]
        """A peer folder, a witness beside it, and the read path as the judge."""

        name = "muniment"
        supports_replay = supports_metadata = supports_snapshot = True

        def setup(self) -> None:
            self._root = Path(tempfile.mkdtemp(prefix="muniment-agmi-"))
            self._home = self._root / "home"
            if witness:
                os.environ[VARIABLE] = str(self._root / "elsewhere" / "witness")
            (self._root / "elsewhere").mkdir()
            self._written = 0

        def teardown(self) -> None:
            os.environ.pop(VARIABLE, None)
            shutil.rmtree(self._root, ignore_errors=True)

        def seed(self, n: int) -> None:
            self._remember(FIRST, n)

        def seed_other(self, n: int) -> None:
            self._remember(SECOND, n)

        def append_genuine(self) -> None:
            self._remember(FIRST, 1)

        def _remember(self, name: str, n: int) -> None:
            with muniment.open(self._home) as peer:
                agent = peer.agent(name, create=True)
                for _ in range(n):
                    self._written += 1
                    agent.remember(f"{name} keeps fact number {self._written}", metadata={"n": self._written})

        def _file(self, name: str) -> Bankfile:
            with muniment.open(self._home) as peer:
                return Bankfile(self._home / "banks" / f"{peer.agent(name).bank_id}.db")

        def _rows(self, name: str) -> list[Any]:
            file = self._file(name)
            with file.connect() as link:
                found = [{**file.read(link, seq), "owner": name} for seq in file.seqs(link)]
            return [base.Record(number, fields) for number, fields in enumerate(found)]

        def read_all_raw(self) -> list[Any]:
            return self._rows(FIRST)

        def read_other_raw(self) -> list[Any]:
            return self._rows(SECOND)

        def write_raw(self, record: Any) -> None:
            file = self._file(FIRST)
            with file.connect() as link:
                seqs = self._slots(file, link)
                seq = seqs[record.seq] if record.seq < len(seqs) else seqs[-1] + 1
                file.write(link, seq, record.fields)

        def _slots(self, file: Bankfile, link: apsw.Connection) -> list[int]:
            """Slots by place, also while one of two that change places is empty."""
            seqs = file.seqs(link)
            return list(range(seqs[0] if seqs[0] == 3 else 3, seqs[-1] + 1))

        def delete_raw(self, seq: int) -> None:
            file = self._file(FIRST)
            with file.connect() as link:
                file.delete(link, file.seqs(link)[seq])

        def mutate_payload(self, record: Any) -> Any:
            body = bytearray(bytes.fromhex(record.fields["body"]))
            body[40] ^= 1
            record.fields = _resealed(record.fields, bytes(body))
            return record

        def forge_record(self, template: Any) -> Any:
            length = len(bytes.fromhex(template.fields["body"]))
            return base.Record(template.seq + 1, _resealed(template.fields, os.urandom(length), at=1 << 16))

        def replay_onto(self, victim_seq: int, donor: Any) -> None:
            file = self._file(FIRST)
            with file.connect() as link:
                seq, fields = file.seqs(link)[victim_seq], dict(donor.fields)
                # An id stands once in the table: the copy gets one of its own, and says all the rest.
                fields["entry"] = [_hex(os.urandom(32)), *fields["entry"][1:]]
                file.write(link, seq, fields)

        def identity_of(self, record: Any) -> str:
            return f"{record.fields.get('owner', FIRST)} {record.seq}"

        def payload_of(self, record: Any) -> str:
            return str(record.fields["entry"][_ENTRY.index("envelope")]) + str(record.fields["body"])

        def owner_of(self, record: Any) -> str:
            return str(record.fields.get("owner", FIRST))

        def read_meta(self, seq: int) -> dict[str, Any]:
            fields = self.read_all_raw()[seq].fields
            return dict(zip(_VERSION, fields["version"], strict=True))

        def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
            del meta["agmi_meta_tampered"]
            record = self.read_all_raw()[seq]
            record.fields["version"] = [meta[name] for name in _VERSION]
            record.fields["version"][_VERSION.index("created")] += 86_400_000
            self.write_raw(record)

        def snapshot_store(self) -> object:
            return self._copy_store(self._home)

        def restore_store(self, token: object) -> None:
            self._restore_store(str(token), self._home)

        def reload(self) -> None:
            """Each read opens the folder anew."""

        def verify(self) -> bool:
            self.verify_detail = None
            try:
                with muniment.open(self._home) as peer:
                    agent = peer.agent(FIRST)
                    for record in agent.list(limit=1000):
                        agent.get(record.id)
                    agent.recall("fact number", limit=100)
            except MunimentError as error:
                self.verify_detail = f"{error.name}: {error.message}"
                return False
            return True

    return MunimentAdapter()


def front_door_adapter() -> Any:
    """The suite's semantic adapter for muniment."""
    base, signing = _agmi("adapters.semantic_base"), _agmi("signing")

    class MunimentMemory(base.SemanticMemoryAdapter):  # type: ignore[misc, name-defined]
        """One agent a user; whoever holds no key of the user's writes with one of his own."""

        name = "muniment"

        def __init__(self) -> None:
            self._root: Path | None = None
            self._peer: muniment.Peer | None = None

        def reset(self) -> None:
            self.close()
            self._root = Path(tempfile.mkdtemp(prefix="muniment-agmi-"))
            self._peer = muniment.open(self._root / "home")
            self._let_in: set[str] = set()

        def close(self) -> None:
            if self._peer is not None:
                self._peer.close()
            if self._root is not None:
                shutil.rmtree(self._root, ignore_errors=True)
            self._peer = self._root = None

        @property
        def peer(self) -> muniment.Peer:
            if self._peer is None:
                self.reset()
            assert self._peer is not None
            return self._peer

        def add_memory(self, item: Any) -> None:
            agent = self.peer.agent(item.user_id, create=True)
            if signing.KEYRING.verify(item.user_id, item.source, item.text, item.signature):
                agent.remember(item.text, metadata=item.metadata)
                return
            stranger = self.peer.agent("stranger", create=True)
            bank, key = agent._bank, stranger._key
            if item.user_id not in self._let_in:
                self._let_in.add(item.user_id)
                with bank.write() as authority:
                    grant = Grant(key, parse_level("write"))
                    Writer(bank, self.peer.owner()).commit_control(
                        authority, [grant], bank.host.clock.now_ms()
                    )
                # A new reader: the next epoch is for her too, and the owner's peer starts it.
                with bank.write() as authority:
                    Writer(bank, self.peer.owner()).start_epoch(authority, bank.host.clock.now_ms())
            remember(bank, key, [Draft(text=item.text, metadata=item.metadata or None)])

        def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Any]:
            return self._recall(query, user_id, k, None)

        def retrieve_where(self, query: str, user_id: str, where: dict[str, Any], k: int = 5) -> list[Any]:
            return self._recall(query, user_id, k, where)

        def _recall(self, query: str, user_id: str, k: int, where: dict[str, Any] | None) -> list[Any]:
            agent = self.peer.agent(user_id, create=True)
            hits = agent.recall(query, limit=k, source="self", metadata=where)
            return [base.Retrieved(text=hit.record.text, user_id=user_id, score=hit.score) for hit in hits]

        def measured_on(self) -> str:
            return 'words alone, no embedder; recall(source="self"): what the user\'s own key signed'

    return MunimentMemory()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutate", action="store_true", help="also the suite's evasions of content checks")
    parser.add_argument("--json", metavar="FILE", help="also write the cells there")
    args = parser.parse_args()
    try:
        check, memory = _agmi("check"), _agmi("attacks.memory_specific")
    except ImportError:
        print("skipped: integrity (pip install agent-memory-integrity)")
        return 0
    rows, bare = check.run(at_rest_adapter()), check.run(at_rest_adapter(witness=False))
    print(check.render("muniment, with a witness", rows))
    print(check.render("muniment, without one", bare))
    front = []
    adapter = front_door_adapter()
    for attack in (cls(mutate=args.mutate) for cls in memory.ALL_MEMORY_ATTACKS):
        result = attack.run(adapter)
        surfaced = {
            name: f"{sum(map(bool, cells))} of {len(cells)}" for name, cells in result.channels.items()
        }
        front.append({"attack": attack.name, "attack_version": attack.version, "surfaced": surfaced,
                      "verdict": result.status, "detail": result.error or result.detail})  # fmt: skip
        print(f"{attack.name:<28} {result.status:<11} {surfaced} {result.error or ''}")
    adapter.close()
    if args.json:
        version = importlib.metadata.version("agent-memory-integrity")
        cells = {"tool": "muniment", "suite": f"agent-memory-integrity {version}", "mutate": args.mutate,
                 "measured_on": adapter.measured_on(), "at_rest": rows,
                 "at_rest_without_witness": bare, "front_door": front}  # fmt: skip
        told = re.sub(
            r"/\S*/muniment-agmi-\w+/", "", json.dumps(cells, indent=1)
        )  # where it ran says nothing
        Path(args.json).write_text(told + "\n", "utf-8")
    return int(any(row["verdict"] != "REJECTED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
