"""Catching up with a real server on loopback: over HTTP and over iroh, in the same run, by turns.

    python -m benchmarks.transports [--quick]

The server is a process of its own with both doors open. A client without a copy takes the whole bank: every signature
is checked, SQLite on the disk at both ends. Wall time is that of the round; the time to connect is measured apart.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks import common
from benchmarks.common import Report
from benchmarks.sync import WORDS

import muniment
from muniment import sharing, syncing
from muniment.bank import Bank
from muniment.base.ids import BankId, parse_cid
from muniment.identity.did import to_did
from muniment.peer import Peer
from muniment.remembering import Draft, remember
from muniment.rounds import caller
from muniment.store.sqlite import SqliteStore
from muniment.surfaces.serve.options import Options
from muniment.surfaces.serve.run import serve
from muniment.sync.dialling import dial

HALF = 0.5  # of HTTP's rate that iroh has to reach


def fill(peer: Peer, reader: bytes, entries: int, acts: int) -> BankId:
    """A shared bank of so many entries, that a key may read."""
    chance = random.Random(1)
    info = peer.banks.new("bench")
    peer.banks.grant("bench", to_did(reader), "read")
    bank = BankId(parse_cid(info.id))
    opened, owner = peer.bank(bank), peer.owner()
    left = entries
    while left:
        with opened.write():
            for _ in range(min(left, 500)):
                left -= 1
                texts = [" ".join(chance.choices(WORDS, k=12)) + f" {left} {act}" for act in range(acts)]
                remember(opened, owner, [Draft(text) for text in texts])
    peer.made_store().others.share(bank, 1)
    return bank


@contextmanager
def served(home: Path) -> Iterator[dict[str, str]]:
    """A server of its own; gives its addresses by transport."""
    command = [sys.executable, "-m", "benchmarks.transports", "--serve", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            with muniment.open(home) as peer:
                found = [one for one in sharing.addresses(peer) if one.startswith("iroh:")]
            yield {"http": url, "iroh": found[0]}
        finally:
            process.terminate()


def pull(peer: Peer, key: bytes, bank: BankId, address: str, folder: Path) -> tuple[float, float, int]:
    """Take a whole bank; gives seconds to connect, seconds of the round, entries."""
    store = SqliteStore.create(folder / "copy.db", bank)
    held = Bank(store, peer.host, folder / "index")
    begun = time.perf_counter()
    with dial(address, caller(peer, key)) as link:
        connected = time.perf_counter()
        report = syncing.run(syncing.connect(held, key, link.binding), link.exchange)
        ended = time.perf_counter()
    assert report.done, report
    held.close()
    return connected - begun, ended - connected, report.round.received


def compare(report: Report, entries: int, acts: int, turns: int) -> None:
    """Both transports by turns, the best turn of each."""
    with common.scratch() as folder:
        title = f"{entries:,} x {acts}"
        with muniment.open(folder / "client") as client, muniment.open(folder / "server") as server:
            key = client.owner()
            bank = fill(server, key, entries, acts)
            rates: dict[str, float] = {"http": 0.0, "iroh": 0.0}
            connects: dict[str, list[float]] = {"http": [], "iroh": []}
            with served(folder / "server") as addresses:
                for turn in range(turns):
                    for name, address in addresses.items():
                        place = folder / f"{name}{turn}"
                        place.mkdir()
                        connect, wall, got = pull(client, key, bank, address, place)
                        rates[name] = max(rates[name], got / wall)
                        connects[name].append(connect)
        for name, rate in rates.items():
            report.add(f"entries a second over {name}, {title}", rate, "/s wall")
        report.add(f"iroh over HTTP, {title}", rates["iroh"] / rates["http"], "x", least=HALF)
        report.add(f"to connect by iroh, {title}", common.median(connects["iroh"]) * 1e3, "ms")


def bench(*, quick: bool = False) -> Report:
    """Both sizes."""
    report = Report("transports: catch-up over HTTP and iroh", "python -m benchmarks.transports")
    compare(report, 2000 if quick else 20_000, 1, 2 if quick else 3)
    compare(report, 100 if quick else 1000, 100, 2 if quick else 3)
    return report


def hold(home: str) -> None:
    """The server's process: a free port of HTTP, a free one of iroh."""
    options = replace(Options(), port=0, log=False, iroh="127.0.0.1:0", rate=1e6, burst=1_000_000)
    serve(lambda: muniment.open(home), options, ready=lambda url, _: print(url, flush=True))


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--serve", help="be the server over this folder")
    args = parser.parse_args()
    if args.serve:
        hold(args.serve)
        return 0
    return common.finish([bench(quick=args.quick)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
