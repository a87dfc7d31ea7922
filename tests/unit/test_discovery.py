"""Finding peers on the LAN: what is told, what is believed, and two processes in a network of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment.base.errors import MissingExtra
from muniment.base.ids import BankId, cid_of
from muniment.base.limits import LIMITS
from muniment.discovery import Found, Lan, fields_of, mark, read_fields

ID, SALT = bytes(range(32)), b"s" * 16
BANKS = [BankId(cid_of(bytes([number, number >> 8]))) for number in range(200)]


def heard(fields: dict[str, bytes]) -> dict[bytes, bytes]:
    """The record as it arrives."""
    return {name.encode(): value for name, value in fields.items()}


def test_who_knows_a_bank_recognises_it() -> None:
    """A served bank is found by its id, another one is not."""
    found = read_fields(heard(fields_of(ID, BANKS[:3], SALT)), ["192.168.1.7"], 8378)
    assert found is not None
    assert found.address == f"iroh:{ID.hex()}@192.168.1.7:8378"
    assert [found.may_have(bank) for bank in BANKS[:4]] == [True, True, True, False]


def test_a_bank_has_another_mark_at_each_start() -> None:
    """Nobody on the LAN sees that two announcements are of one bank, nor any part of its id."""
    marks = {mark(BANKS[0], bytes([salt]) * 16) for salt in range(50)}
    assert len(marks) == 50
    told = b"".join(fields_of(ID, BANKS[:30], SALT).values())
    assert not any(bank[4:12] in told for bank in BANKS[:30])


def test_a_record_fits_however_many_banks_there_are() -> None:
    """Each field of a TXT record has at most 255 bytes, and what does not fit is left out."""
    fields = fields_of(ID, BANKS, SALT)
    assert all(len(name) + 1 + len(value) <= 255 for name, value in fields.items())
    found = read_fields(heard(fields), ["10.0.0.1"], 1)
    assert found is not None
    assert sum(map(found.may_have, BANKS)) == LIMITS.lan_banks


@pytest.mark.parametrize("place", ["8.8.8.8", "2001:4860::1", "0.0.0.0", "224.0.0.251", "host.example"])
def test_only_places_nearby_are_dialled(place: str) -> None:
    """Nobody on the LAN can send our packets to somebody else."""
    assert read_fields(heard(fields_of(ID, [], SALT)), [place], 8378) is None


@pytest.mark.parametrize(
    "changed",
    [
        {b"v": b"2"},
        {b"id": b"00"},
        {b"id": None},
        {b"id": b"\xff" * 64},
        {b"salt": b"short"},
        {b"salt": None},
    ],
    ids=str,
)
def test_records_that_say_nothing_are_dropped(changed: dict[bytes, bytes | None]) -> None:
    """Another version, no endpoint, no salt."""
    assert read_fields({**heard(fields_of(ID, [], SALT)), **changed}, ["10.0.0.1"], 8378) is None


@given(
    st.dictionaries(
        st.sampled_from([b"v", b"id", b"salt", b"m0", b"m1"]), st.none() | st.binary(max_size=80)
    ),
    st.lists(st.text(max_size=12), max_size=3),
    st.none() | st.integers(0, 70_000),
)
def test_no_record_does_harm(said: dict[bytes, bytes | None], places: list[str], port: int | None) -> None:
    """Whatever a stranger says, it is read or dropped."""
    found = read_fields({b"v": b"1", **said}, [*places, "10.0.0.1"], port)
    assert found is None or isinstance(found, Found)


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install stands in the error."""
    monkeypatch.setitem(sys.modules, "zeroconf", None)
    with pytest.raises(MissingExtra, match=r"muniment\[discovery\]"):
        Lan()


ANNOUNCE = """
import sys, time
from muniment.base.ids import BankId, cid_of
from muniment.discovery import Lan
bank = BankId(cid_of(b"bank"))
with Lan(["127.0.0.1"]) as lan:
    lan.announce(bytes(32), ["127.0.0.1:8378"], [], b"s" * 16)
    lan.announce(bytes(32), ["127.0.0.1:8378"], [bank], b"s" * 16)
    print("announced", flush=True)
    sys.stdin.read()
    assert lan.found() == [], "it found itself"
"""
FIND = """
import subprocess, sys, time
from muniment.base.ids import BankId, cid_of
from muniment.discovery import Lan
bank = BankId(cid_of(b"bank"))
other = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert other.stdout.readline() == b"announced\\n"
with Lan(["127.0.0.1"]) as lan:
    until = time.monotonic() + 30
    while not any(found.may_have(bank) for found in lan.found()):
        assert time.monotonic() < until, "nobody was found"
        time.sleep(0.05)
    (found,) = lan.found()
    print(found.address)
    other.communicate(b"")
    while lan.found():
        assert time.monotonic() < until, "it stays after its end"
        time.sleep(0.05)
print("gone", other.returncode)
"""


def test_two_processes_find_each_other() -> None:
    """In a network of their own, where nothing else is: one announces, the other finds it, and sees it go."""
    pytest.importorskip("zeroconf", reason="needs the extra discovery")
    if not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("needs network namespaces")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs network namespaces")
    set_up = 'ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo && exec "$@"'
    source = str(Path(muniment.__file__).parents[1])
    # The guard would refuse multicast; there is no network here that it could reach.
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", set_up, "sh", sys.executable, "-c", FIND, ANNOUNCE],
        env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.split() == [f"iroh:{'00' * 32}@127.0.0.1:8378", "gone", "0"]
