"""One POST over HTTP: the only file that imports `httpx2`.

A server is a stranger, also one on this machine. Its answer is cut at a size, the whole exchange at a time
however slowly it drips, redirects are not followed, and compressed answers are not asked for or taken, so
that none can unfold. Proxies, certificates and `.netrc` of the environment are not used: memories go where the
settings say and nowhere else. The key is asked for when a request is made, and kept by nothing here.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import httpx2

from muniment.base.errors import EmbedderRefused, EmbedderUnavailable, InvalidInput
from muniment.embed.calls import Passing

Key = Callable[[], "str | None"]
_PASSING = {408, 425, 429}
_FOR_EVER = {501, 505}
_IDLE = 4  # connections kept for the next call
_ERROR_BYTES = 16_384  # of an answer that is only read for its words


class Answer(NamedTuple):
    """What came back: status, header fields by small-letter name, and the body or its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Line:
    """One connection and the means to cut it from another thread."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        self.client = httpx2.Client(
            verify=trust,
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60.0),
        )
        self._twin: socket.socket | None = None
        self._lock = threading.Lock()
        self._turn = 0
        self.cut_off = False

    def begin(self) -> int:
        """Another exchange; gives its number, by which it can be cut."""
        with self._lock:
            self._turn += 1
            self.cut_off = False
            return self._turn

    def end(self) -> bool:
        """The exchange is over and can't be cut any more; whether it was not."""
        with self._lock:
            self._turn += 1
            return not self.cut_off

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep a second handle on each new connection."""
        if event == "connection.connect_tcp.complete":
            self._drop_twin()
            plain = info["return_value"].get_extra_info("socket")
            with self._lock:
                if isinstance(plain, socket.socket):
                    self._twin = plain.dup()
                if self.cut_off:  # while it was being made
                    self._hang_up()

    def cut(self, turn: int) -> None:
        """End that exchange, if it is still under way: whoever reads sees the end of the stream."""
        with self._lock:
            if turn == self._turn:
                self.cut_off = True
                self._hang_up()

    def _hang_up(self) -> None:
        if self._twin is not None:
            with contextlib.suppress(OSError):
                self._twin.shutdown(socket.SHUT_RDWR)

    def _drop_twin(self) -> None:
        with self._lock:
            twin, self._twin = self._twin, None
        if twin is not None:
            twin.close()

    def close(self) -> None:
        """Let go of the connection."""
        self.client.close()
        self._drop_twin()


class _Bearer(httpx2.Auth):
    """Puts the key on a request; it stands in no attribute."""

    def __init__(self, key: Key) -> None:
        self._key = key

    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        key = self._key()
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        yield request


class Wire:
    """Sends JSON to one address and takes bytes back.

    Args:
        url: Where to.
        key: Gives the API key, or None. Called for each request.
        key_may_travel: False if a key would go over an open line to another machine.
    """

    def __init__(self, url: str, key: Key, *, key_may_travel: bool) -> None:
        self._url, self._key, self._may = url, key, key_may_travel
        self._idle: list[_Line] = []
        self._lock = threading.Lock()
        self._trust: ssl.SSLContext | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"Wire({self._url!r})"

    def post(self, payload: bytes, left_s: float, most_bytes: int) -> Answer | Passing:
        """One exchange.

        Args:
            payload: JSON.
            left_s: For the whole exchange, in seconds.
            most_bytes: The largest answer that is taken.

        Raises:
            EmbedderRefused: The answer is larger, compressed, or a redirect.
            EmbedderUnavailable: The embedder was closed.
            InvalidInput: The key can't be sent.
        """
        self._check_key()
        line = self._take_line()
        timer = threading.Timer(left_s, line.cut, (line.begin(),))
        timer.daemon = True
        timer.start()
        sound = False
        try:
            found = self._exchange(line, payload, left_s, most_bytes)
            sound = isinstance(found, Answer)
        finally:
            timer.cancel()
            self._give_back(line, line.end() and sound)
        return found

    def _exchange(self, line: _Line, payload: bytes, left_s: float, most: int) -> Answer | Passing:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "muniment",
        }
        try:
            with line.client.stream(
                "POST", self._url, content=payload, headers=headers, auth=_Bearer(self._key),
                timeout=left_s, extensions={"trace": line.trace},
            ) as response:  # fmt: skip
                answer = _read(response, most)
        except httpx2.TimeoutException:
            return Passing(f"did not answer within {left_s:.1f} s")
        except (httpx2.TransportError, httpx2.InvalidURL, UnicodeError) as error:
            if line.cut_off:
                return Passing(f"did not answer within {left_s:.1f} s")
            return Passing(f"can't be reached: {type(error).__name__}")
        # An end that was forced looks like an end.
        return Passing(f"did not answer within {left_s:.1f} s") if line.cut_off else answer

    def _check_key(self) -> None:
        """Refuse to send a key where others read along, or one that would break the header; say nothing of it."""
        key = self._key()
        if not key:
            return
        if not self._may:
            raise InvalidInput(
                f"the API key would go to {self._url} over an open line",
                "Use https, or set `plain_http: true` if the way there is safe.",
            )
        if not sendable(key):
            raise InvalidInput(
                "the API key has characters that no header can hold",
                "Set it again: muniment credential set PROVIDER",
            )

    def _take_line(self) -> _Line:
        with self._lock:
            if self._closed:
                raise EmbedderUnavailable("the embedder is closed", "Open it again.")
            if self._idle:
                return self._idle.pop()
            if self._trust is None:
                self._trust = _trust(self._url)
            return _Line(self._trust)

    def _give_back(self, line: _Line, sound: bool) -> None:
        with self._lock:
            if sound and not self._closed and len(self._idle) < _IDLE:
                self._idle.append(line)
                return
        line.close()

    def close(self) -> None:
        """Let go of all connections; harmless when done twice."""
        with self._lock:
            self._closed = True
            lines, self._idle = self._idle, []
        for line in lines:
            line.close()


def _trust(url: str) -> ssl.SSLContext:
    """Whom to trust: as the system does. Reading that takes a while, so plain http gets one that trusts nobody."""
    if url.startswith("https:"):
        return httpx2.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def sendable(key: str) -> bool:
    """Whether a key can stand in a header: printable ASCII without blanks."""
    return bool(key) and all("!" <= char <= "~" for char in key)


def _read(response: httpx2.Response, most: int) -> Answer:
    status = response.status_code
    headers = {name.lower(): value for name, value in response.headers.items()}
    good = 200 <= status < 300
    if 300 <= status < 400:
        raise EmbedderRefused(
            f"the server at {response.url} answers with a redirect ({status}), which is not followed",
            "Set `api_base` to the address that is meant.",
        )
    if good and headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise EmbedderRefused(
            f"the server at {response.url} compressed its answer, which it was asked not to do",
            "Look at what stands between here and there.",
        )
    length = headers.get("content-length", "")
    if good and length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > most):
        raise _too_large(response, most)
    body = bytearray()
    for part in response.iter_raw():
        body += part
        if len(body) > (most if good else _ERROR_BYTES):
            if good:
                raise _too_large(response, most)
            break
    return Answer(status, headers, bytes(body))


def _too_large(response: httpx2.Response, most: int) -> EmbedderRefused:
    return EmbedderRefused(
        f"the server at {response.url} answers with more than {most:,} bytes",
        "Lower `batch`, or look whether that model makes embeddings.",
    )


def passing(status: int) -> bool:
    """Whether an error of that status may pass by itself."""
    return status in _PASSING or (status >= 500 and status not in _FOR_EVER)
