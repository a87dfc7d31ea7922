"""What an owner of blobs and a holder say to each other: one question, one answer, canonical DAG-CBOR (section 9).

| question | answer |
|---|---|
| `hello` by, sig | `welcome`; only where the transport does not say who asks |
| `keep` blob, size, root, until | `wants` chunks that are missing, or `receipt` once all are here |
| `give` blob, number, data, path | `done` |
| `prove` a challenge | `proof` |
| `outline` blob | `described` size, root |
| `get` blob, number | `chunk` data, path |

`outline` and `get` are also for members of a bank whose archive acts name the payload. `no` with a reason answers any
of them. Who asks is known from the transport, or from `hello`. All bytes are hostile.
"""

from __future__ import annotations

from typing import Any

from muniment.base import codec
from muniment.base.errors import BadMessage, LimitExceeded, Malformed
from muniment.base.limits import LIMITS, MAX_AT_MS

_SHAPES: dict[str, dict[str, type]] = {
    "hello": {"by": bytes, "sig": bytes},
    "welcome": {},
    "keep": {"blob": bytes, "size": int, "root": bytes, "until": int},
    "give": {"blob": bytes, "number": int, "data": bytes, "path": list},
    "prove": {"said": bytes},
    "outline": {"blob": bytes},
    "get": {"blob": bytes, "number": int},
    "wants": {"chunks": list},
    "receipt": {"said": bytes},
    "done": {},
    "proof": {"said": bytes},
    "described": {"size": int, "root": bytes},
    "chunk": {"data": bytes, "path": list},
    "no": {"why": str},
}
_HASHES = ("blob", "root", "by")
_MOST = 1024  # items of a list: more than a blob has chunks, or a path steps


def write(kind: str, **fields: Any) -> bytes:
    """The bytes of a message."""
    return codec.encode({"t": kind, **fields})


def read(data: bytes) -> tuple[str, dict[str, Any]]:
    """A message: its kind and its fields, each of its type and size.

    Raises:
        BadMessage: It is none; `.reason` is `oversize` or `malformed`.
    """
    try:
        said = codec.decode(data, LIMITS.custody_message_bytes)
    except LimitExceeded:
        raise BadMessage("oversize") from None
    except Malformed as error:
        raise BadMessage("malformed", error.message) from None
    kind = said.pop("t", None) if isinstance(said, dict) else None
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None or set(said) != set(shape):
        raise BadMessage("malformed", "it is no message about custody")
    for name, value in said.items():
        if type(value) is not shape[name] or not _fits(name, value):
            raise BadMessage("malformed", name)
    return str(kind), said


def _fits(name: str, value: Any) -> bool:
    if isinstance(value, int):
        return 0 <= value <= MAX_AT_MS
    if isinstance(value, list):
        kind = int if name == "chunks" else bytes
        return len(value) <= _MOST and all(type(item) is kind for item in value)
    return len(value) == 32 if name in _HASHES else True
