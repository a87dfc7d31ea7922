"""did:web, for hosts that the operator named: fetched with care, kept for some minutes (W3C did:web; design 11).

An address that a stranger writes must not make this machine ask its own network: only hosts on the list are asked, by
https, at public addresses that were looked up once and are then connected to as such, without redirects, within a
size and a time.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from muniment.base.errors import MunimentError, RefusedKey
from muniment.base.limits import LIMITS
from muniment.identity.did import parse_did

SECONDS = 5.0  # for one document, all in all
KEPT_S, FAILED_S = 300.0, 30.0
_KEPT = 256  # documents
_AT_ONCE = 4
_PATH = re.compile(r"[A-Za-z0-9._~-]{1,128}", re.ASCII)
_HOST = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)(?::([0-9]{1,5}))?", re.ASCII)

Lookup = Callable[[str, int], Iterable[str]]
Methods = Mapping[str, bytes]  # DID URL of an authentication key -> the key


def document_url(did: str, hosts: Iterable[str]) -> tuple[str, int, str]:
    """Host, port and path of a did:web's document.

    Raises:
        RefusedKey: It is malformed, or its host is not on the list.
    """
    parts = did.split(":")
    if len(did) > LIMITS.did_chars or parts[:2] != ["did", "web"] or len(parts) < 3:
        raise RefusedKey(f"not a did:web: {did[:80]!r}")
    authority = unquote(parts[2]).lower()
    match = _HOST.fullmatch(authority)
    if match is None or ".." in authority or any(_PATH.fullmatch(part) is None for part in parts[3:]):
        raise RefusedKey(f"not a did:web: {did[:80]!r}")
    if any(part in {".", ".."} for part in parts[3:]):
        raise RefusedKey(f"not a did:web: {did[:80]!r}")
    if authority not in set(hosts):
        raise RefusedKey(f"{authority} is not a host whose DIDs are taken here", "Name it with --did-web.")
    path = "/".join(parts[3:]) if parts[3:] else ".well-known"
    return match[1], int(match[3] or 443), f"/{path}/did.json"


def methods_of(did: str, document: Any) -> dict[str, bytes]:
    """The Ed25519 keys that a document lists under `authentication`, by their DID URL.

    Raises:
        RefusedKey: It is another DID's document, or none.
    """
    if not isinstance(document, Mapping) or document.get("id") != did:
        raise RefusedKey(f"what {did[:80]} leads to is not its document")
    listed = document.get("verificationMethod")
    known = [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []
    found: dict[str, bytes] = {}
    authentic = document.get("authentication")
    for item in authentic if isinstance(authentic, list) else []:
        for method in [item] if isinstance(item, Mapping) else [m for m in known if m.get("id") == item]:
            name, multibase = method.get("id"), method.get("publicKeyMultibase")
            if isinstance(name, str) and isinstance(multibase, str) and len(multibase) <= 64:
                full = did + name if name.startswith("#") else name
                try:
                    found[full] = parse_did(f"did:key:{multibase}")
                except RefusedKey:
                    continue  # a key of another kind
    return found


class Resolver:
    """From the name of a key to the key: did:key by itself, did:web by its document.

    Args:
        hosts: The hosts of did:web that are asked, each with its port if it has one.
        lookup: From host and port to addresses.
        public: Whether an address may be connected to.
    """

    def __init__(
        self,
        hosts: Iterable[str] = (),
        *,
        lookup: Lookup | None = None,
        public: Callable[[str], bool] | None = None,
        trust: Any = True,
    ) -> None:
        self._hosts = frozenset(hosts)
        self._lookup, self._public, self._trust = lookup or _addresses, public or is_public, trust
        self._kept: dict[str, tuple[float, Methods | MunimentError]] = {}
        self._lock, self._slots = threading.Lock(), threading.Semaphore(_AT_ONCE)

    def __call__(self, keyid: str) -> bytes:
        """The key of a DID URL.

        Raises:
            RefusedKey: It leads to none.
        """
        if not keyid.startswith("did:web:"):
            return parse_did(keyid)
        key = self._methods(keyid.partition("#")[0]).get(keyid)
        if key is None:
            raise RefusedKey(f"its document has no authentication key {keyid[:120]!r}")
        return key

    def authentic(self, did: str) -> tuple[bytes, ...]:
        """All keys that authenticate for a did:web; none where it can't be had."""
        try:
            return tuple(self._methods(did).values())
        except RefusedKey:
            return ()

    def _methods(self, did: str) -> Methods:
        now = time.monotonic()
        with self._lock:
            until, found = self._kept.get(did, (0.0, None))
        if found is None or until < now:
            place = document_url(did, self._hosts)  # nothing is kept of what is not on the list
            try:
                found, lasts = methods_of(did, self._fetch(*place)), KEPT_S
            except RefusedKey as error:
                found, lasts = error, FAILED_S
            with self._lock:
                if len(self._kept) >= _KEPT:
                    self._kept.clear()
                self._kept[did] = (now + lasts, found)
        if isinstance(found, MunimentError):
            raise found
        return found

    def _fetch(self, host: str, port: int, path: str) -> Any:
        """The document, or the refusal, in time however slowly it drips."""
        if not self._slots.acquire(blocking=False):
            raise RefusedKey("too many documents are being fetched at once", "Try again in some seconds.")
        found: list[Any] = []

        def work() -> None:
            try:
                found.append(self._get(host, port, path))
            except RefusedKey as error:
                found.append(error)
            finally:
                self._slots.release()

        thread = threading.Thread(target=work, name="muniment-did-web", daemon=True)
        thread.start()
        thread.join(SECONDS)
        if not found:
            raise RefusedKey(f"{host} did not answer in time")
        if isinstance(found[0], RefusedKey):
            raise found[0]
        return found[0]

    def _get(self, host: str, port: int, path: str) -> Any:
        import httpx2
        import orjson

        until = time.monotonic() + SECONDS
        address = self._address(host, port)
        url = f"https://{f'[{address}]' if ':' in address else address}:{port}{path}"
        named = host if port == 443 else f"{host}:{port}"
        headers = {
            "host": named,
            "accept": "application/did+json, application/json",
            "accept-encoding": "identity",
        }
        try:
            with (
                httpx2.Client(
                    timeout=SECONDS, follow_redirects=False, trust_env=False, verify=self._trust
                ) as client,
                client.stream("GET", url, headers=headers, extensions={"sni_hostname": host}) as answer,
            ):
                if answer.status_code != 200:
                    raise RefusedKey(f"{named} answers with status {answer.status_code}")
                data = bytearray()
                for piece in answer.iter_raw():
                    data += piece
                    if len(data) > LIMITS.did_document_bytes or time.monotonic() > until:
                        raise RefusedKey(f"the document of {named} is too large or too slow")
            return orjson.loads(bytes(data))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise RefusedKey(f"{named} can't be asked: {type(error).__name__}") from None
        except ValueError:
            raise RefusedKey(f"{named} does not answer with JSON") from None

    def _address(self, host: str, port: int) -> str:
        try:
            found = list(self._lookup(host, port))
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise RefusedKey(f"{host} has no address")
        if not all(self._public(address) for address in found):
            raise RefusedKey(f"{host} leads into a private network, which is not asked")
        return found[0]


def _addresses(host: str, port: int) -> list[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    teredo = getattr(found, "teredo", None)
    if mapped is not None or teredo is not None:
        return mapped is not None and teredo is None and is_public(str(mapped))
    return found.is_global and not (found.is_multicast or found.is_reserved)
