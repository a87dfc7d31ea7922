"""Whole banks as files: they come back, prove themselves, and show what was done to them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.agent import Agent
from muniment.base import codec
from muniment.base.errors import MunimentError, NotPermitted, RefusedFile, UnknownBank
from muniment.base.ids import cid_of, cid_text
from muniment.base.limits import LIMITS
from muniment.carried import verify_file
from muniment.carrying import carry_out
from muniment.identity import keys
from muniment.peer import Peer
from muniment.portable import car, manifest
from muniment.testing.clock import TickingClock
from muniment.testing.ledger import Script
from muniment.testing.replicas import Replicas

GOLDEN = Path(__file__).parents[2] / "golden" / "bank.car"
MakePeer = Callable[..., Peer]
PAIR = keys.keypair(bytes(range(32)))


def filled(agent: Agent, at: Callable[[int], None] = lambda _ms: None) -> Agent:
    """A memory with versions, a forgotten one and one of many acts; `at` is told the time of each write."""
    at(2)
    agent.remember("The deadline is 1 May", key="deadline")
    at(3)
    agent.remember("The deadline is 1 June", key="deadline", tags=["plan"])
    at(4)
    gone = agent.remember("never mind").id
    at(5)
    agent.forget(gone)
    return agent


@pytest.fixture
def carried(peer: Peer, tmp_path: Path) -> tuple[Agent, Path]:
    """An agent, and its bank in a file."""
    agent = filled(peer.agent("ava", create=True))
    agent.export_bank(tmp_path / "ava.car")
    return agent, tmp_path / "ava.car"


def blocks(path: Path) -> list[tuple[bytes, bytes]]:
    """The blocks of a file: CIDs and bytes."""
    with car.Reader(path) as reader:
        return [(block.cid, block.data) for block in reader.blocks()]


def written(path: Path, found: list[tuple[bytes, bytes]]) -> Path:
    """A file of these blocks, the first of them its root."""
    path.write_bytes(car.header(cid_of(found[0][1])) + b"".join(car.block(cid, data) for cid, data in found))
    return path


def signed(fields: dict[str, Any], *, by: keys.KeyPair = PAIR) -> tuple[bytes, bytes]:
    """A manifest block by a key."""
    data = codec.encode({**fields, "by": by.public})
    root = codec.encode([data, keys.sign(by.secret, codec.EXPORT, data)])
    return cid_of(root), root


def manifest_fields(path: Path) -> dict[str, Any]:
    """What a file's manifest says."""
    fields: dict[str, Any] = codec.decode(codec.decode(blocks(path)[0][1], 1 << 20)[0], 1 << 20)
    return fields


def test_a_stranger_proves_a_file_without_any_key(carried: tuple[Agent, Path]) -> None:
    """From the bytes alone: every entry counts, every body is there, nothing could be opened."""
    agent, path = carried
    report = verify_file(path)
    assert report.ok
    assert (report.bank, report.entries, report.counts) == (agent.bank_id, 6, 6)
    assert (report.bodies, report.opened, report.missing) == (4, 0, ())
    assert report.file is not None
    assert report.file["exported_by"] == agent.did


def test_with_keys_the_bodies_are_opened_too(carried: tuple[Agent, Path], peer: Peer) -> None:
    """The agent's own keyring opens all of them."""
    report = verify_file(carried[1], keyring=peer.host.keyring)
    assert (report.ok, report.opened, report.shut) == (True, 4, 0)


def test_a_file_taken_in_elsewhere_is_the_same_bank(carried: tuple[Agent, Path], make_peer: MakePeer) -> None:
    """A peer that has no key of it holds all of it, passes it on bit by bit, and reads nothing."""
    agent, path = carried
    other = make_peer("other")
    report = other.import_bank(path)
    assert (report.new, report.added, report.refused_count, report.readable) == (True, 6, 0, False)
    again = other.import_bank(path)
    assert (again.new, again.added, again.known) == (False, 0, 6)
    bank = other.bank(agent._bank.id)
    assert {row.id for row in bank.store.entries()} == {row.id for row in agent._bank.store.entries()}
    eve = other.agent("eve", create=True)
    with pytest.raises(NotPermitted):
        eve.bank(agent.bank_id).verify()
    with pytest.raises(NotPermitted):
        eve.bank(agent.bank_id).export_bank(path.with_name("x.car"))
    assert not path.with_name("x.car").exists()


def test_a_lost_bank_comes_back_from_its_file(carried: tuple[Agent, Path], make_peer: MakePeer) -> None:
    """Memories written after the export stay, those before it are there already."""
    agent, path = carried
    agent.remember("written later")
    peer = agent.peer
    assert peer.import_bank(path).added == 0
    assert {record.text for record in agent.list()} == {"The deadline is 1 June", "written later"}


def test_an_unknown_bank_is_named(peer: Peer, tmp_path: Path) -> None:
    """There is nothing to write where the bank is not here."""
    with pytest.raises(UnknownBank):
        filled(peer.agent("ava", create=True)).bank("nobody").export_bank(tmp_path / "x.car")


def test_blobs_travel_with_the_bank(carried: tuple[Agent, Path], tmp_path: Path) -> None:
    """Each is named by its BLAKE3 and counted in the manifest."""
    agent, _ = carried
    blob = b"sealed payload" * 100
    agent.export_bank(tmp_path / "b.car", blobs={blake3(blob).digest(): blob})
    report = verify_file(tmp_path / "b.car")
    assert report.ok
    assert report.file is not None
    assert report.file["blobs"] == 1


# What was done to a file


def edit(change: str, found: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """A file's blocks, changed."""
    place = {"entry": len(found) - 2, "body": len(found) - 1, "head": len(found) - 2, "founding": 1}[change]
    return found[:place] + found[place + 1 :]


@pytest.mark.parametrize("change", ["entry", "body", "founding"])
def test_what_was_taken_out_is_missed(carried: tuple[Agent, Path], change: str) -> None:
    """An entry is named by those after it or by the manifest, a body by its entry."""
    _, path = carried
    report = verify_file(written(path, edit(change, blocks(path))))
    assert not report.ok
    assert report.missing


def test_an_entry_that_was_never_signed_is_refused_by_name(carried: tuple[Agent, Path]) -> None:
    """Forged under the author's name: `refused`, with the reason."""
    agent, path = carried
    found = blocks(path)
    header = codec.decode(found[-2][1], 1 << 20)[0]
    forged = codec.encode([header, bytes(64)])
    report = verify_file(written(path, [*found, (cid_of(forged), forged)]))
    assert "bad signature" in {reason for _, reason in report.refused}
    taken = agent.peer.import_bank(path)
    assert [reason for _, reason in taken.refused] == ["entry refused: bad signature"]


def test_a_body_that_nobody_names_is_told(carried: tuple[Agent, Path]) -> None:
    """The exporter's own counts don't agree with it."""
    _, path = carried
    stray = bytes(300)
    found = [*blocks(path), (car.body_cid(hashlib.sha256(stray).digest()), stray)]
    assert not verify_file(written(path, found)).ok


def test_void_entries_are_listed_and_are_no_fault(tmp_path: Path) -> None:
    """What a cut key signed is in the file, without effect, with its author and the reason."""
    with Replicas(tmp_path / "r", ["carol", "wim"]) as replicas:
        replicas.found({"carol": "admin(0)"}, agent=None)
        carol, wim = replicas.at("carol"), replicas.at("wim")
        carol.grant("wim", "write")
        replicas.carry("carol", "wim")
        carol.revoke("wim")
        wim.remember("too late")
        replicas.carry("wim", "carol")
        carry_out(carol.bank, replicas.keys["carol"], tmp_path / "v.car")
        report = verify_file(tmp_path / "v.car")
        assert report.ok
        assert report.void == 1
        assert report.void_listed[0][2] == "cut"


def test_of_two_signatures_over_one_header_one_counts(tmp_path: Path) -> None:
    """A proof from the file says the same as the bank: the smaller id counts, the other is a duplicate."""
    script = Script()
    script.found({"carol": "admin(0)"})
    entry = script.data("carol")
    twin = script.twin(entry, smaller=True)
    found = [(held.id, held.envelope) for held in script.entries.values()]
    heads = sorted((entry.id, twin.id))
    fields = {
        "v": 1,
        "bank": script.bank,
        "at": 1,
        "heads": heads,
        "entries": len(found),
        "bodies": 0,
        "blobs": 0,
    }
    report = verify_file(written(tmp_path / "twins.car", [signed(fields), *found]))
    void = [(name, reason) for name, _, reason in report.void_listed]
    assert void == [(cid_text(entry.id), "duplicate header")]


BAD: dict[str, Callable[[Path], bytes]] = {
    "no archive": lambda path: b"not an archive at all, " * 20,
    "bad length": lambda path: path.read_bytes() + b"\x81\x00" + bytes(40),
    "oversize": lambda path: (
        path.read_bytes() + car.varint(36 + LIMITS.body_bytes + 1) + car.body_cid(bytes(32))
    ),
    "cut short": lambda path: path.read_bytes()[:-7],
    "foreign block": lambda path: path.read_bytes() + car.varint(40) + b"\x01\x70\x12\x20" + bytes(36),
    "wrong hash": lambda path: path.read_bytes()[:-1] + b"\xff",
    "no manifest": lambda path: written(path, blocks(path)[1:]).read_bytes(),
    "bad signature": lambda path: written(path, [unsigned(path), *blocks(path)[1:]]).read_bytes(),
    "wrong bank": lambda path: written(
        path, [signed({**manifest_fields(path), "bank": cid_of(b"other")}), *blocks(path)[1:]]
    ).read_bytes(),
}
EARLY = {"no archive", "no manifest", "bad signature"}  # nothing of such a file can be told at all


def unsigned(path: Path) -> tuple[bytes, bytes]:
    """The manifest with a signature of nobody's."""
    root = codec.encode([codec.decode(blocks(path)[0][1], 1 << 20)[0], bytes(64)])
    return cid_of(root), root


def test_every_reason_has_a_bad_file() -> None:
    """Each rule of the format is broken once below."""
    assert set(BAD) == set(car.REASONS)


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_file_is_refused_for_its_reason(
    carried: tuple[Agent, Path], make_peer: MakePeer, reason: str
) -> None:
    """By the import always; a proof goes as far as it can and then names it."""
    _, path = carried
    path.write_bytes(BAD[reason](path))
    if reason in EARLY:
        with pytest.raises(RefusedFile) as caught:
            verify_file(path)
        assert caught.value.reason == reason
    else:
        report = verify_file(path)
        assert not report.ok
        told = [text for _, text in report.refused] + [text for _, _, text in report.missing]
        assert any(reason in text or text in {"wrong bank", "the founding entry"} for text in told)
    with pytest.raises(RefusedFile) as caught:
        make_peer("other").import_bank(path)
    assert caught.value.reason == reason


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=8), st.booleans())
def test_any_damage_ends_in_one_of_our_errors_or_is_told(
    tmp_path: Path, at: int, noise: bytes, cut: bool
) -> None:
    """Bytes written or cut anywhere: an error of ours, or a report that is not well; never another error."""
    data = bytearray(GOLDEN.read_bytes())
    at %= len(data)
    whole = bytes(data)
    if cut:
        del data[at:]
    else:
        data[at : at + len(noise)] = noise
    (path := tmp_path / "damaged.car").write_bytes(data)
    try:
        report = verify_file(path)
    except MunimentError:
        return
    assert report.ok == (bytes(data) == whole)


def test_the_format_of_the_file_does_not_change(
    make_peer: MakePeer, clock: TickingClock, tmp_path: Path
) -> None:
    """The same bank by the same keys at the same times gives the committed bytes."""
    clock.step, start = 0, clock.ms  # set by hand: how often somebody looks at it is no part of the format

    def at(ms: int) -> None:
        clock.ms = start + ms

    agent = filled(make_peer("golden", seed=7).agent("ava", create=True), at)
    at(8)
    agent.export_bank(tmp_path / "bank.car")
    assert (tmp_path / "bank.car").read_bytes() == GOLDEN.read_bytes()


def test_a_manifest_with_too_many_heads_is_not_written(peer: Peer) -> None:
    """The cap holds for whoever writes, so that every reader takes what is written."""
    bank = filled(peer.agent("ava", create=True))._bank.id
    heads = tuple(sorted(cid_of(number.to_bytes(3)) for number in range(LIMITS.export_heads + 1)))
    with pytest.raises(MunimentError, match="heads"):
        manifest.write(manifest.Manifest(bank, PAIR.public, 1, heads, 1, 0, 0), lambda domain, data: b"")
