"""Several machines in one: network namespaces with a switch between them, or addresses of loopback with proxies.

A machine is a peer folder and a place in the network. Programs on it are real processes; its cable can be pulled.
In namespaces there is no way out of this machine at all, so the network guard is not needed there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import muniment

from .proxy import Proxy, holds

SOURCE = Path(muniment.__file__).parents[1]
CAPTURE = """
import socket, sys
# All ports: what is passed on from one to another never comes to the switch itself.
heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
heard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
with open(sys.argv[1], "ab", buffering=0) as out:
    print("listening", flush=True)
    while True:
        out.write(heard.recv(65535))
"""


def have_namespaces() -> bool:
    """Whether this machine lets us make network namespaces."""
    if not shutil.which("ip"):
        return False
    name = f"mun{os.getpid()}t"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return made


class Machine:
    """A peer folder and a place in the network."""

    def __init__(self, net: Network | Loopback, name: str, serving: Sequence[str], folder: Path) -> None:
        self.net, self.name, self._serving = net, name, serving
        self.home = folder / name
        self.log = folder / f"{name}.log"
        self._server: subprocess.Popen[str] | None = None
        self._copier: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> list[str]:
        """A command of muniment's on this machine."""
        return [
            *self.net.inside(self.name),
            sys.executable,
            "-m",
            "muniment",
            "--home",
            str(self.home),
            *words,
        ]

    def run(self, *words: str, code: int | None = 0, stdin: str | None = None) -> str:
        """Run a command and give what it says."""
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, env=self.net.env, timeout=120, check=False,
            input=stdin,
        )  # fmt: skip
        with self.log.open("a") as log:
            log.write(done.stderr)
        assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *words: str) -> Any:
        """Run a command with `--json`."""
        return json.loads(self.run(*words, "--json"))

    def serve(self) -> None:
        """Start the server, and wait until it takes connections."""
        log = self.log.open("a")
        self._server = subprocess.Popen(
            self.command("serve", *self._serving),
            stdout=log,
            stderr=subprocess.PIPE,
            text=True,
            env=self.net.env,
        )
        assert self._server.stderr is not None
        line = self._server.stderr.readline()
        log.write(line)
        assert line.startswith("serving"), line + self._server.stderr.read()
        # What it says later goes to the log by a process of its own: nothing here has to read it.
        self._copier = subprocess.Popen(["cat"], stdin=self._server.stderr, stdout=log)
        log.close()

    @property
    def process(self) -> int | None:
        """The server's id, while it runs."""
        return None if self._server is None else self._server.pid

    def kill(self) -> None:
        """End the server as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask the server to end."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self._server is not None:
            self._server.send_signal(number)
            self._server.wait(30)
            assert self._server.stderr is not None
            self._server.stderr.close()
            if self._copier is not None:
                self._copier.wait(30)
            self._server = None


class Network:
    """A switch with machines at it."""

    what = "network namespaces, over HTTP and iroh"
    iroh = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[str] = []
        self._tag = f"mun{os.getpid()}"
        self.env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
        self.machines: dict[str, Machine] = {}
        self.wire = folder / "wire"

    def inside(self, name: str) -> list[str]:
        """What comes before a command that runs at a machine."""
        return ["ip", "netns", "exec", f"{self._tag}{name}"]

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def build(self, names: Sequence[str]) -> None:
        """Lay the cables."""
        hub = f"{self._tag}hub"
        self._made.append(hub)
        self._ip("netns", "add", hub)
        self._ip("-n", hub, "link", "add", "switch", "type", "bridge")
        self._ip("-n", hub, "link", "set", "switch", "up")
        for number, name in enumerate(names, 1):
            there, address = f"{self._tag}{name}", f"10.77.0.{number}"
            self._made.append(there)
            self._ip("netns", "add", there)
            self._ip(
                "-n", hub, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", there
            )
            self._ip("-n", hub, "link", "set", f"to-{name}", "master", "switch", "up")
            self._ip("-n", there, "addr", "add", f"{address}/24", "dev", "eth0")
            self._ip("-n", there, "link", "set", "eth0", "up")
            self._ip("-n", there, "link", "set", "lo", "up")
            serving = ("--listen", f"{address}:8377", "--iroh", f"{address}:8378", "--insecure-listen")
            self.machines[name] = Machine(self, name, serving, self._folder)

    @contextmanager
    def overheard(self) -> Iterator[None]:
        """Keep every byte that passes the switch, in `wire`."""
        command = [*self.inside("hub"), sys.executable, "-c", CAPTURE, str(self.wire)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=self.env) as listener:
            assert listener.stdout is not None
            assert listener.stdout.readline() == b"listening\n"
            try:
                yield
            finally:
                listener.kill()

    def pull(self, name: str) -> None:
        """Pull a machine's cable."""
        self._ip("-n", f"{self._tag}hub", "link", "set", f"to-{name}", "down")

    def plug(self, name: str) -> None:
        """Put it back."""
        self._ip("-n", f"{self._tag}hub", "link", "set", f"to-{name}", "up")

    def close(self) -> None:
        """End whatever runs there and take everything down, however far it was built."""
        for name in self._made:
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for process in found.stdout.split():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        try:
            for machine in self.machines.values():
                machine.kill()
        finally:
            for name in self._made:
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Loopback:
    """Machines at 127.0.0.2 and up, each behind a proxy that can drop what comes and goes: HTTP alone."""

    what = "addresses of loopback with proxies between them, over HTTP alone (no network namespaces here)"
    iroh = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])  # with the guard
        self.env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.machines: dict[str, Machine] = {}
        self.wire = folder / "wire"
        self._proxies: dict[str, Proxy] = {}
        self._pulled: set[str] = set()

    def inside(self, _name: str) -> list[str]:
        """Nothing comes before a command: all machines are this one."""
        return []

    def build(self, names: Sequence[str]) -> None:
        """Put a proxy before each machine."""
        self.wire.touch()
        for number, name in enumerate(names, 2):
            with socket.create_server((f"127.0.0.{number}", 0)) as free:
                behind = free.getsockname()
            self._proxies[name] = proxy = Proxy(name, behind, self.wire, self._drops)
            serving = (
                "--listen",
                f"{behind[0]}:{behind[1]}",
                "--public-url",
                f"http://{behind[0]}:{proxy.port}",
            )
            self.machines[name] = Machine(self, name, serving, self._folder)

    def _drops(self, server: str, port: int) -> bool:
        """Whether one end of a connection has no cable: the server, or who holds the other end."""
        clients = (self.machines[name].process for name in self._pulled)
        return server in self._pulled or any(pid is not None and holds(pid, port) for pid in clients)

    @contextmanager
    def overheard(self) -> Iterator[None]:
        """The proxies keep every byte, in `wire`."""
        yield

    def pull(self, name: str) -> None:
        """Drop whatever comes to a machine's server, or from it."""
        self._pulled.add(name)
        for proxy in self._proxies.values():
            proxy.look()

    def plug(self, name: str) -> None:
        """Let it pass again; connections that were silent are reset."""
        self._pulled.discard(name)
        for proxy in self._proxies.values():
            proxy.reset()

    def close(self) -> None:
        """End all servers and all proxies."""
        try:
            for machine in self.machines.values():
                machine.kill()
        finally:
            for proxy in self._proxies.values():
                proxy.close()


def network(folder: Path) -> Network | Loopback:
    """Namespaces where this machine lets us make some, else loopback."""
    return Network(folder) if have_namespaces() else Loopback(folder)


def until(seconds: float, what: str, look: Any) -> Any:
    """Look again and again until there is something."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"in {seconds:g} s: {what}"
        time.sleep(0.1)
