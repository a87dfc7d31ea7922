"""did:web: only hosts on the list, only public addresses, no redirects, within bounds; then the keys of a document."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from muniment.base.errors import RefusedKey
from muniment.identity.did import to_did
from muniment.identity.keys import keypair
from muniment.surfaces.serve import did_web
from muniment.surfaces.serve.did_web import Resolver, document_url, is_public, methods_of

from .test_serve import self_signed

PUBLIC = keypair(bytes(32)).public
MULTIBASE = to_did(PUBLIC).removeprefix("did:key:")


def document(did: str, **more: Any) -> dict[str, Any]:
    """A document with one authentication key, and one that is for something else."""
    method = {"id": f"{did}#a", "type": "Multikey", "controller": did, "publicKeyMultibase": MULTIBASE}
    return {
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": did,
        "verificationMethod": [method, {**method, "id": f"{did}#b"}],
        "authentication": [f"{did}#a"],
        **more,
    }


@pytest.mark.parametrize(
    ("did", "place"),
    [
        ("did:web:example.com", ("example.com", 443, "/.well-known/did.json")),
        ("did:web:example.com:agents:ava", ("example.com", 443, "/agents/ava/did.json")),
        ("did:web:example.com%3A8443:ava", ("example.com", 8443, "/ava/did.json")),
    ],
)
def test_a_did_leads_to_its_document(did: str, place: tuple[str, int, str]) -> None:
    """As the method's specification says."""
    assert document_url(did, {"example.com", "example.com:8443"}) == place


@pytest.mark.parametrize(
    "did",
    [
        "did:web:other.com", "did:web:", "did:web", "did:web:example.com:..", "did:web:example.com:a%2F..%2Fb",
        "did:web:example.com%2Fx", "did:web:user%40example.com", "did:web:example.com%3A1", "did:web:localhost",
        "did:web:127.0.0.1", "did:web:[::1]", "did:web:example.com:" + "a" * 200, "did:web:" + "a" * 600,
        "did:web:example.com:", "did:web:example..com", "did:key:z6Mk",
    ],
)  # fmt: skip
def test_what_leads_elsewhere_is_refused(did: str) -> None:
    """Another host or port, a path that climbs, a user, an address."""
    with pytest.raises(RefusedKey):
        document_url(did, {"example.com"})


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.0.0.1", False),
        ("192.168.1.1", False), ("172.16.0.1", False), ("169.254.169.254", False), ("0.0.0.0", False),
        ("100.64.0.1", False), ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("::", False),
        ("fe80::1%eth0", False), ("fc00::1", False), ("::ffff:127.0.0.1", False), ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False), ("2001:0:7f00:1::", False), ("nonsense", False),
    ],
)  # fmt: skip
def test_only_the_open_internet_is_asked(address: str, public: bool) -> None:
    """Private, local, shared, multicast and embedded addresses are not."""
    assert is_public(address) is public


def test_a_host_with_one_private_address_is_not_asked() -> None:
    """One public address beside it changes nothing; and a host without any has none."""
    for addresses in (["8.8.8.8", "127.0.0.1"], ["10.0.0.1"], []):
        asked = Resolver({"example.com"}, lookup=lambda *_, found=addresses: found)
        with pytest.raises(RefusedKey):
            asked("did:web:example.com#a")
        assert asked.authentic("did:web:example.com") == ()


def test_keys_of_a_document() -> None:
    """Those under `authentication`, by reference or in place, by full or short name; others and bad ones not."""
    did = "did:web:example.com"
    assert methods_of(did, document(did)) == {f"{did}#a": PUBLIC}
    inline = {"id": "#c", "publicKeyMultibase": MULTIBASE}
    assert methods_of(did, document(did, authentication=[inline])) == {f"{did}#c": PUBLIC}
    for odd in ({"authentication": None}, {"authentication": [5]}, {"verificationMethod": "x"},
                {"authentication": [{"id": "#c", "publicKeyMultibase": "zzz"}]}):  # fmt: skip
        assert methods_of(did, document(did, **odd)) == {}
    for none in ([], {}, {"id": "did:web:other.com"}, None):
        with pytest.raises(RefusedKey):
            methods_of(did, none)


class Site:
    """An https server of this test."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.drip, self.over = False, threading.Event()
        self.answer: tuple[int, dict[str, str], bytes] = (404, {}, b"")
        self.certificate, private_key = self_signed(folder)
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                while site.drip and not site.over.wait(0.05):
                    self.wfile.write(b"x")
                site.asked.append(f"{self.headers['host']}{self.path}")
                status, headers, body = site.answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign] # clients hang up here
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, private_key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.did = f"did:web:memory.example%3A{self.port}"

    def resolver(self) -> Resolver:
        """One that finds this server under its name, and trusts its certificate."""
        return Resolver(
            {f"memory.example:{self.port}"},
            lookup=lambda *_: ["127.0.0.1"],
            public=lambda _: True,
            trust=ssl.create_default_context(cafile=str(self.certificate)),
        )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The server, running."""
    made = Site(tmp_path)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.over.set()
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_a_document_is_fetched_once_and_its_key_found(site: Site) -> None:
    """By the name in the certificate, at the address that was looked up; then it is kept."""
    site.answer = (200, {}, json.dumps(document(site.did)).encode())
    resolver = site.resolver()
    assert resolver(f"{site.did}#a") == PUBLIC
    assert resolver.authentic(site.did) == (PUBLIC,)
    with pytest.raises(RefusedKey):
        resolver(f"{site.did}#b")  # not for authentication
    assert site.asked == [f"memory.example:{site.port}/.well-known/did.json"]


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"location": "https://127.0.0.1/secret"}, b""),
        (404, {}, b""),
        (200, {}, b"no JSON"),
        (200, {}, b" " * 100_000),
    ],
    ids=["redirect", "absent", "no JSON", "too large"],
)
def test_a_bad_answer_is_no_key(site: Site, answer: tuple[int, dict[str, str], bytes]) -> None:
    """And it is not asked again at once."""
    site.answer = answer
    resolver = site.resolver()
    for _ in range(3):
        with pytest.raises(RefusedKey):
            resolver(f"{site.did}#a")
    assert len(site.asked) == 1


def test_a_site_that_drips_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is for the whole answer, and there are only so many at once that wait."""
    monkeypatch.setattr(did_web, "SECONDS", 0.5)
    site.drip = True
    resolver = site.resolver()
    for path in "abcde":
        with pytest.raises(RefusedKey, match="in time" if path != "e" else "at once"):
            resolver(f"{site.did}:{path}#a")


def test_a_certificate_of_another_name_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the DID has to stand in the certificate, not the address."""
    site.answer = (200, {}, json.dumps(document(site.did)).encode())
    other = Resolver(
        {f"other.example:{site.port}"},
        lookup=lambda *_: ["127.0.0.1"],
        public=lambda _: True,
        trust=ssl.create_default_context(cafile=str(site.certificate)),
    )
    with pytest.raises(RefusedKey, match="can't be asked"):
        other(f"did:web:other.example%3A{site.port}#a")
    assert did_web.SECONDS > 0


def test_a_did_key_needs_nobody() -> None:
    """It is its own document."""
    assert Resolver()(to_did(PUBLIC)) == PUBLIC
