"""Bytes that don't show themselves: not when printed, not in a traceback, not when pickled or copied."""

from __future__ import annotations

import unicodedata
from typing import Any, NoReturn, SupportsIndex

_SHOWN = "Secret(…)"


class Secret(bytes):
    """Secret bytes. Libsodium takes them as they are; every way to print them gives a placeholder.

    A slice of a secret is a secret. Python keeps its bytes in memory until they are collected and can't wipe
    them: who can read the process's memory can read them. What this guards against is logs and tracebacks.
    """

    __slots__ = ()

    @classmethod
    def of_text(cls, text: str) -> Secret:
        """A typed passphrase as bytes: NFC (RFC 8265), so that it is the same from every keyboard, then UTF-8."""
        return cls(unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass"))

    def __repr__(self) -> str:
        return _SHOWN

    def __str__(self) -> str:
        return _SHOWN

    def __format__(self, spec: str) -> str:
        return _SHOWN

    def hex(self, *_: Any, **__: Any) -> str:
        """The placeholder: hex digits are how keys get into logs."""
        return _SHOWN

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        # Printers that shorten long values slice them first.
        part = super().__getitem__(index)
        return Secret(part) if isinstance(part, bytes) else part

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")
