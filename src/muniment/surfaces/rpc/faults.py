"""From errors of the memory to errors of JSON-RPC, and the words by which programs know them."""

from __future__ import annotations

import re
from typing import Any

from muniment.base.errors import (
    Ambiguous,
    InputError,
    MunimentError,
    Overloaded,
    Refused,
    RefusedSignature,
)
from muniment.surfaces.rpc.protocol import INTERNAL, PARAMS, RpcError

APPLICATION = 1000  # plus the exit code of the command line: outside what the protocol keeps for itself
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def reason_of(error: MunimentError) -> str:
    """One word for programs: the error's name, `unknown_record` for `UnknownRecord`."""
    return _HUMPS.sub("_", error.name).lower()


def fault_of(error: MunimentError) -> RpcError:
    """The error object: -32602 where the parameters are at fault, else 1000 and the exit code."""
    code = PARAMS if isinstance(error, InputError) else APPLICATION + error.exit_code
    data: dict[str, Any] = {
        "reason": reason_of(error),
        "error": error.name,
        "next_step": error.next_step,
        "exit_code": error.exit_code,
    }
    if isinstance(error, Ambiguous):
        data["choices"] = error.choices
    if isinstance(error, RefusedSignature):
        data["rule"] = error.reason
    if isinstance(error, Overloaded):
        data["retry_after"] = error.retry_after
    return RpcError(code, error.message, data)


def status_of(error: MunimentError) -> int:
    """The HTTP status where a request as a whole is refused: who are you, you may not, not now, or bad."""
    if isinstance(error, RefusedSignature):
        return 401
    if isinstance(error, Overloaded):
        return 429
    if isinstance(error, Refused | InputError):
        return 400
    return 403 if error.exit_code == 4 else 503


def bug(error: Exception) -> RpcError:
    """What is said of an error that nobody expected: its kind, since its words may hold a memory."""
    return RpcError(
        INTERNAL, "muniment broke on something that it did not expect; this is a bug",
        {"reason": "internal_error", "kind": type(error).__name__},
    )  # fmt: skip
