"""Sync over HTTP with `kill -9` of either end in the middle: what was committed stays, the next sync ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import muniment
from muniment.bank_sharing import sync_now
from muniment.remembering import Draft, remember
from muniment.sharing import speaker

from .sync_noise import noise

ENTRIES = 150
BODY = "x" * 20_000


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`muniment serve` as a process of its own; its address and it. What it logs goes to `log` beside the home."""
    words = [sys.executable, "-m", "muniment", "--home", str(home), "serve", "--listen", "127.0.0.1:0"]
    log = home.with_suffix(".log")
    with log.open("ab") as out, subprocess.Popen(words, stdout=out, stderr=out, text=True) as process:
        try:
            until = time.monotonic() + 60
            while not (found := re.findall(r"serving .* at (\S+)", log.read_text())):
                assert time.monotonic() < until, log.read_text()
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield found[-1], process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
    log.write_text(re.sub(r"serving .* at \S+", "was up", log.read_text()))


def founded(home: Path) -> None:
    """Ava's bank with some MB in it, and nothing in the background."""
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("sync:\n  background: false\n")
    with muniment.open(home) as peer:
        made = peer.agent("ava", create=True).banks.new("team")
        bank = peer.bank(peer.made_store().banks()[-1].bank)
        key = speaker(peer, bank)
        assert key is not None
        assert made.name == "team"
        with bank.write():
            for number in range(ENTRIES):
                remember(bank, key, [Draft(f"{number} {BODY}")])


def test_a_server_that_is_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    """The client keeps what came, and has all of it after the server is up again; nothing secret is in the log."""
    founded(tmp_path / "ava")
    (tmp_path / "ben").mkdir(mode=0o700)
    (tmp_path / "ben" / "config.yaml").write_text("sync:\n  background: false\n")
    with muniment.open(tmp_path / "ben") as peer:
        ben = peer.agent("ben", create=True)
        with serving(tmp_path / "ava") as (url, process):
            with muniment.open(tmp_path / "ava") as other:
                shared = other.agent("ava").banks.share("team", invite="write", address=[url])

            def kill(done: int) -> None:
                if done > ENTRIES // 4:
                    os.kill(process.pid, signal.SIGKILL)

            ben.banks.import_ticket(shared.ticket, tick=kill)
        row = next(row for row in peer.made_store().banks() if row.kind == "shared")
        came = peer.bank(row.bank).store.figures().entries
        assert 0 < came < ENTRIES
        with serving(tmp_path / "ava") as (url, _):
            assert sync_now(peer, row.name, (url,)).ok
    with muniment.open(tmp_path / "ben") as peer:
        row = next(row for row in peer.made_store().banks() if row.kind == "shared")
        assert len(peer.agent("ben").bank(row.name).list(limit=1000)) == ENTRIES
    log = tmp_path.joinpath("ava.log").read_text()
    secret = re.search(r"invite=([\w-]+)", shared.ticket)
    assert secret is not None
    assert secret[1] not in log
    assert BODY[:100] not in log


def test_a_client_that_is_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    """Its file is whole each time, holds no less than before, and the last sync ends it."""
    founded(tmp_path / "ava")
    home = tmp_path / "ben"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("sync:\n  background: false\n")
    with serving(tmp_path / "ava") as (url, _):
        with muniment.open(tmp_path / "ava") as other:
            ticket = other.agent("ava").banks.share("team", invite="write", address=[url]).ticket
        with muniment.open(home) as peer:
            peer.agent("ben", create=True)
        held = 0
        for delay in (0.8, 1.2, 1.6, 2.4):
            words = [sys.executable, "-m", "muniment", "--home", str(home), "bank", "import", ticket]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(delay)
                process.kill()
            with muniment.open(home) as peer:
                shared = [row for row in peer.made_store().banks() if row.kind == "shared"]
                now = peer.bank(shared[0].bank).store.figures().entries if shared else 0
                assert now >= held
                held = now
        with muniment.open(home) as peer:
            assert peer.agent("ben").banks.import_ticket(ticket).state == "here"
            row = next(row for row in peer.made_store().banks() if row.kind == "shared")
            assert sync_now(peer, row.name).ok
            assert len(peer.agent("ben").bank(row.name).list(limit=1000)) == ENTRIES
            assert peer.agent("ben").bank(row.name).check() == []


def test_bad_neighbours_do_not_keep_a_fourth_from_syncing(tmp_path: Path) -> None:
    """A silent peer, one that sends garbage and one that floods, while another imports and comes to its end."""
    founded(tmp_path / "ava")
    stop = threading.Event()
    with serving(tmp_path / "ava") as (url, _):
        threads = noise(int(url.rpartition(":")[2]), stop)
        with muniment.open(tmp_path / "ava") as other:
            ticket = other.agent("ava").banks.share("team", invite="write", address=[url]).ticket
        with muniment.open(tmp_path / "ben") as peer:
            found = peer.agent("ben", create=True).banks.import_ticket(ticket)
        stop.set()
        for thread in threads:
            thread.join()
    assert found.state == "here"
    assert found.entries >= ENTRIES
