"""The format does not change: everything signed or sealed has the bytes that it had, and bad bytes stay bad."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from muniment.base import codec
from muniment.base.errors import RefusedEntry
from muniment.base.ids import BankId, EntryId, parse_cid, parse_record, parse_version
from muniment.identity import keys
from muniment.identity.did import parse_did
from muniment.ledger import acts, claims, control
from muniment.ledger import entry as entries
from muniment.ledger.control import EpochId

HERE = Path(__file__).parent
VECTORS: dict[str, Any] = json.loads((HERE / "vectors.json").read_text("utf-8"))
BANK = BankId(bytes.fromhex(VECTORS["ids"]["bank"]["cid"]))


def load() -> Any:
    """The generator, as a module."""
    spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = load()


def raw(text: str) -> bytes:
    """Hex, read."""
    return bytes.fromhex(text)


@pytest.mark.parametrize("part", VECTORS)
def test_what_is_written_has_the_bytes_that_it_had(part: str) -> None:
    """The code gives the committed bytes for the committed seeds, and nothing is left out of the file."""
    made = make.as_hex(make.vectors())
    assert made.keys() == VECTORS.keys()
    assert made[part] == VECTORS[part]


def test_every_kind_has_a_vector() -> None:
    """Each sealed act, each control act and each reason to refuse is in the files."""
    sealed = {act.code for act in make.ACTS.values()}
    assert sealed == {
        acts.REMEMBER,
        acts.VECTOR,
        acts.ARCHIVE,
        acts.FORGET,
        acts.FEEDBACK,
        acts.DESCRIBE,
        acts.SET,
    }
    in_clear = {
        codec.decode(raw(act), 1 << 20)["k"]
        for entry in VECTORS["entries"].values()
        for act in entry["control"]
    }
    assert in_clear == {
        *(control.FOUND, control.GRANT, control.REVOKE, control.EPOCH),
        *(control.SHARE, control.POLICY, control.ERASE, control.INVITE),
    }
    files = {path.stem.replace("_", " ") for path in (HERE / "bad").glob("*.hex")}
    assert files == set(entries.REASONS)


@pytest.mark.parametrize("name", VECTORS["keys"])
def test_the_keys_are_those_of_their_seeds(name: str) -> None:
    """Seed, public key and DID belong together, by another implementation of the same standard too."""
    vector = VECTORS["keys"][name]
    assert bytes(SigningKey(raw(vector["seed"])).verify_key).hex() == vector["public"]
    assert parse_did(vector["did"]).hex() == vector["public"]


def test_the_text_forms_read_back() -> None:
    """Ids, record ids and versions."""
    ids = VECTORS["ids"]
    assert parse_cid(ids["bank"]["text"]).hex() == ids["bank"]["cid"]
    assert parse_record(ids["record"]["text"]).hex() == ids["record"]["bytes"]
    version = parse_version(ids["version"]["text"])
    assert (version.entry.hex(), version.act) == (ids["version"]["entry"], ids["version"]["act"])


@pytest.mark.parametrize("name", VECTORS["entries"])
def test_an_old_entry_still_verifies(name: str) -> None:
    """The committed envelope is taken, is what its id says, and says what it said."""
    vector = VECTORS["entries"][name]
    entry = entries.verify(raw(vector["envelope"]), BANK)
    header, signature = codec.decode(raw(vector["envelope"]), 1 << 20)
    assert header.hex() == vector["header"]
    seeds = {person["public"]: person["seed"] for person in VECTORS["keys"].values()}
    signer = SigningKey(raw(seeds[entry.header.by.hex()]))
    assert signer.sign(b"muniment/entry/1\0" + header).signature == signature
    digest = hashlib.sha256(raw(vector["envelope"])).hexdigest()
    assert entry.id.hex() == vector["id"] == "01711220" + digest
    assert entries.header_bytes(entry.header) == header
    assert [codec.encode(control.to_map(act)).hex() for act in entry.header.ctl] == vector["control"]


@pytest.mark.parametrize("name", VECTORS["bodies"])
def test_an_old_body_still_opens(name: str) -> None:
    """The committed body matches its signed hash, opens with its epoch's key, and is the act that it was."""
    vector, index = VECTORS["bodies"][name], list(VECTORS["bodies"]).index(name)
    header = entries.verify(raw(VECTORS["entries"]["acts"]["envelope"]), BANK).header
    ref = header.acts[index]
    entries.check_body(ref, raw(vector["sealed"]))
    assert header.epoch is not None
    bound_to = entries.associated(BANK, header.epoch, header.by, ref.kind, index)
    assert bound_to.hex() == vector["associated"]
    plain = entries.open_body(raw(VECTORS["epoch"]["key"]), raw(vector["sealed"]), bound_to)
    assert plain.hex() == vector["plain"]
    act = acts.from_bytes(ref.kind, plain)
    assert acts.to_bytes(act) == plain
    assert type(act) is type(make.ACTS[name])
    if isinstance(act, acts.Remember):
        assert acts.content_digest(act).hex() == VECTORS["digests"][name]["content"]


def test_an_old_epoch_still_opens() -> None:
    """Box, commitment and link of the committed epochs lead from a reader's key to both epoch keys."""
    newer = entries.verify(raw(VECTORS["entries"]["epoch, opens the first"]["envelope"]), BANK).header.ctl[0]
    older = entries.verify(raw(VECTORS["entries"]["epoch, first"]["envelope"]), BANK)
    assert isinstance(newer, control.Epoch)
    carol = keys.keypair(raw(VECTORS["keys"]["carol"]["seed"]))
    key = keys.unbox(carol, dict(newer.boxes)[carol.public])
    assert key.hex() == VECTORS["epoch"]["key"]
    said = hashlib.sha256(b"muniment/epoch/1\0" + BANK + newer.salt + key).digest()
    assert said == newer.commitment == raw(VECTORS["epoch"]["commitment"])
    ((named, link),) = newer.older
    assert named == EpochId(older.id, 0)
    bound_to = b"muniment/link/1\0" + codec.encode([BANK, list(named)])
    first = older.header.ctl[0]
    assert isinstance(first, control.Epoch)
    old_key = keys.unseal(key, link, bound_to)
    assert hashlib.sha256(b"muniment/epoch/1\0" + BANK + first.salt + old_key).digest() == first.commitment


def test_an_old_box_still_opens() -> None:
    """The committed box opens with its key."""
    vector = VECTORS["box"]
    assert (
        keys.unbox(keys.keypair(raw(VECTORS["keys"]["wim"]["seed"])), raw(vector["box"])).hex()
        == vector["message"]
    )


@pytest.mark.parametrize("reason", entries.REASONS)
def test_bad_bytes_are_refused_for_their_reason(reason: str) -> None:
    """Each committed bad file is refused, and for the reason that it is named after."""
    lines = (HERE / "bad" / f"{reason.replace(' ', '_')}.hex").read_text("utf-8").split()
    parts = [(line.partition("*")[0], int(line.partition("*")[2] or 1)) for line in lines]
    data = b"".join(raw(text) * count for text, count in parts)
    with pytest.raises(RefusedEntry) as caught:
        entries.verify(data, BANK)
    assert caught.value.reason == reason


def test_a_claim_is_read_as_it_is_written() -> None:
    """The claim opens to its fields, and both signatures hold under the domain of claims alone."""
    made = VECTORS["claim"]
    claim = claims.check_claim(raw(made["claim"]), BANK, raw(made["invite"]["key"]))
    assert claim.joiner == raw(made["joiner"])
    assert claim.nonce == raw(made["nonce"])
    assert claim.invite == EpochId(EntryId(raw(made["invite"]["entry"])), made["invite"]["act"])
    assert claim.signed() == raw(made["signed"])
