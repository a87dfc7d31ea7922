"""What a signed request costs: signing and checking, a recall over HTTP beside the same one in process, and the rate.

    python -m benchmarks.rpc [--quick]

The server is `muniment serve` in processes of its own; the client sends requests that were signed before, from threads
of this process, so that the rate is the server's. On a machine of two cores client and server share them, and a second
worker has little left to use.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import banks, common
from benchmarks.common import Report, cpu_ms, median, p95

import muniment
from muniment.client import key_from_peer
from muniment.identity.http_signatures import Key, Request, key_of, sign_request, verify_request

SIZE, QUICK = 100_000, 10_000
JSON = "application/json"


def signatures(report: Report, rounds: int) -> float:
    """CPU of signing and of checking one request, in ms; gives their sum."""
    key, now = key_of(bytes(range(32))), 1_760_000_000
    request = Request("POST", "memory.example", "/rpc", "", JSON, b"x" * 120)
    headers = list(sign_request(request, key, now, "A" * 22).items())
    calls = {
        "sign": lambda _: sign_request(request, key, now, "A" * 22),
        "check": lambda _: verify_request(request, headers, now),
    }
    times = common.alternate({n: lambda i, f=f: [f(i) for _ in range(20)] for n, f in calls.items()}, rounds)
    sign, check = (median(times[name]) / 20 for name in ("sign", "check"))
    report.add("sign a request (client)", sign, "ms CPU")
    report.add("check its signature (server)", check, "ms CPU")
    report.add("both", sign + check, "ms CPU", 0.5)
    return sign + check


@contextmanager
def server(home: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`muniment serve` over a home; its address and process."""
    command = [sys.executable, "-m", "muniment", "--home", str(home), "serve", "--listen", "127.0.0.1:0",
               "--workers", str(workers), "--rate", "1000000"]  # fmt: skip
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, text=True)
        try:
            while not (match := re.search(r" at (http\S+)\n", Path(log.name).read_text())):
                if process.poll() is not None:
                    raise RuntimeError(Path(log.name).read_text())
                time.sleep(0.05)
            yield match[1], process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def cpu_of(process: int) -> float:
    """CPU seconds of a process and its children."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == process or int(fields[1]) == process:
            total += (int(fields[11]) + int(fields[12])) / tick
    return total


def bodies(queries: list[str], limit: int) -> list[bytes]:
    """A recall for each query."""
    return [
        json.dumps(
            {"jsonrpc": "2.0", "id": n, "method": "memory.recall", "params": {"query": query, "limit": limit}}
        ).encode()
        for n, query in enumerate(queries)
    ]


def ask(connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str]) -> None:
    """One request on a kept connection."""
    connection.request("POST", "/rpc", body, headers)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200 or b'"error"' in data[:60]:
        raise RuntimeError(data[:300])


def drive(url: str, key: Key, asked: list[bytes], threads: int) -> tuple[float, list[float]]:
    """Send signed requests from some threads; wall seconds, and the time of each in ms."""
    host = urlsplit(url).netloc
    now = int(time.time())
    ready = [
        (
            body,
            {
                "content-type": JSON,
                **sign_request(Request("POST", host, "/rpc", "", JSON, body), key, now, nonce),
            },
        )
        for n, body in enumerate(asked)
        for nonce in [f"{os.urandom(6).hex()}{n:012}"]
    ]
    times: list[float] = []

    def work(mine: list[tuple[bytes, dict[str, str]]]) -> None:
        connection = http.client.HTTPConnection(host)
        for body, headers in mine:
            began = time.perf_counter()
            ask(connection, body, headers)
            times.append((time.perf_counter() - began) * 1000)
        connection.close()

    crew = [threading.Thread(target=work, args=(ready[n::threads],)) for n in range(threads)]
    began = time.perf_counter()
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    return time.perf_counter() - began, times


def in_process(home: Path, queries: list[str], limit: int) -> float:
    """Median CPU of the same recalls by the library, in ms."""
    with muniment.open(home) as peer:
        agent = peer.agent(banks.AGENT)
        for query in queries[:20]:
            agent.recall(query, limit=limit)
        return statistics.mean(
            cpu_ms(lambda q=query: agent.recall(q, limit=limit).to_json()) for query in queries
        )


def bench(*, quick: bool) -> Report:
    """Measure."""
    size = QUICK if quick else SIZE
    report = Report("rpc", f"python -m benchmarks.rpc{' --quick' if quick else ''}")
    signatures(report, 10 if quick else 40)
    home = banks.home(size)
    count = 200 if quick else 1000
    queries = banks.queries(count)
    label = banks.name(size)
    with muniment.open(home) as peer:
        key = key_from_peer(peer, banks.AGENT)[0]
        for limit in (10, 3):
            own = in_process(home, queries[: count // 2], limit)
            report.add(f"recall in process, {label}, limit {limit}", own, "ms CPU")
            for workers in (1, 2):
                with server(home, workers) as (url, process):
                    drive(url, key, bodies(queries[:100], limit), 4)  # indexes open, caches fill
                    before = cpu_of(process.pid)
                    wall, times = drive(url, key, bodies(queries, limit), 4 * workers)
                    spent = (cpu_of(process.pid) - before) * 1000 / count
                what = f"signed recalls, {label}, limit {limit}, {workers} worker{'s' if workers > 1 else ''}"
                note = f"p50 {median(times):.1f}, p95 {p95(times):.1f} ms wall, client on the same cores"
                report.add(f"{what}, wall", count / wall, "a second", note=note)
                least = 200 if workers == 1 and limit == 10 else None
                note = f"{spent:.2f} ms each, the recall itself {own:.2f}"
                report.add(f"{what}, server CPU", 1000 / spent, "a CPU second", least=least, note=note)
    return report


def main() -> int:
    """Command line."""
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
