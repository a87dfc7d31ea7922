"""Signed JSON-RPC calls over HTTP, and the server's errors as our own."""

from __future__ import annotations

import itertools
import json
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import orjson

from muniment.base import errors
from muniment.base.errors import BadAnswer, InvalidInput, MunimentError, Overloaded, Unreachable
from muniment.base.limits import LIMITS
from muniment.identity.http_signatures import Key, Request, sign_request
from muniment.platform.addresses import is_loopback

JSON = "application/json"


class Transport:
    """One server and one key. Safe for several threads.

    Args:
        url: Where `muniment serve` listens: `https://memory.example`, with a path where a proxy has one.
        key: Signs each request.
        timeout: Seconds to wait for an answer.
        ca_file: PEM certificates to trust in place of the system's.
        insecure: Let requests leave this machine unencrypted.
    """

    def __init__(
        self,
        url: str,
        key: Key,
        *,
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
        insecure: bool = False,
    ) -> None:
        self._url = _checked(url, insecure=insecure)
        self._key = key
        self._ids = itertools.count(1)
        self._authority = self._url.netloc.decode("ascii").lower()
        try:
            self._client = httpx2.Client(timeout=timeout, follow_redirects=False, verify=_trust(ca_file))
        except OSError as error:
            raise InvalidInput(f"{ca_file} holds no certificates: {error}", "Give a PEM file.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._url)!r}, {self._key.keyid.partition('#')[0]!r})"

    def close(self) -> None:
        """Close connections; harmless when done twice."""
        self._client.close()

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call a method and return its result, plain JSON.

        Raises:
            Unreachable | Overloaded | BadAnswer: No answer of the method came.
            MunimentError: What the server's memory had to say, as the same class as there.
        """
        number = next(self._ids)
        body = _dump({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})})
        answer = self.post(body)
        if not isinstance(answer, Mapping) or answer.get("jsonrpc") != "2.0":
            raise _strange("it is no JSON-RPC answer")
        if "error" in answer:
            raise error_of(answer["error"])
        if answer.get("id") != number or "result" not in answer:
            raise _strange("it answers another call")
        return answer["result"]

    def post(self, body: bytes) -> Any:
        """Send one body, a call or a batch, signed; the answer as JSON, None where there is none.

        Raises:
            Unreachable | Overloaded | BadAnswer: As for `call`.
        """
        query = self._url.query.decode("ascii")
        path = self._url.raw_path.decode("ascii").partition("?")[0]
        parts = Request("POST", self._authority, path, query, JSON, body)
        nonce = urlsafe_b64encode(os.urandom(18)).decode()
        headers = {"content-type": JSON, **sign_request(parts, self._key, int(time.time()), nonce)}
        try:
            with self._client.stream("POST", self._url, content=body, headers=headers) as answer:
                data = bytearray()
                for piece in answer.iter_bytes():
                    data += piece
                    if len(data) > LIMITS.answer_bytes:
                        raise _strange(f"it has more than {LIMITS.answer_bytes} bytes")
                return _read(answer.status_code, answer.headers, bytes(data))
        except httpx2.TimeoutException as error:
            raise Unreachable(
                f"{self._url} did not answer in time ({type(error).__name__})",
                "A write may have been done all the same: look before you repeat it.",
            ) from error
        except (httpx2.HTTPError, OSError) as error:
            raise Unreachable(
                f"{self._url} does not answer: {error}", "Look whether `muniment serve` runs there."
            ) from error


def _read(status: int, headers: Mapping[str, str], data: bytes) -> Any:
    if status == 204:
        return None
    if headers.get("content-type", "").partition(";")[0] != JSON:
        words = data[:200].decode("utf-8", "replace").strip()
        if status in {429, 503}:
            raise Overloaded(f"the server refuses for now: {words}")
        raise _strange(f"status {status}: {words!r}")
    try:
        return _load(data)
    except ValueError:
        raise _strange("it is no JSON") from None


def error_of(value: Any) -> MunimentError:
    """The error that a server's error object stands for: the same class as there, where there is one here."""
    if not isinstance(value, Mapping) or not isinstance(value.get("message"), str):
        return _strange("its error is none")
    data = value.get("data") if isinstance(value.get("data"), Mapping) else {}
    assert isinstance(data, Mapping)  # noqa: S101 - just looked at
    known = vars(errors).get(str(data.get("error")))
    step = str(data.get("next_step", ""))
    if not (isinstance(known, type) and issubclass(known, MunimentError)):
        return BadAnswer(f"the server says: {value['message']} (code {value.get('code')})", step)
    # Classes have constructors of their own; what they say was put in words by the server.
    made = known.__new__(known)
    MunimentError.__init__(made, value["message"], step)
    for name, here in (("choices", "choices"), ("rule", "reason"), ("retry_after", "retry_after")):
        if name in data:
            setattr(made, here, data[name])
    return made


def _strange(what: str) -> BadAnswer:
    return BadAnswer(
        f"the answer is not one of muniment: {what}", "Check the address, and the version there."
    )


def _checked(url: str, *, insecure: bool) -> httpx2.URL:
    step = "Write it as https://HOST or https://HOST:PORT."
    try:
        found = httpx2.URL(url.rstrip("/") + ("" if url.rstrip("/").endswith("/rpc") else "/rpc"))
    except (httpx2.InvalidURL, TypeError) as error:
        raise InvalidInput(f"not an address: {url[:80]!r}: {error}", step) from None
    if found.scheme not in {"http", "https"} or not found.host or found.userinfo or found.fragment:
        raise InvalidInput(f"not an address: {url[:80]!r}", step)
    if found.scheme == "http" and not (insecure or is_loopback(found.host)):
        raise InvalidInput(
            f"{url[:80]!r} would send memories unencrypted over the network", "Use https, or a tunnel."
        )
    return found


def _trust(ca_file: str | Path | None) -> Any:
    if ca_file is None:
        return True
    import ssl

    return ssl.create_default_context(cafile=str(ca_file))


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # lone surrogates and great numbers
        try:
            return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"that can't be said in JSON: {error}") from None


def _load(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        return json.loads(data)
