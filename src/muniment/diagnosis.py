"""What `doctor` can say: a code word for each thing it looks at, and why that matters (docs/operations.md)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muniment.platform.folders import home_path

OK, WARN, FAIL = "ok", "warn", "fail"

WHY = {
    "program": "Versions are what a report of a fault needs first.",
    "settings": "A setting that is not understood stops every command, rather than be left out in silence.",
    "extra": "What the settings ask for can't be done without it.",
    "folder": "All memories and keys lie in it; without the right to write nothing new is kept.",
    "permissions": "Who can read these files can read memories, or sign as you.",
    "disk": "On a full disk no memory is taken in; what is kept stays.",
    "format": "Files of another version are read after an upgrade only, or by a newer program only.",
    "leftover": "A write that was killed leaves its draft: nothing refers to it, and it takes room.",
    "log": "A long log makes opening slow and takes room; it shrinks when it is copied into its file.",
    "keys": "Who has the private keys can sign and read as you; without them nothing new is written or opened.",
    "rotation": "Until a change of keys is ended, the old key and the new one both stand.",
    "agents": "Each agent has a key and a bank of its own.",
    "clock": "A wrong clock dates memories wrongly, hides them until they are due, and ends grants at the wrong time.",
    "bank": "Nothing can be recalled from a bank whose file is missing or damaged.",
    "index": "Recall catches up by itself, but each new process pays for it until the index is on the disk.",
    "waiting": "Entries count only when what they build on has come.",
    "control": "Without all grants and revocations nobody may change who may do what.",
    "bodies": "Memories whose bodies did not come yet can't be shown.",
    "vectors": "A memory without a vector is found by its words alone.",
    "erasure": "What was to be destroyed by now is still on this disk.",
    "grant": "A grant that has ended is refused here, but other peers learn it from a signed revocation.",
    "attached": "A bank that its agent may not read adds nothing to the agent's recall.",
    "forked": "Two installations sign with one key, or a copy of a folder is in use.",
    "rolled back": "An installation was put back to an older copy.",
    "witness": "It tells an older copy of this folder, put back, from the newest.",
    "peer": "What another installation did not get is only here.",
    "outbox": "What was not synced yet is lost with this disk.",
    "request": "Somebody waits for an answer, or waits in vain.",
    "archive": "The texts of archived memories lie in the packs alone.",
    "custody": "A copy that was not proven may be no copy.",
    "embedder": "Without it recall goes by words, and new memories get no vector.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: Its code word, of `WHY`.
        status: `ok`, `warn` or `fail`.
        detail: What was seen.
        next_step: What to do; a command in it works as it is written.
        about: Which bank, agent, file or address, where there are several.
        mends: Whether `doctor --repair` does something about it.
    """

    name: str
    status: str
    detail: str
    next_step: str = ""
    about: str = ""
    mends: bool = False

    @property
    def why(self) -> str:
        """Why it matters."""
        return WHY[self.name]

    def to_json(self) -> dict[str, Any]:
        """The finding as `--json` prints it."""
        return {
            "name": self.name, "status": self.status, "about": self.about, "detail": self.detail,
            "why": self.why, "next_step": self.next_step, "mends": self.mends,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mended:
    """What `doctor --repair` did about a finding; not `done`: it could not, and `detail` says why."""

    name: str
    about: str
    detail: str
    done: bool = True

    def to_json(self) -> dict[str, Any]:
        """The repair as `--json` prints it."""
        return {"name": self.name, "about": self.about, "detail": self.detail, "done": self.done}


def spelled(findings: Iterable[Finding], home: Path) -> list[Finding]:
    """Findings with commands that work as they are written, also in a folder that is not the usual one."""
    if home == home_path():
        return list(findings)
    named = f"muniment --home {shlex.quote(str(home))} "
    return [replace(one, next_step=one.next_step.replace("muniment ", named)) for one in findings]
