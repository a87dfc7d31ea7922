"""Packs that others keep: given, proved, fetched and given again, between real installations."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

import muniment
from muniment import sharing
from muniment.archive import tree
from muniment.archive.custody_messages import read, write
from muniment.archive.source import Chunk, Download, Outline, fetch
from muniment.base import codec
from muniment.base.errors import InvalidInput, UnknownBlob, Unreachable
from muniment.base.ids import BlobName, parse_blob
from muniment.custody import Custody
from muniment.custody_channel import PROTOCOL
from muniment.custody_desk import CustodyDesk, signer
from muniment.custody_links import HolderSource, link_to
from muniment.identity.did import to_did
from muniment.rounds import caller
from muniment.testing.clock import FixedClock
from muniment.testing.entropy import SeededEntropy

from .serving import served

TEXT = SeededEntropy(b"a long text").bytes(200_000).hex()  # a pack of several chunks


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[muniment.Peer]:
    """A peer with one archived text."""
    with muniment.open(tmp_path / "owner") as peer:
        agent = peer.agent("ava", create=True)
        agent.remember(TEXT, key="report")
        agent.archive("report")
        yield peer


def holder(home: Path, owner: muniment.Peer, space: str = "50MB") -> Path:
    """A peer that keeps the owner's packs."""
    with muniment.open(home) as peer:
        Custody(peer).accept(to_did(owner.owner()), space=space)
    return home


@contextmanager
def by_folder(home: Path) -> Iterator[str]:
    """The address of a holder whose disk is at hand."""
    yield str(home)


@contextmanager
def by_iroh(home: Path) -> Iterator[str]:
    """The address of a holder that serves over iroh."""
    pytest.importorskip("iroh", reason="needs the extra p2p")
    with served(home, iroh="127.0.0.1:0"), muniment.open(home) as peer:
        yield next(address for address in sharing.addresses(peer) if address.startswith("iroh:"))


Way = Callable[[Path], AbstractContextManager[str]]
WAYS = [
    pytest.param(by_folder, id="folder"),
    pytest.param(served, id="http"),
    pytest.param(by_iroh, id="iroh"),
]


@pytest.mark.parametrize("way", WAYS)
def test_a_pack_is_given_proved_and_fetched(owner: muniment.Peer, tmp_path: Path, way: Way) -> None:
    """By each way: a receipt that counts, a proof, and the text after all packs here are lost."""
    with way(holder(tmp_path / "holder", owner)) as address:
        (given,) = Custody(owner).offer(address)
        assert owner.archive.receipts(parse_blob(given.blob)) == 1
        pointer = next(iter(owner.archive.packs.index.pointers(parse_blob(given.blob))))
        assert owner.archive.receipts(pointer) == 1
        assert Custody(owner).status().blobs[0].days is None
        assert Custody(owner).challenge().well
        assert Custody(owner).status().blobs[0].days == 0
        shutil.rmtree(owner.home / "blobs")
        assert owner.agent("ava").fetch("report").text == TEXT


@pytest.mark.parametrize("way", WAYS)
def test_a_holder_that_lost_a_pack_raises_an_alarm_and_another_gets_it(
    owner: muniment.Peer, tmp_path: Path, way: Way
) -> None:
    """The receipt counts no more; a holder that is known for another pack takes this one too."""
    agent = owner.agent("ava")
    first, second = (holder(tmp_path / name, owner) for name in ("one", "two"))
    with way(first) as one, way(second) as two:
        (lost,) = Custody(owner).offer(one)
        agent.remember("other words " * 200, key="other")
        agent.archive("other")
        other = next(row.blob for row in Custody(owner).status().blobs if row.blob != lost.blob)
        Custody(owner).offer(two, other)
        shutil.rmtree(first / "blobs")
        done = Custody(owner).challenge()
        assert [outcome.proven for outcome in done.outcomes if outcome.blob == lost.blob] == [False]
        assert [(row.blob, row.address) for row in done.given] == [(lost.blob, two)]
        assert owner.archive.receipts(parse_blob(lost.blob)) == 1
        assert any(item.name == "custody" and item.status == "warn" for item in owner.doctor())
        Custody(owner).offer(one)  # mended
        assert Custody(owner).challenge().well


def test_a_flipped_byte_is_an_alarm(owner: muniment.Peer, tmp_path: Path) -> None:
    """A pack of few chunks is asked for whole."""
    home = holder(tmp_path / "holder", owner)
    (given,) = Custody(owner).offer(str(home))
    (path,) = (path for path in (home / "blobs").rglob("bafkr4i*") if path.is_file())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)
    assert not Custody(owner).challenge(given.blob).well


def test_a_cut_transfer_goes_on_where_it_was(owner: muniment.Peer, tmp_path: Path) -> None:
    """Chunks that came are not sent again."""
    home = holder(tmp_path / "holder", owner)
    sent: list[int] = []
    answer = CustodyDesk._give

    def cut(desk: CustodyDesk, key: bytes, blob: bytes, number: int, data: bytes, path: list[bytes]) -> bytes:
        if len(sent) == 2:
            sent.append(-1)
            raise Unreachable("the line is cut")
        sent.append(number)
        return answer(desk, key, blob, number, data, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CustodyDesk, "_give", cut)
        with pytest.raises(Unreachable):
            Custody(owner).offer(str(home))
        (given,) = Custody(owner).offer(str(home))
    assert sent[:2] == [0, 1]
    assert [number for number in sent if number >= 0] == list(range(tree.chunk_count(given.size)))


def test_strangers_keep_nothing_and_get_nothing(owner: muniment.Peer, tmp_path: Path) -> None:
    """Who was not accepted can't give, and can't fetch what is kept for another."""
    home = holder(tmp_path / "holder", owner)
    (given,) = Custody(owner).offer(str(home))
    with muniment.open(tmp_path / "stranger") as stranger, served(home) as url:
        agent = stranger.agent("eve", create=True)
        agent.remember("words " * 300, key="x")
        agent.archive("x")
        with pytest.raises(muniment.MunimentError, match="keeps nothing for that key"):
            Custody(stranger).offer(url)
        with pytest.raises(UnknownBlob):
            fetch(Download(parse_blob(given.blob)), [HolderSource(stranger, url)])
        with muniment.open(home) as peer:
            Custody(peer).accept(to_did(stranger.owner()))
        with pytest.raises(UnknownBlob):
            fetch(Download(parse_blob(given.blob)), [HolderSource(stranger, url)])


def test_room_and_terms_are_kept(owner: muniment.Peer, tmp_path: Path) -> None:
    """No more bytes and no longer than was accepted."""
    home = holder(tmp_path / "holder", owner, space="1kB")
    with pytest.raises(UnknownBlob, match="no room"):
        Custody(owner).offer(str(home))
    holder(home, owner)
    with pytest.raises(UnknownBlob, match="at most 365 days"):
        Custody(owner).offer(str(home), days=400)
    with pytest.raises(InvalidInput):
        Custody(owner).offer(str(owner.home))


class Liar:
    """Says the right outline, and sends other bytes."""

    name = "liar"

    def __init__(self, honest: HolderSource) -> None:
        self._honest = honest

    def outline(self, blob: BlobName) -> Outline | None:
        """The true one."""
        return self._honest.outline(blob)

    def chunk(self, blob: BlobName, number: int) -> Chunk:
        """A flipped one."""
        chunk = self._honest.chunk(blob, number)
        return Chunk(bytes([chunk.data[0] ^ 1]) + chunk.data[1:], chunk.path)

    def close(self) -> None:
        """Of the honest one."""
        self._honest.close()


def test_a_holder_that_lies_is_named_and_skipped(owner: muniment.Peer, tmp_path: Path) -> None:
    """The bytes come from the honest one."""
    home = holder(tmp_path / "holder", owner)
    (given,) = Custody(owner).offer(str(home))
    with served(home) as url:
        honest = HolderSource(owner, url)
        download = Download(parse_blob(given.blob))
        data = fetch(download, [Liar(honest), honest])
        assert len(data) == given.size
        assert list(download.liars) == ["liar"]


def test_a_receipt_ends_with_its_term(tmp_path: Path) -> None:
    """From then on it doesn't count, and the holder may collect the pack."""
    clock = FixedClock(1_800_000_000_000)
    with muniment.open(tmp_path / "owner", clock=clock) as owner:
        agent = owner.agent("ava", create=True)
        agent.remember("words " * 300, key="x")
        agent.archive("x")
        home = holder(tmp_path / "holder", owner)
        (given,) = Custody(owner).offer(str(home), days=1)
        name = parse_blob(given.blob)
        with muniment.open(home, clock=clock) as peer:
            assert peer.archive.held(name)
            clock.advance(2 * 86_400_000)
            assert not peer.archive.held(name)
        assert owner.archive.receipts(name) == 0
        assert Custody(owner).status().blobs[0].alarms


@contextmanager
def cut(monkeypatch: pytest.MonkeyPatch, every: int, *, heard: bool) -> Iterator[list[int]]:
    """All ways to holders, cut at each question of that number: before it is heard, or before its answer is."""
    count = [0]

    @contextmanager
    def link(
        peer: muniment.Peer, address: str, _key: bytes | None = None
    ) -> Iterator[Callable[[bytes], bytes]]:
        with link_to(peer, address) as ask:

            def lossy(question: bytes) -> bytes:
                count[0] += 1
                if count[0] % every:
                    return ask(question)
                if heard:
                    ask(question)
                raise Unreachable("the line is cut")

            yield lossy

    with monkeypatch.context() as patch:
        patch.setattr("muniment.custody.link_to", link)
        patch.setattr("muniment.custody_links.link_to", link)
        yield count


@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "unanswered"])
@pytest.mark.parametrize("way", WAYS)
def test_over_a_line_that_is_cut_again_and_again_each_try_goes_on(
    owner: muniment.Peer, tmp_path: Path, way: Way, heard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Giving and bringing back come to their end, though no try gets through as a whole."""
    with way(holder(tmp_path / "holder", owner)) as address:
        with cut(monkeypatch, 3, heard=heard) as count:
            tries = 0
            while not owner.made_store().custody.given():
                tries += 1
                with suppress(Unreachable):
                    Custody(owner).offer(address)
            assert tries > 2
            count[0] = 0
            assert Custody(owner).challenge().well
        (given,) = owner.made_store().custody.given()
        pack = owner.archive.packs.blobs.get(given.blob)
        shutil.rmtree(owner.home / "blobs")
        with cut(monkeypatch, 3, heard=heard):
            failures = 0
            data = b""
            while not data:
                try:
                    data = Custody(owner)._data(given.blob)
                except UnknownBlob:
                    failures += 1
        assert failures > 1
        assert data == pack
        assert owner.made_store().custody.chunks(owner.owner(), given.blob) == {}


def test_over_iroh_who_does_not_say_who_asks_gets_nothing(owner: muniment.Peer, tmp_path: Path) -> None:
    """A question before the name, a name that is no key, and a signature made for another channel are refused."""
    with by_iroh(holder(tmp_path / "holder", owner)) as address:
        from muniment.sync.iroh import dial

        me = owner.owner()
        sign = signer(owner, me)
        for kind, fields in (
            ("outline", {"blob": bytes(32)}),
            ("hello", {"by": bytes(32), "sig": bytes(64)}),
            ("hello", {"by": me, "sig": sign(codec.CALL, bytes(64))}),
        ):
            with dial(address, caller(owner, me), PROTOCOL) as link:
                (answer,) = link.exchange(write(kind, **fields))
                assert read(answer)[0] == "no"
                with pytest.raises(Unreachable):
                    link.exchange(write("outline", blob=bytes(32)))
        with link_to(owner, address) as ask:
            assert read(ask(write("outline", blob=bytes(32))))[0] == "no"
            assert read(ask(write("keep", blob=bytes(32), size=1, root=bytes(32), until=1)))[0] == "no"
