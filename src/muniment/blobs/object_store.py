"""Blobs in object storage (S3 and what speaks like it, GCS, Azure) by `obstore`: the only file that imports it.

Credentials never stand in a URL or in `config.yaml`: they come from the environment, where the providers' own tools
look for them too (`AWS_ACCESS_KEY_ID`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_KEY`, …).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from muniment.base.errors import (
    BlobStoreUnavailable,
    InvalidInput,
    LimitExceeded,
    MissingExtra,
    MunimentError,
    UnknownBlob,
)
from muniment.base.ids import BlobName, parse_blob
from muniment.base.limits import LIMITS
from muniment.blobs.base import BlobInfo, check_size, damaged, fan_out, name_of, unknown

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "memory")
PART_BYTES = 5 * 1024 * 1024  # the least that S3 takes as a part
_RETRIES = 5
_SECRET = ("key", "secret", "token", "password", "sas", "credential")


class ObjectBlobs:
    """Blobs as objects below a prefix; large ones go up in parts, and what fails in passing is tried again.

    Args:
        url: `s3://bucket/prefix`, `gs://…`, `az://…`.
        options: What the provider needs beside its credentials: `region`, `endpoint`, `allow_http`, …
        timeout_s: Seconds for one request; `retry_s` for all tries together.

    Raises:
        InvalidInput: No such scheme, an unknown option, or a secret where none belongs.
        MissingExtra: The extra `objects` is not installed.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = 30.0,
        retry_s: float = 60.0,
    ) -> None:
        self.place = url
        self._url, self._options = url, _checked(url, options or {})
        self._timeout, self._retry = timeout_s, retry_s
        self._opened: ObjectStore | None = None
        self._lock = threading.Lock()

    def put(self, data: bytes) -> BlobName:
        check_size(data)
        name = name_of(data)
        obstore, store = self._open()
        try:
            if self._same(name, data):
                return name
            multipart = len(data) > PART_BYTES
            obstore.put(store, _key(name), data, use_multipart=multipart, chunk_size=PART_BYTES)
        except Exception as error:
            raise self._explain(error, name) from error
        return name

    def _same(self, name: BlobName, data: bytes) -> bool:
        try:
            return self.size(name) == len(data) and self.get(name) == data
        except MunimentError as error:
            if isinstance(error, BlobStoreUnavailable):
                raise
            return False

    def get(self, name: BlobName) -> bytes:
        size = self.size(name)
        if size > LIMITS.blob_bytes:
            raise damaged(name, self.place)
        obstore, store = self._open()
        try:
            data = bytes(obstore.get(store, _key(name)).bytes())
        except Exception as error:
            raise self._explain(error, name) from error
        if name_of(data) != name:
            raise damaged(name, self.place)
        return data

    def read(self, name: BlobName, start: int, length: int) -> bytes:
        if length > LIMITS.blob_bytes:
            raise LimitExceeded("blob bytes", LIMITS.blob_bytes, length)
        if start + length > self.size(name):  # a server may cut a range short, or refuse it
            raise damaged(name, self.place)
        if not length:
            return b""
        obstore, store = self._open()
        try:
            part = bytes(obstore.get_range(store, _key(name), start=start, length=length))
        except Exception as error:
            raise self._explain(error, name) from error
        if len(part) != length:
            raise damaged(name, self.place)
        return part

    def has(self, name: BlobName) -> bool:
        try:
            self.size(name)
        except UnknownBlob:
            return False
        return True

    def size(self, name: BlobName) -> int:
        obstore, store = self._open()
        try:
            return int(obstore.head(store, _key(name))["size"])
        except Exception as error:
            raise self._explain(error, name) from error

    def delete(self, name: BlobName) -> bool:
        if not self.has(name):
            return False
        obstore, store = self._open()
        try:
            obstore.delete(store, _key(name))
        except Exception as error:
            raise self._explain(error, name) from error
        return True

    def list(self) -> Iterator[BlobInfo]:
        obstore, store = self._open()
        try:
            for page in obstore.list(store):
                for item in page:
                    found = _listed(item)
                    if found is not None:
                        yield found
        except MunimentError:
            raise
        except Exception as error:
            raise self._explain(error, None) from error

    def close(self) -> None:
        self._opened = None

    def _open(self) -> tuple[Any, ObjectStore]:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise MissingExtra("objects", f"keeping blobs at {self._url}") from error
        with self._lock:
            if self._opened is None:
                http = self._options.get("endpoint", "").startswith("http://") or None
                client = {"timeout": timedelta(seconds=self._timeout)}
                if http and self._options.get("allow_http"):
                    client["allow_http"] = True  # type: ignore[assignment]
                more = {k: v for k, v in self._options.items() if k != "allow_http"}
                retry = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=self._retry)}
                try:
                    self._opened = from_url(
                        self._url, **({} if self._url.startswith("memory:") else
                                      {"client_options": client, "retry_config": retry, **more})
                    )  # fmt: skip
                except Exception as error:
                    step = "See docs/archive.md for the options of each provider."
                    raise InvalidInput(f"{self._url} can't be opened: {_said(error)}", step) from error
            return obstore, self._opened

    def _explain(self, error: Exception, name: BlobName | None) -> MunimentError:
        if isinstance(error, MunimentError):
            return error
        from obstore import exceptions as theirs

        if isinstance(error, theirs.NotFoundError | FileNotFoundError) and name is not None:
            return unknown(name, self.place)
        if isinstance(error, theirs.PermissionDeniedError | theirs.UnauthenticatedError):
            step = "Check the credentials in the environment, and what they may do in that bucket."
            return BlobStoreUnavailable(f"{self.place} does not let this peer in: {_said(error)}", step)
        step = "Check the network and the settings of `archive.store`; nothing is lost, do it again."
        return BlobStoreUnavailable(f"{self.place} does not answer: {_said(error)}", step)


def _key(name: bytes) -> str:
    return "/".join(fan_out(name))


def _listed(item: Any) -> BlobInfo | None:
    try:
        name = parse_blob(item["path"].rpartition("/")[2])
    except InvalidInput:
        return None
    return BlobInfo(name, int(item["size"]), int(item["last_modified"].timestamp() * 1000))


def _said(error: Exception) -> str:
    """The first line of what a library says, cut; it may repeat an answer of a server."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]


def _checked(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.scheme == "memory"):
        raise InvalidInput(
            f"not a place for blobs: {parts.scheme or url[:80]!r}",
            "Use `folder`, or a URL that starts with s3://, gs:// or az://.",
        )
    if parts.username or parts.password or parts.query:
        raise InvalidInput("the URL of a blob store holds credentials", "Put them into the environment.")
    for name, value in options.items():
        if any(word in str(name).lower() for word in _SECRET):
            raise InvalidInput(
                f"the option {str(name)[:40]!r} of a blob store is a secret", "Put it into the environment."
            )
        if not isinstance(value, str | bool):
            raise InvalidInput(f"the option {str(name)[:40]!r} of a blob store is no text")
    return dict(options)
