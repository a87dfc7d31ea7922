"""How long a person waits for the web page: the first paint of a memory of 100,000, and each search while typing.

    python -m benchmarks.web [--quick]

`muniment serve` runs in a process of its own; the page is that of a headless Chromium on the same cores. A search is
measured in the page, from the key to the answer that stands there, with the 30 ms in which the page waits for more
keys. What the server works for it is told apart, since a machine that is busy makes everything else longer.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import banks, common
from benchmarks.common import Report, median, p95
from benchmarks.rpc import cpu_of
from playwright.sync_api import Page, sync_playwright

SIZE, QUICK = 100_000, 10_000
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
FIRST_MS, SEARCH_MS = 300.0, 100.0
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# Resolves with the time from the key to the frame in which the answer stands.
TYPED = """text => new Promise(done => {
  const field = document.querySelector("#q");
  document.addEventListener("htmx:afterSwap", () => requestAnimationFrame(() => done(performance.now() - began)),
                            { once: true });
  field.value = text;
  const began = performance.now();
  field.dispatchEvent(new Event("input", { bubbles: true }));
})"""


@contextmanager
def server(home: Path) -> Iterator[tuple[str, str, int]]:
    """`muniment serve` over a home: its address, the link that it prints, and its process."""
    command = [sys.executable, "-m", "muniment", "--home", str(home), "serve", "--listen", "127.0.0.1:0",
               "--rate", "1000000"]  # fmt: skip
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, text=True)
        try:
            while not (match := re.search(r"(http\S+)/login\?with=\S+\n", Path(log.name).read_text())):
                if process.poll() is not None:
                    raise RuntimeError(Path(log.name).read_text())
                time.sleep(0.05)
            yield match[1], match[0].strip(), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def searches(page: Page, queries: list[str]) -> list[float]:
    """The wait for each, in ms: a letter short of it first, then the whole, as fingers do."""
    times = []
    for query in queries:
        page.evaluate(TYPED, query[:-1])
        times.append(float(page.evaluate(TYPED, query)))
    return times


def bench(*, quick: bool = False) -> Report:
    """All of it."""
    size = QUICK if quick else SIZE
    label = banks.name(size)
    report = Report("web", f"python -m benchmarks.web{' --quick' if quick else ''}")
    with server(banks.home(size)) as (url, link, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(link)
        page.click("button")
        page.wait_for_selector("#hits")
        report.add(f"first paint, {label}, the very first", float(page.evaluate(PAINT)), "ms wall")
        paints = []
        for _ in range(5 if quick else 20):
            page.goto(f"{url}/a/{banks.AGENT}/")
            page.wait_for_selector("#hits")
            paints.append(float(page.evaluate(PAINT)))
        report.add(
            f"first paint, {label}", median(paints), "ms wall", FIRST_MS, note=f"p95 {p95(paints):.0f}"
        )
        queries = banks.queries(20 if quick else 100)
        searches(page, queries[:5])  # indexes open, caches fill
        before = cpu_of(process)
        times = searches(page, queries)
        spent = (cpu_of(process) - before) * 1000 / (2 * len(queries))
        report.add(
            f"search in the page, {label}", median(times), "ms wall", SEARCH_MS, note=f"p95 {p95(times):.0f}"
        )
        report.add(f"the server's work for a search, {label}", spent, "ms CPU")
        browser.close()
    return report


if __name__ == "__main__":
    args = common.parser(__doc__).parse_args()
    sys.exit(common.finish([bench(quick=args.quick)], as_json=args.json))
