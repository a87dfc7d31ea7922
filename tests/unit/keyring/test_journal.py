"""The journal of what this installation signed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment.base.errors import FutureFormat, StoreFull
from muniment.base.ids import BankId, EntryId, cid_of
from muniment.keyring import journal as module
from muniment.keyring.journal import Journal, JournalSlot
from muniment.platform.folders import PeerFolder

BANK = BankId(cid_of(b"bank"))
KEY = b"k" * 32
IDS = [cid_of(bytes([number])) for number in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> PeerFolder:
    """A peer folder; not made yet."""
    return PeerFolder(tmp_path / "home")


def only_file(folder: PeerFolder) -> Path:
    """The one file of the folder."""
    (path,) = (folder.path / "journal").iterdir()
    return path


def test_reading_makes_nothing(folder: PeerFolder) -> None:
    """A look at a journal that is not there gives None and no file."""
    assert Journal(folder).read(BANK, KEY) is None
    assert not folder.exists()


def test_the_last_two_ids_are_kept(folder: PeerFolder) -> None:
    """After any number of records the slot names the newest id and the one before it, also for another process."""
    journal = Journal(folder)
    last: EntryId | None = None
    for number, entry in enumerate(IDS, 1):
        journal.record(BANK, KEY, last, entry)
        wanted = JournalSlot(last, entry, number)
        assert journal.read(BANK, KEY) == wanted
        other = Journal(folder)
        assert other.read(BANK, KEY) == wanted
        other.close()
        last = entry
    journal.close()
    journal.close()


def test_banks_and_keys_are_apart(folder: PeerFolder) -> None:
    """A record for one bank and key says nothing about another."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    assert journal.read(BankId(cid_of(b"other")), KEY) is None
    assert journal.read(BANK, b"x" * 32) is None
    journal.close()


def test_two_processes_take_turns(folder: PeerFolder) -> None:
    """Writers that alternate, each with its own descriptors, make one chain."""
    one, two = Journal(folder), Journal(folder)
    one.record(BANK, KEY, None, IDS[0])
    two.record(BANK, KEY, IDS[0], IDS[1])
    one.record(BANK, KEY, IDS[1], IDS[2])
    assert two.read(BANK, KEY) == JournalSlot(IDS[1], IDS[2], 3)
    one.close()
    two.close()


def test_a_torn_write_leaves_the_slot_before_it(folder: PeerFolder) -> None:
    """Wherever the newest slot was cut or any byte of it spoilt, the one before is read, and writing goes on."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    journal.record(BANK, KEY, IDS[0], IDS[1])
    journal.record(BANK, KEY, IDS[1], IDS[2])
    journal.close()
    path = only_file(folder)
    whole = path.read_bytes()
    before = JournalSlot(IDS[0], IDS[1], 2)
    used = module._SLOT.size + 16
    for at in range(used):
        spoilt = bytearray(whole)
        spoilt[module.STRIDE + at] ^= 0x40
        path.write_bytes(spoilt)
        assert Journal(folder).read(BANK, KEY) == before
        path.write_bytes(whole[: module.STRIDE + at] + b"\0" * (module.SLOT_BYTES - at))
        assert Journal(folder).read(BANK, KEY) == before
    path.write_bytes(whole[: module.STRIDE + 9])
    again = Journal(folder)
    assert again.read(BANK, KEY) == before
    again.record(BANK, KEY, IDS[1], IDS[3])
    assert again.read(BANK, KEY) == JournalSlot(IDS[1], IDS[3], 3)
    again.close()


@pytest.mark.parametrize("data", [b"", b"\0" * 4352, b"\0" * 9000, b"junk" * 2000, b"x"])
def test_a_file_without_a_whole_slot_says_nothing(folder: PeerFolder, data: bytes) -> None:
    """An empty file, zeros after a power cut or junk read as None, and the next record starts over."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    path = only_file(folder)
    path.write_bytes(data)
    assert journal.read(BANK, KEY) is None
    journal.record(BANK, KEY, IDS[0], IDS[1])
    assert journal.read(BANK, KEY) == JournalSlot(IDS[0], IDS[1], 1)
    journal.close()


def test_a_slot_of_another_bank_is_not_believed(folder: PeerFolder) -> None:
    """A journal file copied to another bank's name is no journal of that bank."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    other = BankId(cid_of(b"other"))
    data = only_file(folder).read_bytes()
    (folder.path / "journal" / module._name(other, KEY)).write_bytes(data)
    assert journal.read(other, KEY) is None
    journal.close()


def test_a_newer_journal_is_left_alone(folder: PeerFolder) -> None:
    """A slot of a later version is refused, and not written over."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    path = only_file(folder)
    path.write_bytes(path.read_bytes().replace(b"journal/1\n", b"journal/2\n"))
    before = path.read_bytes()
    with pytest.raises(FutureFormat):
        journal.read(BANK, KEY)
    with pytest.raises(FutureFormat):
        journal.record(BANK, KEY, IDS[0], IDS[1])
    assert path.read_bytes() == before
    journal.close()


def test_a_replaced_file_is_opened_again(folder: PeerFolder) -> None:
    """A backup put back under a running process is what is read and written from then on."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    path = only_file(folder)
    backup = path.read_bytes()
    journal.record(BANK, KEY, IDS[0], IDS[1])
    path.unlink()
    path.write_bytes(backup)
    assert journal.read(BANK, KEY) == JournalSlot(None, IDS[0], 1)
    journal.record(BANK, KEY, IDS[0], IDS[2])
    assert Journal(folder).read(BANK, KEY) == JournalSlot(IDS[0], IDS[2], 2)
    journal.close()


def test_few_files_stay_open(folder: PeerFolder) -> None:
    """A peer with many banks does not run out of descriptors, and none is lost."""
    journal = Journal(folder)
    banks = [BankId(cid_of(b"b%d" % number)) for number in range(module.OPEN_FILES + 10)]
    for bank in banks:
        journal.record(bank, KEY, None, IDS[0])
    assert len(journal._handles) == module.OPEN_FILES
    assert all(journal.read(bank, KEY) for bank in banks)
    journal.close()
    assert not journal._handles


@pytest.mark.filterwarnings(
    "ignore:.*fork.*:DeprecationWarning"
)  # other threads of the test run have no part in it
def test_a_forked_process_opens_its_own(folder: PeerFolder) -> None:
    """A child writes through its own descriptors, and its parent reads what it wrote."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])
    child = os.fork()
    if not child:
        try:
            journal.record(BANK, KEY, IDS[0], IDS[1])
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert journal.read(BANK, KEY) == JournalSlot(IDS[0], IDS[1], 2)
    journal.close()


def test_a_full_disk_is_named(folder: PeerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the slot can't be written the caller hears it before it commits, and the old slot stands."""
    journal = Journal(folder)
    journal.record(BANK, KEY, None, IDS[0])

    def no_space(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", no_space)
        with pytest.raises(StoreFull):
            journal.record(BANK, KEY, IDS[0], IDS[1])
    assert journal.read(BANK, KEY) == JournalSlot(None, IDS[0], 1)
    journal.close()
