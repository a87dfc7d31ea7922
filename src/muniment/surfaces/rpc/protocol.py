"""JSON-RPC 2.0, whole: calls, notifications, batches, errors (jsonrpc.org specification, 26 March 2010).

Bytes in, bytes out; what a method does is somebody else's affair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from muniment.base.limits import LIMITS

PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603

Params = Mapping[str, Any] | Sequence[Any]
Call = Callable[[str, Params], Any]


@dataclass
class RpcError(Exception):
    """An error object.

    Attributes:
        code: -32768 to -32000 are the protocol's own.
        data: What else is known; always with a `reason`, one word for programs.
    """

    code: int
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The member `error` of an answer."""
        return {"code": self.code, "message": self.message, "data": dict(self.data)}


def answer(body: bytes, call: Call) -> bytes | None:
    """Answer the body of a request; None where nothing is answered, for notifications alone.

    Args:
        body: A call or a batch.
        call: Does what a method asks, or raises `RpcError`; nothing else.
    """
    try:
        asked = load(body)
    except ValueError:
        return dump(failure(None, RpcError(PARSE, "not JSON", {"reason": "parse_error"})))
    if not isinstance(asked, list):
        single = _one(asked, call)
        return None if single is None else dump(single)
    if not asked:
        return dump(failure(None, RpcError(INVALID, "the batch is empty", {"reason": "invalid_request"})))
    if len(asked) > LIMITS.request_calls:
        many = f"a batch has at most {LIMITS.request_calls} calls, not {len(asked)}"
        return dump(failure(None, RpcError(INVALID, many, {"reason": "limit_exceeded"})))
    answers = [made for item in asked if (made := _one(item, call)) is not None]
    return dump(answers) if answers else None


def _one(asked: Any, call: Call) -> dict[str, Any] | None:
    """The answer to one call; None for a notification."""
    fault = _fault(asked)
    if fault is not None:
        known = isinstance(asked, dict) and "id" in asked and _is_id(asked["id"])
        return failure(
            asked["id"] if known else None, RpcError(INVALID, fault, {"reason": "invalid_request"})
        )
    silent = "id" not in asked
    try:
        result = call(asked["method"], asked.get("params", {}))
    except RpcError as error:
        return None if silent else failure(asked["id"], error)
    return None if silent else {"jsonrpc": "2.0", "result": result, "id": asked["id"]}


def _fault(asked: Any) -> str | None:
    if not isinstance(asked, dict):
        return "a call is an object"
    if asked.get("jsonrpc") != "2.0":
        return '`jsonrpc` has to be "2.0"'
    if not isinstance(asked.get("method"), str):
        return "`method` has to be a string"
    if "params" in asked and not isinstance(asked["params"], dict | list):
        return "`params` has to be an object or an array"
    if "id" in asked and not _is_id(asked["id"]):
        return "`id` has to be a string, a number or null"
    return None


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def failure(call_id: Any, error: RpcError) -> dict[str, Any]:
    """The answer that holds an error."""
    return {"jsonrpc": "2.0", "error": error.to_json(), "id": call_id}


def load(body: bytes) -> Any:
    """Read JSON; escapes that are no Unicode are taken as they are, NaN is not.

    Raises:
        ValueError: It is none.
    """
    try:
        return orjson.loads(body)
    except ValueError:
        if b"\\u" not in body:
            raise
    try:
        return json.loads(body, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refuse(word: str) -> Any:
    raise ValueError(word)


def dump(value: Any) -> bytes:
    """A value as JSON; text that is no Unicode, and great numbers, are no trouble."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
