"""Who may do what in a large bank: resolving 5,000 control entries of 1,000 members, and each further entry.

    python -m benchmarks.authority

The rival is what a bank would pay at least: reading the same entries from their stored bytes, without judging any.
Members come by grants of an admin and of the holders of delegable leases; a fifth is revoked, a tenth narrowed, and
policies and epochs are among the rest. Entries are concurrent now and then, as those of several installations are.
"""

from __future__ import annotations

import random
import sys
import time

from benchmarks import common
from benchmarks.common import Report

from muniment.ledger.authority import Authority
from muniment.ledger.control import Control, Policy
from muniment.ledger.entry import Entry, reload
from muniment.testing.ledger import Cast, Script

MEMBERS, ENTRIES = 1000, 5000
SCRATCH_MS, FURTHER_MS = 200.0, 1.0
MORE = 200


class Bank:
    """A bank acted out, each entry after the last one known: what comes of that is not asked while it is made."""

    def __init__(self, members: int, entries: int, seed: int = 7) -> None:
        self.script, self.choose = Script(Cast()), random.Random(seed)
        first = self.script.found({"carol": "admin(0)", "vera": "admin(1)"})
        self.names = [f"member {n}" for n in range(members - 22)]
        self._heads, self._last = [first.id], {"carol": first.id}
        self.made = [first]
        for n in range(20):
            self.act("carol", self.script.grant_act(f"holder {n}", "write", delegable=True))
        for name in self.names:
            by = self.choose.choice(["carol", "vera", f"holder {self.choose.randrange(20)}"])
            self.act(by, self.script.grant_act(name, self.choose.choice(["read", "write"])))
        while len(self.made) < entries:
            self.any()

    def act(self, by: str, *acts: Control) -> Entry:
        """One entry; in one case of ten it does not know of the one before it."""
        if len(self._heads) > 1 or self.choose.random() < 0.9:
            auth = tuple(self._heads)
        else:
            auth = self.made[-2].header.auth or tuple(self._heads)
        prev = (self._last[by],) if by in self._last else ()
        entry = self.script.control(by, *acts, prev=prev, auth=auth)
        self._last[by] = entry.id
        self._heads = [one for one in self._heads if one not in auth] + [entry.id]
        self.made.append(entry)
        return entry

    def any(self) -> Entry:
        """A further decision: revoking, narrowing, granting again, a policy."""
        name, kind = self.choose.choice(self.names), self.choose.random()
        by = "carol" if self.choose.random() < 0.5 else "vera"
        script = self.script
        if kind < 0.2:
            return self.act(by, script.revoke_act(name, ()))
        if kind < 0.3:
            return self.act(by, script.revoke_act(name, ()), script.grant_act(name, "relay"))
        if kind < 0.8:
            return self.act(by, script.grant_act(name, self.choose.choice(["relay", "read", "write"])))
        return self.act(by, Policy(1, self.choose.randrange(1 << 20)))


def bench(*, quick: bool = False) -> Report:
    """All of it."""
    report = Report("authority: 1,000 members, 5,000 control entries", "python -m benchmarks.authority")
    members, entries = (200, 1000) if quick else (MEMBERS, ENTRIES)
    bank = Bank(members, entries)
    script, control = bank.script, bank.script.control_entries
    now = script.now_ms
    scratch, reading = [], []
    for _ in range(3 if quick else 7):
        began = time.process_time()
        for entry in bank.made:
            reload(entry.envelope)
        reading.append((time.process_time() - began) * 1000)
        began = time.process_time()
        authority = Authority.resolve(script.bank, control, script)
        authority.members(now)
        scratch.append((time.process_time() - began) * 1000)
    report.add(
        "from scratch",
        common.median(scratch),
        "ms",
        None if quick else SCRATCH_MS,
        note=f"p95 {common.p95(scratch):.0f} ms",
    )
    report.add(
        "reading the same entries", common.median(reading), "ms", note="parsed from their bytes, not judged"
    )
    further = []
    authority = Authority.resolve(script.bank, control, script)
    authority.members(now)
    for _ in range(20 if quick else MORE):
        entry = bank.any()
        began = time.process_time()
        authority = authority.extend(entry)
        authority.rule(entry)
        further.append((time.process_time() - began) * 1000)
    report.add(
        "each further control entry",
        common.median(further),
        "ms",
        None if quick else FURTHER_MS,
        note=f"p95 {common.p95(further):.2f} ms",
    )
    data = []
    for _ in range(MORE):
        entry = script.data("carol", prev=(), auth=(bank.made[-1].id,))
        began = time.process_time()
        authority = authority.extend(entry)
        authority.rule(entry)
        data.append((time.process_time() - began) * 1000)
    report.add("each data entry", common.median(data), "ms", note=f"p95 {common.p95(data):.2f} ms")
    return report


def main() -> int:
    """Command line."""
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
