"""Programs that the fault tests start and kill: writers and readers of one peer folder. Run as `workers.py ROLE …`.

What a writer prints, it prints after `remember` returned: the parent holds the bank to each line.
"""

from __future__ import annotations

import os
import sys
import time

import muniment
from muniment.peer import Peer
from muniment.remembering import Draft


def say(*words: object) -> None:
    """One line to the parent, in one system call, so that a kill can't leave half of it."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def write(peer: Peer, name: str, pause: str = "0") -> None:
    """Remember for ever: single memories, versions of keys, batches over several entries, forgets, and tidying."""
    agent = peer.agent("ava")
    say("ready", name, os.getpid())
    number = 0
    while True:
        number += 1
        mark = f"{name}n{number}"
        time.sleep(float(pause))
        kind = number % 8
        if kind == 3:
            # A batch with a key that comes twice is two entries in one transaction.
            drafts = [Draft(f"batch {mark}x{part}", key=name if part % 2 else None) for part in range(4)]
            say("begin", mark)
            made = agent.remember_many(drafts)
            say("batch", mark, *(f"{result.version}" for result in made))
        elif kind == 5:
            made_one = agent.remember(f"keyed {mark}", key=f"key{number % 3}")
            say("keyed", mark, made_one.version)
        elif kind == 7:
            agent.forget(agent.remember(f"hidden {mark}").version)
            say("forgot", mark)
        else:
            say("one", mark, agent.remember(f"single {mark}").version)
        if number % 20 == 0:
            agent._bank.tidy(force=True)  # as every 256th write does


def nursery(home: str) -> None:
    """Start a writer for each name that comes in, by a fork: it lives within milliseconds. Tells how each ended."""
    import muniment.recall.lexical

    say("ready")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            with muniment.open(home, busy_ms=60_000) as peer:
                write(peer, line.strip())
        _, status = os.waitpid(pid, 0)
        say("ended", line.strip(), -os.waitstatus_to_exitcode(status))


def read(peer: Peer) -> None:
    """Recall, list and get for ever; any error ends the program."""
    agent = peer.agent("ava")
    say("ready")
    seen = 0
    while True:
        hits = agent.recall("single keyed batch", limit=5)
        newest = agent.recall("", limit=5)
        assert len(newest) >= min(seen, 5), "what was there is gone"
        seen = max(seen, len(newest))
        for hit in hits:
            assert agent.get(hit.record.version).text == hit.record.text
        time.sleep(0.005)  # the writers are what is tested


def rebuild(peer: Peer) -> None:
    """Make everything that is derived again, for ever."""
    agent = peer.agent("ava")
    say("ready")
    while True:
        agent.check(rebuild=True)
        say("rebuilt")


def tidy(peer: Peer) -> None:
    """Write, and merge the index each time, for ever."""
    agent = peer.agent("ava")
    say("ready")
    number = 0
    while True:
        number += 1
        say("one", f"t{os.getpid()}n{number}", agent.remember(f"tidy t{os.getpid()}n{number}").version)
        agent._bank.tidy(force=True)


def take_in(peer: Peer, path: str) -> None:
    """Import a file."""
    agent = peer.agent("ava")
    say("ready")
    say("report", agent.import_from(path).read)


def main() -> None:
    """Play a role in a folder."""
    role, home, *rest = sys.argv[1:]
    if role == "nursery":
        nursery(home)
        return
    with muniment.open(home, busy_ms=60_000) as peer:
        {"write": write, "read": read, "rebuild": rebuild, "tidy": tidy, "import": take_in}[role](peer, *rest)


if __name__ == "__main__":
    main()
