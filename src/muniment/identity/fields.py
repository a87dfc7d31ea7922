"""The few structured fields that signed messages use, read strictly (RFC 9651; design section 11).

Only what the profile needs, and only in its canonical form: a dictionary of one member that is an inner list with
parameters, or a byte sequence. A length is checked before anything is looked at, and no reading takes more than
one pass.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

FIELD_BYTES = 1024  # of any one header read here
_ITEM = r'"[a-z@][a-z0-9-]*"(?:;[a-z]+(?:="[a-z0-9_-]*")?)*'
_LIST = re.compile(rf"([a-z*][a-z0-9_.*-]*)=\(({_ITEM}(?: {_ITEM})*)?\)((?:;[^;\s]+)*)", re.ASCII)
_PARAM = re.compile(r';([a-z*][a-z0-9_.*-]*)=(?:"([\x20-\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]*)"|(-?[0-9]{1,15}))')
_BYTES = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):", re.ASCII)


class Listed(NamedTuple):
    """A dictionary's one member, an inner list.

    Attributes:
        label: The member's key.
        items: The list's items as they are written, quotes and parameters included.
        params: Parameters of the list by name: numbers and texts.
        text: The list and its parameters as they are written.
    """

    label: str
    items: tuple[str, ...]
    params: dict[str, int | str]
    text: str


def read_list(value: str) -> Listed | None:
    """A dictionary of one inner list, in its canonical form; None where it is anything else."""
    match = _LIST.fullmatch(value) if len(value) <= FIELD_BYTES else None
    if match is None:
        return None
    label, items, tail = match[1], match[2] or "", match[3]
    params: dict[str, int | str] = {}
    at = 0
    while at < len(tail):
        found = _PARAM.match(tail, at)
        if found is None or found[1] in params:
            return None
        if found[2] is not None:
            params[found[1]] = found[2]
        elif str(int(found[3])) == found[3]:
            params[found[1]] = int(found[3])
        else:
            return None  # a number has one spelling
        at = found.end()
    return Listed(label, tuple(items.split(" ")) if items else (), params, value[len(label) + 1 :])


def read_bytes(value: str) -> tuple[str, bytes] | None:
    """A dictionary of one byte sequence: its key and the bytes; None where it is anything else."""
    match = _BYTES.fullmatch(value) if len(value) <= FIELD_BYTES else None
    if match is None:
        return None
    try:
        data = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return None
    return (match[1], data) if base64.b64encode(data).decode() == match[2] else None


def write_bytes(label: str, data: bytes) -> str:
    """A dictionary of one byte sequence."""
    return f"{label}=:{base64.b64encode(data).decode()}:"
