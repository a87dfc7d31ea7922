"""`kill -9` at any moment loses nothing that was acknowledged and leaves nothing half-applied (design section 6)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import UnknownRecord

WORKERS = Path(__file__).parent / "workers.py"
KILLS = 200
WRITERS, READERS = 3, 4


class Program:
    """A worker, and the lines it has printed so far."""

    def __init__(self, role: str, home: Path, *more: str) -> None:
        source = str(Path(muniment.__path__[0]).parent)
        guard = os.environ.get("PYTHONPATH", "")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(WORKERS), role, str(home), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([source, guard]), "OMP_NUM_THREADS": "1"},
        )
        self.lines: list[str] = []
        self.errors = b""
        self.ready = threading.Event()
        self._came = threading.Condition()
        self._at = 0
        self._threads = [threading.Thread(target=self._listen), threading.Thread(target=self._hear)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._came:
                self.lines.append(line.decode().rstrip("\n"))
                self._came.notify_all()
            self.ready.set()
        self.ready.set()

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def started(self) -> Program:
        """Wait until it has opened the folder."""
        assert self.ready.wait(120)
        assert self.lines, self.errors.decode()
        return self

    def tell(self, name: str) -> str:
        """Have a nursery start a writer; its first line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        return self.wait_for(f"ready {name} ")

    def wait_for(self, start: str) -> str:
        """The next line that starts so."""
        with self._came:
            found = self._came.wait_for(
                lambda: next((x for x in self.lines[self._at :] if x.startswith(start)), None), 120
            )
            assert found, (start, self.lines[-3:], self.errors)
            self._at = self.lines.index(found, self._at)
            return found

    def kill(self) -> list[str]:
        """End it at once; it must have lived until then. Returns what it said."""
        gone = self.process.poll()
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        assert gone is None, f"ended by itself with {gone}: {self.errors.decode()}"
        return self.lines


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A peer folder with an agent and a first memory."""
    with muniment.open(tmp_path / "peer") as peer:
        peer.agent("ava", create=True).remember("the first of all")
    return tmp_path / "peer"


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    """Programs that are ended with the test, whatever became of it."""
    started: list[Program] = []
    yield started
    for program in started:
        if program.process.poll() is None:
            program.process.send_signal(signal.SIGKILL)
            program.process.wait()


def hold(agent: Agent, lines: list[str]) -> int:
    """Find every acknowledged write of one writer; returns how many there were."""
    count = 0
    open_batches = {line.split()[1] for line in lines if line.startswith("begin ")}
    for line in lines:
        kind, *words = line.split()
        if kind in {"one", "keyed"}:
            mark, version = words
            record = agent.get(version)
            assert mark in record.text
            assert record.state == "live" if kind == "one" else record.state in {"live", "superseded"}
            if record.state == "live":
                assert version in recalled(agent, mark), mark
        elif kind == "batch":
            mark, *versions = words
            open_batches.discard(mark)
            assert [agent.get(version).text for version in versions] == [
                f"batch {mark}x{part}" for part in range(4)
            ]
            for part in (0, 2):
                assert versions[part] in recalled(agent, f"{mark}x{part}")
        elif kind == "forgot":
            assert f"hidden {words[0]}" not in [
                hit.record.text for hit in agent.recall(words[0], context=False)
            ]
        else:
            continue
        count += 1
    for mark in open_batches:  # it was killed in the middle: then all four are there, or none
        parts = {bool(recalled(agent, f"{mark}x{part}")) for part in (0, 2)}
        try:
            kept = [record.text for record in agent.history(mark.partition("n")[0])]
        except UnknownRecord:
            kept = []
        parts |= {f"batch {mark}x{part}" in kept for part in (1, 3)}
        assert len(parts) == 1, mark
    return count


def recalled(agent: Agent, token: str) -> list[str]:
    """The versions found by a token that is in their text."""
    hits = agent.recall(token, context=False)
    return [hit.record.version for hit in hits if token in hit.record.text.split()]


@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost_by_200_kills(home: Path, programs: list[Program]) -> None:
    """200 writers die at random moments while three others write and four read; every acknowledged write is found."""
    chance = random.Random(os.urandom(8))
    others = [Program("write", home, f"w{n}", "0.02") for n in range(WRITERS)]
    others += [Program("read", home) for _ in range(READERS)]
    nursery = Program("nursery", home)
    programs += [*others, nursery]
    for program in programs:
        program.started()
    for number in range(KILLS):
        pid = int(nursery.tell(f"v{number}").split()[2])
        time.sleep(0.12 * chance.random() ** 2)
        os.kill(pid, signal.SIGKILL)
        assert nursery.wait_for(f"ended v{number} ").endswith(f" {signal.SIGKILL:d}"), nursery.errors
        assert all(program.process.poll() is None for program in others), [p.errors for p in others]
    said = [program.kill() for program in [*others, nursery]]
    with muniment.open(home) as peer:
        agent = peer.agent("ava")
        assert agent.check() == []
        assert sum(hold(agent, lines) for lines in said) > KILLS
        assert agent.verify().ok
        before = sorted(record.version for record in everything(agent))
        assert agent.check(rebuild=True) == []
        assert sorted(record.version for record in everything(agent)) == before
        assert agent.remember("after all").created
    shutil.rmtree(home / "index")
    with muniment.open(home) as peer:
        assert recalled(peer.agent("ava"), "after")


def everything(agent: Agent) -> list[muniment.Record]:
    """All live records."""
    out: list[muniment.Record] = []
    while page := agent.list(limit=1000, offset=len(out)):
        out += page
    return out
