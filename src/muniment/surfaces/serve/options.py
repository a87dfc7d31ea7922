"""How a server is to run: checked before anything is opened."""

from __future__ import annotations

import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from muniment.base.errors import InvalidInput
from muniment.platform.addresses import is_loopback
from muniment.sync.ticket import check_address

DEFAULT_LISTEN = "127.0.0.1:8377"
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve.

    Attributes:
        host, port: Where to listen; port 0 takes a free one.
        workers: Processes that share the socket.
        threads: Threads of each process that do the work.
        certificate, private_key: PEM files; both or none.
        hosts: Names under which clients may ask, beside the address itself; in lower case.
        public_urls: Addresses under which others reach this server, through a proxy or not.
        iroh: Where to listen by iroh: a UDP port, or `ip:port`; None: as the settings say.
        discovery: Whether the LAN is told and asked, whatever the settings say.
        web_hosts: Hosts whose did:web documents are fetched.
        rate: Requests a second by one key, on average; `burst` at once.
        concurrency: Requests being answered at once, in each process.
        body_s: Seconds for a client to send a request's header, and its body.
        finish_s: Seconds that running requests are given when the server stops.
        web_secret: What the web page's logins hang on, the same in all processes of one server; never shown.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    workers: int = 1
    threads: int = 4
    certificate: Path | None = None
    private_key: Path | None = None
    hosts: tuple[str, ...] = ()
    public_urls: tuple[str, ...] = ()
    iroh: str | None = None
    discovery: bool = False
    web_hosts: tuple[str, ...] = ()
    rate: float = 100.0
    burst: int = 200
    concurrency: int = 128
    body_s: float = 10.0
    finish_s: float = 10.0
    log: bool = True
    web_secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False, compare=False)

    @property
    def scheme(self) -> str:
        """`https` with a certificate, else `http`."""
        return "https" if self.certificate else "http"

    @property
    def loopback(self) -> bool:
        """Whether nobody but this machine can reach it."""
        return is_loopback(self.host)

    def allowed_hosts(self, port: int) -> frozenset[str]:
        """Values of a `Host` header that are answered, with and without the port; empty: any."""
        names = {*self.hosts, *(urlsplit(url).netloc.lower() for url in self.public_urls)}
        if self.loopback:
            names |= set(_LOOPBACK_NAMES)
        elif not ipaddress.ip_address(self.host).is_unspecified:
            names.add(_literal(self.host))
        elif not names:
            return frozenset()
        names |= set(_LOOPBACK_NAMES)
        return frozenset(names | {f"{name}:{port}" for name in names})

    def url(self, port: int) -> str:
        """Where it is, for people."""
        return f"{self.scheme}://{_literal(self.host)}:{port}"


def _literal(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def options(
    listen: str = DEFAULT_LISTEN,
    *,
    workers: int = 1,
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
    insecure_listen: bool = False,
    hosts: tuple[str, ...] = (),
    public_urls: tuple[str, ...] = (),
    did_web: tuple[str, ...] = (),
    rate: int = 100,
    iroh: str | None = None,
    discovery: bool = False,
) -> Options:
    """Options from what a person says.

    Raises:
        InvalidInput: An address, a name or a file has no meaning, or strangers could listen in.
    """
    host, port = _address(listen)
    if (tls_cert is None) != (tls_key is None):
        raise InvalidInput("a certificate needs its private key, and the other way round", "Give both files.")
    files = [None if file is None else Path(file) for file in (tls_cert, tls_key)]
    for file in files:
        if file is not None and not file.is_file():
            raise InvalidInput(f"there is no file {file}", "Give a PEM file.")
    names = tuple(_name(name) for name in hosts)
    made = Options(
        host, port, workers, certificate=files[0], private_key=files[1], hosts=names,
        public_urls=tuple(_public(url) for url in public_urls),
        web_hosts=tuple(_name(name) for name in did_web), rate=float(rate), burst=max(2 * rate, 10),
        iroh=iroh, discovery=discovery,
    )  # fmt: skip
    if not (made.loopback or made.certificate or insecure_listen):
        raise InvalidInput(
            f"{listen} can be reached from other machines, and nothing would be encrypted",
            "Give --tls-cert and --tls-key, put a proxy with TLS before a loopback address, or say "
            "--insecure-listen in a network that is wholly yours.",
        )
    return made


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    step = "Write HOST:PORT, such as 127.0.0.1:8377 or [::1]:8377; the host is an address of this machine."
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port, re.ASCII) or int(port) > 65_535:
        raise InvalidInput(f"not an address to listen on: {listen[:80]!r}", step)
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise InvalidInput(f"not an address to listen on: {listen[:80]!r}", step) from None
    return host, int(port)


def _public(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        raise InvalidInput(
            f"not a public address: {text[:80]!r}", "Write it as https://HOST or https://HOST/PATH."
        )
    return check_address(text)


def _name(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, ""
    if _HOST.fullmatch(host) is None or (port and not port.isdigit()):
        raise InvalidInput(f"not a host name: {text[:80]!r}", "Write it without scheme and path.")
    return text.lower()
