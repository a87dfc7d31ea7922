"""Sync over HTTP, the client's side: each question one signed POST, a live tail one streamed answer (RFC 9421).

The key that speaks in the round signs each request. Who answers is not known before the server has shown its key in
the round; from then on every answer has to be signed by that key. See docs/sync.md, "HTTP".
"""

from __future__ import annotations

import socket
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Self
from urllib.parse import urlsplit

import httpx2

from muniment.base.errors import (
    BadMessage,
    InvalidInput,
    Overloaded,
    RefusedSignature,
    SyncError,
    Unreachable,
)
from muniment.base.limits import LIMITS
from muniment.identity.http_signatures import Key, Request, keyid_of, sign_request, verify_answer
from muniment.platform.addresses import is_loopback
from muniment.sync import messages
from muniment.sync.dialling import Caller
from muniment.sync.messages import Failure, Welcome
from muniment.sync.tails import MEDIA_TYPE as TAIL_TYPE
from muniment.sync.tails import read_frames

PATH = "/sync/1"
MEDIA_TYPE = "application/vnd.muniment.sync"
WHOLE_S = 120.0  # for one answer, however steadily it drips
SILENT_S = 15.0  # a live tail says every few seconds that it is there
_ERROR_BYTES = 4096  # of an answer that is none: enough for its words


def origin_of(scheme: str, authority: str) -> str:
    """`scheme://host:port`, in lower case and with the port spelled out: what both ends bind a round to."""
    parts = urlsplit(f"{scheme}://{authority}".lower())
    host = parts.hostname or ""
    port = parts.port or (443 if scheme == "https" else 80)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


class HttpLink:
    """A way to the server at one address; see `Dialled`.

    Args:
        address: From `check_address`.
        caller: Who dials.
        path, media_type: Of the door that is asked, below the address.

    Raises:
        InvalidInput: It leads beyond this machine, and nothing would be encrypted.
    """

    def __init__(self, address: str, caller: Caller, path: str = PATH, media_type: str = MEDIA_TYPE) -> None:
        parts = urlsplit(address)
        self._media_type = media_type
        if parts.scheme == "http" and not (caller.plain or is_loopback(parts.hostname or "")):
            raise InvalidInput(
                f"{address} is not encrypted, so everybody on the way would see who syncs what",
                "Use https, or set `sync.plain_http: true` in a network that is wholly yours.",
            )
        self._address, self._caller = address, caller
        self.binding = origin_of(parts.scheme, parts.netloc).encode()
        # As the `Host` header has it: without the scheme's own port.
        usual = ":443" if parts.scheme == "https" else ":80"
        self._authority, self._path = parts.netloc.lower().removesuffix(usual), parts.path + path
        self._key = Key(
            keyid_of(caller.key), lambda domain, rest: caller.keyring.sign(caller.key, domain, rest)
        )
        self._client = httpx2.Client(timeout=caller.timeout_s, follow_redirects=False, trust_env=False)
        self._other: bytes | None = None  # the key that the server proved in the round
        self._socket: socket.socket | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; a thread that waits for the server is told so."""
        self._closed = True
        waiting = self._socket
        if waiting is not None:
            with suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)
        self._client.close()

    def exchange(self, question: bytes) -> list[bytes]:
        """The answer to a question; see `Dialled.exchange`."""
        until = time.monotonic() + WHOLE_S
        with self._post(question, self._caller.timeout_s) as (answer, signature):
            data = _read(answer, LIMITS.sync_message_bytes, until)
            _check(answer, data, MEDIA_TYPE)
            self._check_signature(answer, data, signature)
        return [data]

    def ask(self, question: bytes) -> bytes:
        """The answer to a question, by whoever answers: for doors whose answers prove themselves.

        Raises:
            Unreachable | Overloaded | SyncError: As for `exchange`.
        """
        with self._post(question, self._caller.timeout_s) as (answer, _):
            data = _read(answer, LIMITS.sync_message_bytes, time.monotonic() + WHOLE_S)
            _check(answer, data, self._media_type)
        return data

    def tail(self, question: bytes) -> Iterator[bytes]:
        """What the server has to tell; see `Dialled.tail`."""
        if self._other is None:
            raise SyncError("nothing is followed before the other end has proved its key", "Sync first.")
        with self._post(question, SILENT_S) as (answer, signature):
            if answer.headers.get("content-type") != TAIL_TYPE:
                data = _read(answer, LIMITS.sync_message_bytes, time.monotonic() + WHOLE_S)
                _check(answer, data, MEDIA_TYPE)
                self._check_signature(answer, data, signature)
                yield data
                return
            stream = answer.extensions.get("network_stream")
            self._socket = None if stream is None else stream.get_extra_info("socket")
            yield from read_frames(answer.iter_bytes(), self._other, signature)
        raise Unreachable(f"{self._address} stopped telling", "It is followed again at the next sync.")

    @contextmanager
    def _post(self, question: bytes, timeout_s: float) -> Iterator[tuple[httpx2.Response, str]]:
        if len(question) > LIMITS.sync_message_bytes:
            raise BadMessage("oversize")
        created = self._caller.clock.now_ms() // 1000
        nonce = urlsafe_b64encode(self._caller.entropy.bytes(18)).decode()
        parts = Request("POST", self._authority, self._path, "", self._media_type, question)
        headers = {"content-type": self._media_type, **sign_request(parts, self._key, created, nonce)}
        url = f"{urlsplit(self._address).scheme}://{self._authority}{self._path}"
        timeout = httpx2.Timeout(self._caller.timeout_s, read=timeout_s)
        try:
            with self._client.stream(
                "POST", url, content=question, headers=headers, timeout=timeout
            ) as answer:
                yield answer, headers["signature"]
        except httpx2.TimeoutException as error:
            raise Unreachable(
                f"{self._address} did not answer in time", "Look whether `muniment serve` runs there."
            ) from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not self._closed:
                raise
            raise Unreachable(
                f"{self._address} does not answer: {type(error).__name__}",
                "Look whether `muniment serve` runs there, and at the address.",
            ) from error
        finally:
            self._socket = None

    def _check_signature(self, answer: httpx2.Response, data: bytes, request_signature: str) -> None:
        """Refuse an answer that nobody signed, or another than who proved itself; a refusal may be anybody's."""
        now = self._caller.clock.now_ms() // 1000
        try:
            claim = verify_answer(
                answer.status_code, data, answer.headers.multi_items(), request_signature, now
            )
        except RefusedSignature as error:
            raise SyncError(
                f"the answer of {self._address} is not signed as it has to be: {error.message}",
                "Look at the clocks of both ends; if they are right, something on the way changes answers.",
            ) from error
        if claim.key == self._other:
            return
        said = messages.decode(data)
        if self._other is None and isinstance(said, Welcome):
            if said.by != claim.key:
                raise BadMessage("malformed", "another key signed the answer than the one it shows")
            self._other = claim.key
        elif self._other is not None and not isinstance(said, Failure):
            raise BadMessage("malformed", "another key answers than the one that was proved")


def _read(answer: httpx2.Response, most: int, until: float) -> bytes:
    data = bytearray()
    for piece in answer.iter_bytes():
        data += piece
        if len(data) > most:
            raise BadMessage("oversize")
        if time.monotonic() > until:
            raise Unreachable("the answer did not end in time", "Sync again: it goes on where it was.")
    return bytes(data)


def _check(answer: httpx2.Response, data: bytes, media_type: str) -> None:
    """Say what an answer means that is not one of the protocol."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if answer.status_code == 200 and kind == media_type:
        return
    words = data[:_ERROR_BYTES].decode("utf-8", "replace").strip()[:200]
    if answer.status_code in {429, 503}:
        wait = _number(answer.headers)
        raise Overloaded(f"the other end refuses for now: {words!r}", wait)
    raise SyncError(
        f"there is no peer of muniment at that address: status {answer.status_code}, {words!r}",
        "Look at the address, at the version there, and at the clocks of both ends.",
    )


def _number(headers: Mapping[str, str]) -> float:
    text = headers.get("retry-after", "1")
    return float(text) if text.isdigit() and len(text) < 6 else 1.0


def public_origins(urls: Iterable[str]) -> dict[str, tuple[str, str]]:
    """From the authority of each public address of a server to its origin and the path that its door has there."""
    found = {}
    for url in urls:
        parts = urlsplit(url)
        found[parts.netloc.lower()] = (origin_of(parts.scheme, parts.netloc), parts.path.rstrip("/") + PATH)
    return found


def dial(address: str, caller: Caller) -> HttpLink:
    """A link to an HTTP address; nothing is sent before the first question."""
    return HttpLink(address, caller)
