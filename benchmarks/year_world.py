"""The two machines of the year: a program each, killed and started at will, and the wire between them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import muniment

TOP = Path(__file__).resolve().parent.parent
SOURCE = Path(muniment.__file__).resolve().parents[1]


class Failed(Exception):
    """A request came to nothing; `name` is that of the error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class Gone(Exception):
    """The program was killed before it answered."""


class Machine:
    """A peer folder and the program over it.

    Attributes:
        did: What the request of now was told to have done, item by item.
        crashes: How often it was killed; `days` since it was started last.
    """

    def __init__(self, name: str, home: Path, *, vectors: bool = False) -> None:
        self.name, self.home = name, home
        self.now = 0
        self.did: list[str] = []
        self.crashes = self.started = 0
        self._vectors = ["--vectors"] if vectors else []
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Run the program, if it does not run."""
        if self._process is None:
            path = os.pathsep.join([str(SOURCE), str(TOP), os.environ.get("PYTHONPATH", "")])
            one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.year_peer", str(self.home), *self._vectors],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TOP,
                env={**os.environ, **one_thread, "PYTHONPATH": path},
            )  # fmt: skip
            self.started = self.now
            self._answer()

    def kill(self) -> None:
        """`kill -9`; what it had told by then is taken in."""
        if self._process is not None:
            self._process.kill()
            self.crashes += 1
            self._drain()
            self._end()

    def stop(self) -> None:
        """Let it end in good order."""
        if self._process is not None:
            self.call("leave")
            self._end()

    def _end(self) -> None:
        assert self._process is not None
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        self._process.wait()
        self._process = None

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout.read().splitlines(keepends=True):
            if line.endswith("\n") and "did" in (said := json.loads(line)):
                self.did.append(said["did"])

    # Asking

    def call(self, do: str, **given: Any) -> Any:
        """Ask for something and wait for it.

        Raises:
            Failed: It answered with an error.
            Gone: It died.
        """
        self.begin(do, **given)
        while True:
            said = self._answer()
            if "did" in said:
                self.did.append(said["did"])
            else:
                return said["ok"]

    def begin(self, do: str, **given: Any) -> None:
        """Ask, and don't wait."""
        self.start()
        self.did = []
        self._say({"do": do, "now": self.now, **given})

    def _say(self, line: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            self._end()
            raise Gone(self.name)
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise Failed(said["error"], said["message"])
        return said

    def killed_in(self, chance: random.Random, within: float, do: str, **given: Any) -> None:
        """Ask, and kill the program while it works: after some answers, or some of so many seconds."""
        self.begin(do, **given)
        items = given.get("items") or given.get("versions") or []
        for _ in range(chance.randrange(len(items)) if items else 0):
            self.did.append(self._answer()["did"])
        time.sleep(chance.random() * within)
        self.kill()

    # Syncing

    def sync(self, other: Machine, bank: str, *, agent: str | None = None, cut: int | None = None) -> Any:
        """A round of this one with another; with `cut`, one of the two is killed after so many questions.

        Returns:
            Entries received and sent, and whether nothing is missing; None where it was cut.
        """
        other.start()
        self.begin("sync", bank=bank, agent=agent)
        asked = 0
        while True:
            said = self._answer()
            if "question" not in said:
                return said["ok"]
            if cut is not None and asked >= cut:
                victim = (self, other)[cut % 2]
                if victim is other:
                    other.begin("answer", bank=bank, question=said["question"], first=not asked)
                    self.kill()  # it would wait for ever: its cable is out
                victim.kill()
                return None
            answers = other.call("answer", bank=bank, question=said["question"], first=not asked)
            asked += 1
            self._say({"answers": answers})


def disk(home: Path) -> dict[str, int]:
    """Bytes of a peer folder by what they are for; `logs` are SQLite's, of a size that does not grow."""
    found = {"bank": 0, "index": 0, "packs": 0, "other": 0, "logs": 0}
    kinds = {"banks": "bank", "index": "index", "blobs": "packs"}
    for path in home.rglob("*"):
        if path.is_file():
            kind = "logs" if path.name.endswith(("-wal", "-shm")) else path.relative_to(home).parts[0]
            found[kinds.get(kind, kind if kind in found else "other")] += path.stat().st_size
    return found


def holding(homes: Sequence[Path], needles: Sequence[bytes]) -> list[str]:
    """Files in which any of these bytes stands, in any case of its letters."""
    found = []
    for home in homes:
        for path in sorted(home.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                low = data.lower()
                found += [
                    f"{path}: {needle[:20]!r}"
                    for needle in needles
                    if needle in data or needle.lower() in low
                ]
    return found
