"""One peer of the year as a program: a line of JSON on stdin asks for something, lines on stdout answer it.

    python -m benchmarks.year_peer HOME [--vectors]

Each request names what to `do` and what time it is (`now`, Unix ms): the peer lives by that clock. It is killed while
it works, so whatever is done is told at once: `{"did": …}` for each item of a list, `{"ok": …}` or `{"error": …}` at
the end.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import rss_anon_mb

import muniment
from muniment import syncing
from muniment.base.errors import MunimentError
from muniment.base.ids import BankId, EntryId, cid_text, parse_cid, parse_version
from muniment.embed.callable import CallableEmbedder
from muniment.heads import MemoryBook
from muniment.ledger.stub import beginning
from muniment.memory import Memory
from muniment.peer import Peer
from muniment.rounds import care
from muniment.sharing import speaker
from muniment.store.base import State, Verdict
from muniment.testing.clock import TickingClock

DIMENSION = 128
PAGE = 1000


def _embed(texts: list[str]) -> np.ndarray:
    """The sum of a random direction for each word: near where words are shared, and next to no work."""
    rows = np.zeros((len(texts), DIMENSION), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in set(text.lower().split()):
            seed = int.from_bytes(
                hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            )
            row[:] += np.random.Generator(np.random.PCG64(seed)).standard_normal(DIMENSION, dtype=np.float32)
        row[0] += 1e-6
    return rows


class Program:
    """The requests, as methods; each returns what can be written as JSON."""

    def __init__(self, home: Path, *, vectors: bool) -> None:
        self.clock = TickingClock()
        embedder = CallableEmbedder("year/words", _embed, dimension=DIMENSION) if vectors else None
        self.peer: Peer = muniment.open(home, clock=self.clock, embedder=embedder)
        self._book = MemoryBook()
        self._server: Any = None

    def memory(self, agent: str, bank: str) -> Memory:
        """A bank as an agent opens it: anew for each request, as a server does."""
        found = self.peer.agent(agent)
        return found if found.bank_id == bank else found.bank(bank)

    # Making and deciding

    def make(self, agent: str) -> list[str]:
        made = self.peer.agent(agent, create=True)
        return [made.did, made.bank_id]

    def found(self, agent: str, name: str) -> str:
        made: str = self.peer.agent(agent).banks.new(name).id
        return made

    def take_in(self, bank: str, name: str) -> None:
        """Make room for a bank of the other peer; a round fills it."""
        peer, ident = self.peer, BankId(parse_cid(bank))
        if peer.made_store().bank(ident) is None:
            peer.make_store(ident).close()
            peer.made_store().add_bank(ident, "shared", name, self.clock.now_ms())

    def grant(self, agent: str, bank: str, did: str, level: str) -> str:
        return self.peer.agent(agent).banks.grant(bank, did, level).done

    def revoke(self, agent: str, bank: str, did: str) -> str:
        return self.peer.agent(agent).banks.revoke(bank, did).done

    def rekey(self, agent: str, bank: str) -> str:
        return self.peer.agent(agent).banks.rekey(bank).done

    # Memories

    def tell(self, agent: str, bank: str, items: list[dict[str, Any]]) -> int:
        """Remember each by itself, as a conversation goes on."""
        memory = self.memory(agent, bank)
        for item in items:
            say({"did": memory.remember(**item).version})
        return len(items)

    def forget(self, agent: str, bank: str, versions: list[str]) -> int:
        memory = self.memory(agent, bank)
        for version in versions:
            if memory.get(version).state != "forgotten":
                memory.forget(version)
            say({"did": version})
        return len(versions)

    def erase(self, agent: str, bank: str, versions: list[str]) -> int:
        memory = self.memory(agent, bank)
        for version in versions:
            if not self._erased(memory, version):
                memory.erase(version)
            say({"did": version})
        return len(versions)

    def _erased(self, memory: Memory, version: str) -> bool:
        row = memory._bank.store.version_at(parse_version(version))
        return row is not None and row.state is State.ERASED

    def policy(self, agent: str, bank: str) -> dict[str, Any]:
        return self.memory(agent, bank).run_archive_policy().to_json()

    def bodies(self, agent: str, bank: str, versions: list[str]) -> list[str]:
        """The sealed bytes of versions, or of the packed payloads of those that are in the archive."""
        bank_ = self.memory(agent, bank)._bank
        rows = [bank_.store.version_at(parse_version(version)) for version in versions]
        held = bank_.store.bodies([(row.seq, row.act) for row in rows if row is not None])
        return [_text(body) for body in held if body is not None]

    def fetch(self, agent: str, bank: str, versions: list[str]) -> list[str]:
        """Whole texts, also of what is in the archive, as hashes."""
        memory = self.memory(agent, bank)
        return [_hash(memory.fetch(version).text) for version in versions]

    # Asking

    def ask(self, agent: str, bank: str, questions: list[str], mode: str = "text") -> list[Any]:
        """The ten best versions for each question, and the processor time of each in ms."""
        memory, out = self.memory(agent, bank), []
        for question in questions:
            began = time.process_time_ns()
            hits = memory.recall(question, limit=10, mode=mode, dates="off")
            out.append(([hit.record.version for hit in hits], (time.process_time_ns() - began) / 1e6))
        return out

    def states(self, agent: str, bank: str) -> dict[str, str]:
        """What became of each version, by its id."""
        store = self.memory(agent, bank)._bank.store
        rows = store.versions_after(0, store.watermark().last_ord)
        return {str(store.version_id(row)): row.state.name.lower() for row in rows}

    def digest(self, agent: str, bank: str) -> dict[str, str]:
        """Hashes of all that must be equal on both replicas: entries, verdicts, states, the words of what is live."""
        memory = self.memory(agent, bank)
        store, authority = memory._bank.store, memory._bank.authority
        with store.read():
            counting = sorted(cid_text(row.id) for row in store.entries() if row.verdict is Verdict.COUNTS)
        states = sorted(
            (version, state) for version, state in self.states(agent, bank).items() if state != "void"
        )
        members = [(m.key.hex(), str(m.level), m.state) for m in authority.members(self.clock.now_ms())]
        heads = sorted(cid_text(head) for head in authority.heads)
        found = {"entries that count": counting, "states": states, "members": sorted(members), "control heads": heads,
                 "words": sorted(self._words(memory))}  # fmt: skip
        return {part: _hash(json.dumps(value)) for part, value in found.items()}

    def _words(self, memory: Memory) -> list[Any]:
        """Of each record that is not erased what its readers see; of archived texts what every stub has."""
        out: list[Any] = []
        for offset in range(0, 1 << 20, PAGE):
            page = memory.list(limit=PAGE, offset=offset, states=("live", "superseded", "forgotten"))
            out += [
                [
                    r.version,
                    r.key,
                    r.session,
                    r.author,
                    r.created_at_ms,
                    r.state,
                    r.conflict,
                    beginning(r.text),
                ]
                for r in page
            ]
            if len(page) < PAGE:
                break
        return out

    # Care

    def check(self, agent: str, bank: str) -> list[str]:
        memory = self.memory(agent, bank)
        return [f"{problem.where}: {problem.what}" for problem in memory.check()]

    def verify(self, agent: str, bank: str) -> bool:
        return self.memory(agent, bank).verify().ok

    def live(self, agent: str, bank: str) -> int:
        return self.memory(agent, bank)._bank.store.counts().get(State.LIVE, 0)

    def archived(self, agent: str, bank: str) -> int:
        return self.memory(agent, bank)._bank.store.figures().archived

    def memory_mb(self) -> float:
        return rss_anon_mb()

    def leave(self) -> None:
        """End in good order."""
        self.peer.close()

    # Syncing: whoever started both peers carries the messages

    def sync(self, bank: str, agent: str | None = None) -> list[int]:
        """The client's end of a round: `{"question": …}` goes out, `{"answers": […]}` comes in."""
        opened = self.peer.bank(BankId(parse_cid(bank)))
        key = speaker(self.peer, opened) if agent is None else self.peer.agent_row(agent).key
        assert key is not None
        client = syncing.connect(opened, key, b"year", book=self._book)

        def exchange(question: bytes) -> list[bytes]:
            say({"question": _text(question)})
            return [_bytes(answer) for answer in json.loads(sys.stdin.readline())["answers"]]

        report = syncing.run(client, exchange)
        figures = report.round
        assert not report.forked, "a key went two ways"
        return [figures.received, figures.sent, int(report.done)]

    def answer(self, bank: str, question: str, first: bool) -> list[str]:
        """The server's end."""
        if first:

            def find(asked: BankId, by: bytes, claim: bytes) -> tuple[Any, bytes] | None:
                opened = self.peer.bank(asked)
                key = speaker(self.peer, opened)
                return None if key is None else (opened, key)

            self._server = syncing.serve(find, b"year", self.peer.host.entropy, book=self._book)
        return [_text(one) for one in self._server.receive(_bytes(question))]

    def care(self, bank: str) -> bool:
        return care(self.peer, BankId(parse_cid(bank)))

    def entries(self, bank: str, ids: list[str]) -> list[bool]:
        """Whether entries stand here and count."""
        store = self.peer.bank(BankId(parse_cid(bank))).store
        rows = [store.entry(EntryId(parse_cid(one))) for one in ids]
        return [row is not None and row.verdict is Verdict.COUNTS for row in rows]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Until it is told to leave, or killed."""
    program = Program(Path(sys.argv[1]), vectors="--vectors" in sys.argv)
    say({"ok": None})
    while line := sys.stdin.readline():
        asked = json.loads(line)
        do, now = asked.pop("do"), asked.pop("now")
        program.clock.ms = max(program.clock.ms, now)
        try:
            say({"ok": getattr(program, do)(**asked)})
        except MunimentError as error:
            say({"error": error.name, "message": error.message})
        if do == "leave":
            break


if __name__ == "__main__":
    main()
