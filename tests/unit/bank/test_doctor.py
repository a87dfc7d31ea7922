"""What `doctor` finds: each fault is made for real, seen, and mended by what the finding says."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import muniment
from muniment.diagnosis import WHY, Finding
from muniment.doctor import examine_home, mend
from muniment.peer import Peer
from muniment.store.routes import WantedRow
from muniment.surfaces.cli import main
from muniment.testing.clock import FixedClock
from muniment.testing.older import as_format_2

DAY_MS = 86_400_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one agent and a few memories, whose index goes to the disk at once."""
    monkeypatch.setattr("muniment.recall.follow.TAIL_ROWS", 1)
    place = tmp_path / "home"
    with muniment.open(place) as peer:
        agent = peer.agent("ava", create=True)
        for number in range(3):
            agent.remember(f"tea number {number}", key=f"k{number}")
    return place


def look(home: Path, name: str, **more: object) -> list[Finding]:
    """The findings of one code word."""
    with Peer(home, **more) as peer:  # type: ignore[arg-type]
        return [one for one in peer.doctor() if one.name == name]


def repaired(home: Path) -> list[tuple[str, bool]]:
    """What a repair did."""
    with muniment.open(home) as peer:
        return [(one.name, one.done) for one in mend(peer, peer.doctor())]


def print_of(home: Path) -> dict[str, str]:
    """Every file of a folder with its mode and bytes; SQLite's shared memory says nothing."""
    return {
        str(
            path.relative_to(home)
        ): f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(home.rglob("*"))
        if path.is_file()
        and not path.name.endswith("-shm")
        and not (path.name.endswith("-wal") and not _full(path))
    }


def _full(path: Path) -> bool:
    return path.stat().st_size > 0


def bank_file(home: Path) -> Path:
    """The file of the only bank."""
    (found,) = (home / "banks").glob("*.db")
    return found


def follow(home: Path, finding: Finding) -> int:
    """Do as the command in a finding says; its exit code."""
    command = re.search(r"(muniment|chmod) .*?(?=`|$)", finding.next_step)
    assert command is not None, finding
    words = shlex.split(command[0])
    if words[0] == "chmod":
        return subprocess.run(words, check=False).returncode
    return main(words[1:])


# Faults that a repair mends: how each is made, and what the finding is called.


def _open_home(home: Path) -> None:
    home.chmod(0o755)


def _open_keyring(home: Path) -> None:
    (home / "keyring").chmod(0o644)


def _draft(home: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (home / "banks" / f".x.db.{dead.pid}-0123abcd.new").write_bytes(b"half")


def _old_draft(home: Path) -> None:
    draft = home / ".keyring.new"
    draft.write_bytes(b"half")
    os.utime(draft, (1, 1))


def _indexed(home: Path) -> Path:
    with muniment.open(home) as peer:
        bank = peer.agent("ava")._bank
        bank.tidy(force=True)
    return home / "index" / bank_file(home).stem


def _cut_index(home: Path) -> None:
    manifest = _indexed(home) / "manifest"
    manifest.write_bytes(manifest.read_bytes()[:20])


def _lost_segment(home: Path) -> None:
    folder = _indexed(home)
    max(folder.iterdir(), key=lambda path: path.stat().st_size if path.name != "manifest" else 0).unlink()


def _late_request(home: Path) -> None:
    with muniment.open(home) as peer:
        store = peer.made_store()
        store.others.want(WantedRow(peer.agent("ava")._bank.id, b"k" * 32, "read", b"", 1, 2))


def _old_format(home: Path) -> None:
    as_format_2(bank_file(home))


class Fault(NamedTuple):
    """A fault that `--repair` mends."""

    name: str
    make: Callable[[Path], None]


FAULTS = [
    Fault("permissions", _open_home),
    Fault("permissions", _open_keyring),
    Fault("leftover", _draft),
    Fault("leftover", _old_draft),
    Fault("index", _cut_index),
    Fault("index", _lost_segment),
    Fault("request", _late_request),
    Fault("format", _old_format),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.make.__name__)
def test_a_fault_is_seen_and_mended(home: Path, fault: Fault) -> None:
    """Looking changes no byte; a repair mends it, the memories are there, and a second repair does nothing."""
    assert look(home, fault.name) == []
    fault.make(home)
    before = print_of(home)
    (finding,) = look(home, fault.name)
    assert print_of(home) == before
    assert (finding.status, finding.mends, bool(finding.next_step)) == ("warn", True, True)
    assert (fault.name, True) in repaired(home)
    assert look(home, fault.name) == []
    assert repaired(home) == []
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        assert agent.check() == []
        assert len(agent.recall("tea", limit=5)) == 3


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.name != "format"], ids=lambda fault: fault.make.__name__
)
def test_what_a_finding_says_to_do_works(
    home: Path, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is typed as it stands, also for a folder that is not the usual one."""
    fault.make(home)
    (finding,) = look(home, fault.name)
    assert follow(home, finding) == 0
    assert look(home, fault.name) == []
    capsys.readouterr()


def test_a_long_log_is_shortened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was killed leaves its log; it is copied into the file, and nothing in it is lost."""
    code = (
        "import muniment, os, sys\npeer = muniment.open(sys.argv[1])\nagent = peer.agent('ava')\n"
        "agent.remember('written last', key='last')\nos._exit(0)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(home)], check=True, env={**os.environ, "PYTHONPATH": _source()}
    )
    monkeypatch.setattr("muniment.doctor_home.LIMITS", _limits(log_long_bytes=1000))
    before = print_of(home)
    findings = look(home, "log")
    assert print_of(home) == before
    assert findings
    assert all(finding.mends for finding in findings)
    assert ("log", True) in repaired(home)
    assert look(home, "log") == []
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("last").text == "written last"


def _source() -> str:
    return str(Path(muniment.__file__).parents[1])


def _limits(**changed: int) -> object:
    from dataclasses import replace

    from muniment.base.limits import LIMITS

    return replace(LIMITS, **changed)


# Faults that only a person can mend.


def test_settings_that_are_unknown(home: Path) -> None:
    """No command runs with them, but the doctor does, and names the setting."""
    (home / "config.yaml").write_text("colour: red\n")
    (finding,) = [one for one in examine_home(home) if one.name == "settings"]
    assert (finding.status, "colour" in finding.detail) == ("fail", True)


def test_an_extra_that_the_settings_need(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named as it is installed."""
    (home / "config.yaml").write_text("archive:\n  store: s3://bucket/x\n")
    monkeypatch.setitem(sys.modules, "obstore", None)
    (finding,) = [one for one in examine_home(home) if one.name == "extra"]
    assert (finding.status, finding.next_step) == ("fail", 'pip install "muniment[objects]"')


def test_a_folder_that_can_not_be_written(home: Path) -> None:
    """The right is named; for root every folder can be written."""
    if os.geteuid() == 0:
        os.chown(home, 12345, -1)
        (finding,) = look(home, "folder")
        assert (finding.status, "belongs to user 12345" in finding.detail) == ("warn", True)
        return
    home.chmod(0o500)
    (finding,) = look(home, "folder")
    assert finding.status == "fail"
    assert follow(home, finding) == 0
    assert look(home, "folder")[0].status == "ok"


@pytest.mark.parametrize(("free", "status"), [(10**6, "fail"), (10**8, "warn"), (10**12, "ok")])
def test_a_disk_that_is_nearly_full(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str
) -> None:
    """By what the system says is free."""
    usage = shutil.disk_usage(home)
    monkeypatch.setattr("muniment.doctor_home.shutil.disk_usage", lambda _: usage._replace(free=free))
    (finding,) = look(home, "disk")
    assert finding.status == status


def test_a_file_of_a_newer_version(home: Path) -> None:
    """It is left as it is."""
    with bank_file(home).open("r+b") as file:
        file.seek(60)
        file.write((99).to_bytes(4, "big"))
    before = print_of(home)
    (finding,) = look(home, "format")
    assert (finding.status, finding.mends) == ("fail", False)
    assert print_of(home) == before


def test_a_keyring_that_is_gone_cut_or_not_sealed(home: Path) -> None:
    """A key that is missing is told of the agent that needs it; one that is not sealed is a warning."""
    (finding,) = look(home, "keys")
    assert (finding.status, "not sealed" in finding.detail) == ("warn", True)
    whole = (home / "keyring").read_bytes()
    (home / "keyring").write_bytes(whole[:-10])
    assert look(home, "keys")[0].status == "fail"
    (home / "keyring").unlink()
    (finding,) = look(home, "keys")
    assert (finding.status, "agent ava" in finding.detail) == ("fail", True)
    assert repaired(home) == []
    assert not (home / "keyring").exists()


def test_a_key_that_is_not_sealed_is_sealed_as_it_says(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the command the finding is well."""
    monkeypatch.setenv("MUNIMENT_PASSPHRASE", "correct horse battery")
    assert follow(home, look(home, "keys")[0]) == 0
    (finding,) = look(home, "keys")
    assert (finding.status, "sealed by passphrase" in finding.detail) == ("ok", True)
    capsys.readouterr()


def test_a_change_of_keys_that_was_cut_off(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and not ended by looking."""
    with muniment.open(home) as peer:
        peer.made_store().set_meta("rotating", b"")
    before = print_of(home)
    assert look(home, "rotation")[0].status == "warn"
    assert print_of(home) == before


def test_a_clock_that_went_back(home: Path) -> None:
    """What was signed here lies in the future."""
    assert look(home, "clock") == []
    with muniment.open(home) as peer:
        now = peer.host.clock.now_ms()
    (finding,) = look(home, "clock", clock=FixedClock(now - 3 * DAY_MS))
    assert (finding.status, "went back" in finding.detail, "days" in finding.detail) == ("warn", True, True)


def test_a_bank_that_is_missing_or_damaged(home: Path) -> None:
    """Both fail; the other findings are there all the same."""
    file = bank_file(home)
    whole = file.read_bytes()
    middle = bytearray(whole)
    middle[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    file.write_bytes(middle)
    (finding,) = look(home, "bank")
    assert (finding.status, finding.about) == ("fail", "ava")
    file.unlink()
    (finding,) = look(home, "bank")
    assert (finding.status, "missing" in finding.detail) == ("fail", True)
    file.write_bytes(whole)
    assert look(home, "bank")[0].status == "ok"


def test_an_edited_entry_is_found_by_a_deep_look(home: Path) -> None:
    """The pages are whole, so only reading everything tells."""
    import apsw

    connection = apsw.Connection(str(bank_file(home)))
    connection.execute(
        "UPDATE bodies SET sealed = zeroblob(length(sealed)) WHERE rowid = (SELECT max(rowid) FROM bodies)"
    )
    connection.close()
    with muniment.open(home) as peer:
        assert [one.status for one in peer.doctor() if one.name == "bank"] == ["ok"]
        assert [one.status for one in peer.doctor(deep=True) if one.name == "bank"] == ["fail"]


def test_an_erasure_that_was_not_ended(home: Path) -> None:
    """A trace that a killed program left is swept by a repair."""
    with muniment.open(home) as peer:
        bank = peer.agent("ava")._bank
        with bank.store.write():
            bank.store.trace([0])
    (finding,) = look(home, "erasure")
    assert finding.mends
    assert ("erasure", True) in repaired(home)
    assert look(home, "erasure") == []


def test_memories_without_a_vector(home: Path) -> None:
    """Reindexing is named, with the agent."""
    (home / "config.yaml").write_text(
        "embedding:\n  backend: openai\n  model: m\n  api_base: http://127.0.0.1:9/v1\n"
    )
    (finding,) = look(home, "vectors")
    assert ("3 memories" in finding.detail, finding.next_step.endswith("reindex --agent ava")) == (True, True)
    (embedder,) = look(home, "embedder")
    assert (embedder.status, "takes no connection" in embedder.detail) == ("warn", True)


def test_a_grant_that_ended_and_a_bank_that_stays_attached(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The revocation and the detaching that are named work as they stand."""
    with muniment.open(home) as peer:
        ava, ben = peer.agent("ava"), peer.agent("ben", create=True)
        ava.banks.new("team")
        now = peer.host.clock.now_ms()
        ava.banks.grant("team", ben.did, "read", until=now + 60_000)
        ben.session("chat").attach("team")
    later = FixedClock(now + DAY_MS)
    (grant,) = look(home, "grant", clock=later)
    (attached,) = look(home, "attached", clock=later)
    assert (ben.did in grant.detail, "ben" in attached.detail) == (True, True)
    assert follow(home, attached) == 0
    assert look(home, "attached", clock=later) == []
    assert follow(home, grant) == 0
    assert look(home, "grant", clock=later) == []
    capsys.readouterr()


def test_what_was_not_synced_and_who_does_not_answer(home: Path) -> None:
    """By address; a repair tries once and says that it came to nothing."""
    with muniment.open(home) as peer:
        bank = peer.agent("ava")._bank.id
        peer.made_store().others.add_route(bank, "http://127.0.0.1:9", "added", 1)
    (finding,) = look(home, "outbox")
    assert (finding.status, finding.about) == ("warn", "http://127.0.0.1:9")
    assert repaired(home) == [("outbox", False)]
    (finding,) = look(home, "peer")
    assert ("last success was never" in finding.detail, finding.status) == (True, "warn")


def test_an_index_of_packs_that_is_gone_is_made_again(home: Path) -> None:
    """The packs themselves say what is in them."""
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        agent.remember("long words " * 400, key="long")
        agent.archive("long")
    with muniment.open(home) as peer:
        released = peer.agent("ava")._bank.store.figures().released
    for file in home.glob("packs.db*"):
        file.unlink()
    found = look(home, "archive")
    if released:
        assert found[0].status == "fail"
        assert repaired(home) == [("archive", True)]
    with muniment.open(home) as peer:
        assert peer.agent("ava").fetch("long").text.startswith("long words")


def test_every_code_word_has_a_test() -> None:
    """A finding that nobody makes for real is a guess; some are made where other installations are."""
    folder = Path(__file__).parents[2]
    text = "".join(path.read_text("utf-8") for path in [*folder.rglob("test_*.py")])
    elsewhere = {"program", "agents"}  # never odd
    for word in set(WHY) - elsewhere:
        assert re.search(rf'"{word}"', text), word


def test_the_table_in_the_manual_is_this_one() -> None:
    """docs/operations.md lists every code word, with why it matters."""
    manual = (Path(__file__).parents[3] / "docs" / "operations.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z ]+)` \| [^|]+ \| ([^|]+) \|", manual, re.MULTILINE))
    assert rows == WHY


def test_bodies_and_entries_that_did_not_come(home: Path) -> None:
    """A bank of which another installation held something back says what is missing."""
    import apsw

    connection = apsw.Connection(str(bank_file(home)))
    (place,) = connection.execute("SELECT max(place) FROM bodies").fetchone()
    connection.execute("DELETE FROM bodies WHERE place = ?", (place,))
    connection.execute("INSERT INTO absent VALUES (?, 0)", (place,))
    connection.execute("UPDATE entries SET verdict = 1 WHERE seq = ?", (place >> 8,))
    connection.close()
    (bodies,) = look(home, "bodies")
    (waiting,) = look(home, "waiting")
    assert (bodies.status, waiting.status) == ("warn", "warn")
    assert ("1 bodies" in bodies.detail, "1 entries" in waiting.detail) == (True, True)


def test_a_folder_that_was_copied_and_used_twice(home: Path, tmp_path: Path) -> None:
    """One key signs in two places; when both are brought together, the doctor names it."""
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    file = tmp_path / "other.car"
    with muniment.open(copy) as peer:
        peer.agent("ava").remember("written in the copy")
        peer.agent("ava").export_bank(file)
    with muniment.open(home) as peer:
        peer.agent("ava").remember("written in the original")
        peer.import_bank(file)
        did = peer.agent("ava").did
    (finding,) = look(home, "forked")
    assert (finding.status, did in finding.detail) == ("warn", True)


def test_an_older_copy_that_was_put_back(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The witness outside the folder has seen more; nothing in the folder tells."""
    monkeypatch.setenv("MUNIMENT_WITNESS", str(tmp_path / "witness"))
    with muniment.open(home) as peer:
        peer.agent("ava").remember("before the copy")
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    with muniment.open(home) as peer:
        peer.agent("ava").remember("after the copy")
    assert look(home, "witness")[0].status == "ok"
    (finding,) = look(copy, "witness")
    assert (finding.status, "rolled back" in finding.detail) == ("fail", True)
