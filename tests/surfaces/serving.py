"""A real server on loopback, and raw ways to speak to it."""

from __future__ import annotations

import http.client
import json
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import muniment
from muniment.client import Client, key_from_peer
from muniment.identity.http_signatures import Key, Request, sign_request
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import Options

OPTIONS = replace(Options(), port=0, log=False)


@contextmanager
def served(home: Path, **options: Any) -> Iterator[str]:
    """A server over a home, in a thread; gives its address."""
    with background(lambda: muniment.open(home), replace(OPTIONS, **options)) as url:
        yield url


def key(home: Path, agent: str | None = None) -> Key:
    """A key of a home: an agent's, or the owner's."""
    peer = muniment.open(home)
    if agent is None:
        return owner_key(home)
    return key_from_peer(peer, agent)[0]


def owner_key(home: Path) -> Key:
    """The key of a home's owner."""
    from muniment.identity.http_signatures import keyid_of

    peer = muniment.open(home)
    public = peer.owner()
    return Key(keyid_of(public), lambda domain, rest: peer.host.keyring.sign(public, domain, rest))


def nonce() -> str:
    """A new one."""
    return urlsafe_b64encode(os.urandom(18)).decode()


def signed(
    url: str, by: Key, body: bytes, *, created: int | None = None, once: str | None = None
) -> dict[str, str]:
    """The headers of a signed request to `/rpc`."""
    parts = Request("POST", urlsplit(url).netloc, "/rpc", "", "application/json", body)
    at = int(time.time()) if created is None else created
    return {"content-type": "application/json", **sign_request(parts, by, at, once or nonce())}


def send(
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
    path: str = "/rpc",
) -> tuple[int, dict[str, str], bytes]:
    """One request by hand; status, headers and body of the answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        connection.request(method, path, body or None, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def ask(url: str, by: Key, method: str, params: Any = None) -> Any:
    """One signed call; the whole answer."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {} if params is None else params}
    body = json.dumps(call).encode()
    status, _, data = send(url, body, signed(url, by, body))
    assert status == 200, data
    return json.loads(data)


def client(url: str, home: Path, agent: str = "ava") -> Client:
    """A client that signs with an agent's own key."""
    return Client(url, key(home, agent))
