"""The frames of a live tail over HTTP: length, signature, message (docs/sync.md, "HTTP").

A streamed answer has no digest before it ends, so each frame is signed by itself: over the signature of the request
that it answers, its number, and the hash of its message. An empty message says that the server is still there.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator

from muniment.base import codec
from muniment.base.errors import BadMessage
from muniment.base.limits import LIMITS
from muniment.identity import keys

HEAD = struct.Struct(">I64s")
MEDIA_TYPE = "application/vnd.muniment.tail"


def _signed(request_signature: str, number: int, message: bytes) -> bytes:
    asked = hashlib.sha256(request_signature.encode("ascii")).digest()
    return asked + struct.pack(">Q", number) + hashlib.sha256(message).digest()


def write_frame(
    sign: Callable[[bytes, bytes], bytes], request_signature: str, number: int, message: bytes
) -> bytes:
    """The frame of one message.

    Args:
        sign: From domain and message to a signature of 64 bytes.
        request_signature: The `Signature` header of the request.
        number: 0 for the first frame, then one more each.
        message: Empty where there is nothing to tell.
    """
    return HEAD.pack(len(message), sign(codec.TAIL, _signed(request_signature, number, message))) + message


def read_frames(pieces: Iterable[bytes], key: bytes, request_signature: str) -> Iterator[bytes]:
    """The messages of a stream, the empty ones too; each is verified before it is given.

    Raises:
        BadMessage: A frame is too long, or `key` did not sign it for this place of this answer.
    """
    held = bytearray()
    number = 0
    for piece in pieces:
        held += piece
        while len(held) >= HEAD.size:
            length, signature = HEAD.unpack_from(held)
            if length > LIMITS.sync_message_bytes:
                raise BadMessage("oversize")
            if len(held) < HEAD.size + length:
                break
            message = bytes(held[HEAD.size : HEAD.size + length])
            if not keys.verify(key, signature, codec.TAIL, _signed(request_signature, number, message)):
                raise BadMessage("malformed", "a frame of a live tail is not signed by the other end")
            del held[: HEAD.size + length]
            number += 1
            yield message
