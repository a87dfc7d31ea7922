"""Sync over HTTP: `muniment serve` in a process of its own, a client in this one, both on loopback and on the disk.

    python -m benchmarks.sync_http [--quick]

Wall times need two cores that nobody else uses; the CPU time of each end is told beside them.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import common
from benchmarks.common import Report
from benchmarks.sync import CPU_US, PER_SECOND, RECORDS_PER_SECOND, WORDS

import muniment
from muniment.base.ids import BankId, parse_cid
from muniment.joining import join
from muniment.peer import Peer
from muniment.remembering import Draft, remember
from muniment.rounds import sync_route
from muniment.sharing import speaker
from muniment.syncer import Syncer

TICK = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@contextmanager
def served(home: Path) -> Iterator[tuple[str, int]]:
    """A server over a home: its address and process id."""
    (home / "config.yaml").write_text("sync:\n  background: false\n", "utf-8")
    port = free_port()
    words = [
        "-m",
        "muniment",
        "--home",
        str(home),
        "serve",
        "--listen",
        f"127.0.0.1:{port}",
        "--rate",
        "10000",
    ]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(400):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def cpu_of(process: int) -> float:
    """Processor seconds of another process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_of(process: int) -> float:
    """The most memory that another process had, MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def write(peer: Peer, bank: BankId, entries: int, acts: int, chance: random.Random) -> None:
    """Memories in single entries of so many acts each, 500 entries a transaction."""
    here = peer.bank(bank)
    key = speaker(peer, here)
    assert key is not None
    left = entries
    while left:
        with here.write():
            for _ in range(min(left, 500)):
                left -= 1
                texts = [" ".join(chance.choices(WORDS, k=12)) + f" {left} {act}" for act in range(acts)]
                remember(here, key, [Draft(text) for text in texts])


def founded(home: Path, entries: int, acts: int) -> tuple[BankId, str]:
    """A home with a shared bank; the bank and a ticket without its address."""
    with muniment.open(home) as peer:
        made = peer.agent("ava", create=True).banks.new("team")
        bank = BankId(parse_cid(made.id))
        write(peer, bank, entries, acts, random.Random(1))
    return bank, made.id


def invited(home: Path, url: str) -> str:
    """A ticket with an invite."""
    with muniment.open(home) as peer:
        ticket: str = peer.agent("ava").banks.share("team", invite="write", address=[url]).ticket
        return ticket


def catch_up(report: Report, folder: Path, entries: int, acts: int) -> None:
    """A new replica gets everything; then small differences, and news."""
    title, records = f"{entries:,} x {acts}", entries * acts
    bank, _ = founded(folder / "a", entries, acts)
    with served(folder / "a") as (url, process), muniment.open(folder / "b") as peer:
        agent = peer.agent("ben", create=True)
        ticket = invited(folder / "a", url)
        theirs, mine, begun = cpu_of(process), time.process_time(), time.perf_counter()
        done = join(peer, peer.agent_row("ben").key, None, ticket)
        wall, mine = time.perf_counter() - begun, time.process_time() - mine
        theirs = cpu_of(process) - theirs
        assert done.entries >= entries, done
        if acts == 1:
            report.add(f"entries a second, {title}", entries / wall, "/s wall", least=PER_SECOND)
        else:
            report.add(f"records a second, {title}", records / wall, "/s wall", least=RECORDS_PER_SECOND)
        report.add(f"CPU a record, client, {title}", mine / records * 1e6, "us", CPU_US if acts > 1 else None)
        report.add(f"CPU a record, server, {title}", theirs / records * 1e6, "us")
        here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        report.add(f"most memory, client / server {title}", here, "MB", 300)
        report.add(f"most memory, server, {title}", peak_of(process), "MB", 300)
        if acts == 1:
            differ(report, folder, peer, bank, url, entries)
            news(report, folder, peer, bank)
        assert agent.name == "ben"


def differ(report: Report, folder: Path, peer: Peer, bank: BankId, url: str, size: int) -> None:
    """100 entries each that the other lacks, and then nothing."""
    with muniment.open(folder / "a") as other:
        write(other, bank, 100, 1, random.Random(2))
    write(peer, bank, 100, 1, random.Random(3))
    begun = time.perf_counter()
    done = sync_route(peer, bank, url)
    report.add(f"{size:,} each, 100 apart both ways", time.perf_counter() - begun, "s wall", 1.0)
    assert (done.round.received, done.round.sent) == (100, 100), done
    begun = time.perf_counter()
    assert sync_route(peer, bank, url).done
    report.add("nothing differs, a connection of its own", (time.perf_counter() - begun) * 1e3, "ms wall")


def news(report: Report, folder: Path, peer: Peer, bank: BankId) -> None:
    """From a write by another process of the server's folder until the client's recall has it."""
    syncer = Syncer(peer)
    syncer.start()
    taken = []
    agent = peer.agent("ben")
    try:
        with muniment.open(folder / "a") as other:
            writer = other.agent("ava").bank("team")
            time.sleep(6)  # the client has to follow first
            for number in range(30):
                word = f"zebra{number}x"
                begun = time.perf_counter()
                writer.remember(f"the {word} is new")
                while not agent.bank("team").recall(word, limit=1):
                    if time.perf_counter() - begun > 10:
                        raise AssertionError("it never came")
                    time.sleep(0.002)
                taken.append(time.perf_counter() - begun)
    finally:
        syncer.stop()
    report.add("one new record seen by a peer's recall, p50", statistics.median(taken) * 1e3, "ms wall", 100)
    report.add("the same, p95", sorted(taken)[int(len(taken) * 0.95)] * 1e3, "ms wall")


def noise(report: Report, folder: Path, entries: int) -> None:
    """A silent, a babbling and a flooding peer beside one that syncs."""
    founded(folder / "a", entries, 1)
    took = []
    with served(folder / "a") as (url, _):
        ticket = [invited(folder / "a", url) for _ in range(6)]
        port = int(url.rpartition(":")[2])
        stop = threading.Event()
        for number in range(6):
            if number == 3:
                for work in (_silent, _babble, _flood):
                    threading.Thread(target=work, args=(port, stop), daemon=True).start()
                time.sleep(0.5)
            with muniment.open(folder / f"b{number}") as peer:
                peer.agent("ben", create=True)
                begun = time.perf_counter()
                join(peer, peer.agent_row("ben").key, None, ticket[number])
                took.append(time.perf_counter() - begun)
        stop.set()
    alone, beside = statistics.median(took[:3]), statistics.median(took[3:])
    report.add("catch-up beside a silent, a babbling and a flooding peer", beside / alone, "x", 1.25)


def _connection(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 5, source_address=("127.0.0.9", 0))


def _silent(port: int, stop: threading.Event) -> None:
    held = [_connection(port) for _ in range(20)]
    stop.wait()
    for one in held:
        one.close()


def _babble(port: int, stop: threading.Event) -> None:
    while not stop.wait(0.02):
        try:
            with _connection(port) as one:
                one.sendall(b"POST /sync/1 HTTP/1.1\r\nhost: 127.0.0.1\r\n" + os.urandom(400) + b"\r\n\r\n")
                one.recv(200)
        except OSError:
            continue


def _flood(port: int, stop: threading.Event) -> None:
    head = (
        b"POST /sync/1 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/vnd.muniment.sync\r\n"
        b"content-length: 64\r\n\r\n" % port
    )
    while not stop.wait(0.005):
        try:
            with _connection(port) as one:
                one.sendall(head + os.urandom(64))
                one.recv(200)
        except OSError:
            continue


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """All of it."""
    del million
    report = Report("sync over HTTP", "python -m benchmarks.sync_http")
    with common.scratch() as folder:
        catch_up(report, folder, 200 if quick else 1000, 100)
    with common.scratch() as folder:
        catch_up(report, folder, 10_000 if quick else 100_000, 1)
    with common.scratch() as folder:
        noise(report, folder, 2_000 if quick else 10_000)
    return report


def main() -> int:
    """Command line."""
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
