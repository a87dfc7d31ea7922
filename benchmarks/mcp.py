"""`muniment mcp`: a recall over standard input and output, beside the SDK's own echo tool.

    python -m benchmarks.mcp [--quick]

Both servers are programs of their own; one official client calls them in turns, so that both meet the same machine.
The bank holds 10,000 memories. Memory is the anonymous memory of the server process while it is idle after the calls.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks import banks, common
from benchmarks.common import Report

TIMES, MORE_MB = 2.0, 40.0
ECHO = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("echo")

@server.tool()
def echo(text: str) -> str:
    return text

server.run("stdio")
"""


def children() -> set[int]:
    """Process ids below this one."""
    me, found = os.getpid(), set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == me:
            found.add(int(path.parent.name))
    return found


def anon_mb(pid: int) -> float:
    """Anonymous resident memory of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def measured(home: Path, rounds: int) -> dict[str, Any]:
    """Round trips in turns, and what both processes hold."""
    from mcp.client.stdio import stdio_client

    from mcp import Client, StdioServerParameters

    env = {**os.environ, "MUNIMENT_HOME": str(home)}
    programs = {
        "echo": ["-c", ECHO],
        "recall": ["-m", "muniment", "--agent", banks.AGENT, "mcp"],
    }
    asked = banks.queries(rounds)
    times: dict[str, list[float]] = {name: [] for name in programs}
    pids: dict[str, int] = {}
    starts: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        clients: dict[str, Any] = {}
        for name, args in programs.items():
            before, began = children(), time.perf_counter()
            server = StdioServerParameters(command=sys.executable, args=args, env=env)
            clients[name] = await stack.enter_async_context(Client(stdio_client(server)))
            await clients[name].list_tools()
            starts[name] = time.perf_counter() - began
            pids[name] = (children() - before).pop()
        for n in range(rounds):
            for name, arguments in (("echo", {"text": asked[n]}), ("recall", {"query": asked[n]})):
                began = time.perf_counter()
                done = await clients[name].call_tool(name, arguments)
                took = time.perf_counter() - began
                assert not done.is_error, done.content[0].text
                if n >= 10:
                    times[name].append(took * 1000)
        await asyncio.sleep(1)
        held = {name: anon_mb(pid) for name, pid in pids.items()}
    return {"times": times, "held": held, "starts": starts}


def bench(*, quick: bool = False) -> Report:
    """All of it."""
    report = Report("mcp: recall over stdio", "python -m benchmarks.mcp")
    found = asyncio.run(measured(banks.home(10_000), 60 if quick else 300))
    middle = {name: common.median(times) for name, times in found["times"].items()}
    held = found["held"]
    report.add("recall / echo, round trip", middle["recall"] / middle["echo"], "x", TIMES)
    report.add("idle memory above echo", held["recall"] - held["echo"], "MB", MORE_MB)
    rows = [
        [name, f"{middle[name]:.2f}", f"{sorted(found['times'][name])[int(len(found['times'][name]) * 0.95)]:.2f}",
         f"{held[name]:.0f}", f"{found['starts'][name]:.2f}"]
        for name in middle
    ]  # fmt: skip
    report.table("One client, in turns:", ["tool", "p50 ms", "p95 ms", "anon MB", "start s"], rows)
    return report


def main() -> int:
    """Command line."""
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
