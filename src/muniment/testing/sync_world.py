"""Replicas that sync, for tests: who holds what in the bank, and one call for a round between two of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muniment import syncing
from muniment.bank import Bank
from muniment.base.ids import BankId
from muniment.heads import MemoryBook
from muniment.sync.round import ClientRound, ServerRound
from muniment.syncing import BankHolder, SyncReport
from muniment.testing.link import Link, Make
from muniment.testing.replicas import Replica, Replicas

Exchange = Callable[[bytes], list[bytes]]


class World:
    """A bank of carol's (admin), written by vera and wim, read by rea, relayed by rolf; eve is a stranger.

    Attributes:
        replicas: Of all of them; only carol's holds anything at first.
        book: What everybody remembers of everybody's tips.
        shared: Whether banks are served at all.
    """

    NAMES = ("carol", "vera", "wim", "rea", "rolf", "eve")

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.replicas = Replicas(folder, list(self.NAMES), seed)
        carol = self.replicas.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
        for name, level in (("wim", "write"), ("rea", "read"), ("rolf", "relay")):
            carol.grant(name, level)
        self.book = MemoryBook()
        self.shared = True

    def at(self, name: str) -> Replica:
        """The replica of a name."""
        return self.replicas.at(name)

    def make(self, server: str) -> Make:
        """Makes rounds that serve the replica of a name."""

        def find(bank: BankId, by: bytes, claim: bytes) -> tuple[Bank, bytes] | None:
            del by, claim
            here = self.at(server)
            return (here.bank, here.key) if self.shared and bank == here.bank.id else None

        return lambda binding: syncing.serve(find, binding, self.replicas.host.entropy, book=self.book)

    def client(
        self, name: str, binding: bytes = b"memory", *, push: bool = True, follow: bool = False
    ) -> ClientRound:
        """The client's end of a round for the replica of a name."""
        here = self.at(name)
        return syncing.connect(here.bank, here.key, binding, push=push, follow=follow, book=self.book)

    def server(self, name: str, binding: bytes = b"memory") -> ServerRound:
        """The server's end of a round."""
        return self.make(name)(binding)

    def holder(self, name: str) -> BankHolder:
        """What a round asks of a replica."""
        here = self.at(name)
        return BankHolder(here.bank, here.key, self.book)

    def sync(self, client: str, server: str, link: Link | None = None) -> SyncReport:
        """One round from one replica to another."""
        link = Link(self.make(server)) if link is None else link
        with link.connect() as channel:
            return syncing.run(self.client(client, channel.binding), channel.exchange)

    def close(self) -> None:
        """Let go of files."""
        self.replicas.close()
