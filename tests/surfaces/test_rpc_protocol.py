"""JSON-RPC 2.0: the specification's own list of examples, and what it says beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.limits import LIMITS
from muniment.surfaces.rpc.protocol import NO_METHOD, Params, RpcError, answer

heard: list[tuple[str, Params]] = []


def call(method: str, params: Params) -> Any:
    """The methods that the specification's examples use."""
    match method:
        case "subtract" if isinstance(params, dict):
            return params["minuend"] - params["subtrahend"]
        case "subtract":
            return params[0] - params[1]
        case "sum":
            return sum(params)
        case "get_data":
            return ["hello", 5]
        case "update" | "notify_hello" | "notify_sum":
            heard.append((method, params))
            return None
    raise RpcError(NO_METHOD, "Method not found", {"reason": "method_not_found"})


def short(value: Any) -> Any:
    """An answer with its errors as their codes."""
    if isinstance(value, list):
        return [short(item) for item in value]
    if "error" in value:
        return {**value, "error": value["error"]["code"]}
    return value


def ok(result: Any, call_id: Any) -> dict[str, Any]:
    """An answer that went well."""
    return {"jsonrpc": "2.0", "result": result, "id": call_id}


def bad(code: int, call_id: Any = None) -> dict[str, Any]:
    """An answer that did not."""
    return {"jsonrpc": "2.0", "error": code, "id": call_id}


BATCH = """[
  {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
  {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
  {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
  {"foo": "boo"},
  {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
  {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
]"""

NOTIFICATIONS = """[
  {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
  {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
]"""

# The examples of the specification, section 7, in its order.
EXAMPLES: list[tuple[str, Any]] = [
    ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', ok(19, 1)),
    ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}', ok(-19, 2)),
    (
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
        ok(19, 3),
    ),
    (
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
        ok(19, 4),
    ),
    ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
    ('{"jsonrpc": "2.0", "method": "foobar"}', None),
    ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', bad(-32601, "1")),
    ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', bad(-32700)),
    ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', bad(-32600)),
    (
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]',
        bad(-32700),
    ),
    ("[]", bad(-32600)),
    ("[1]", [bad(-32600)]),
    ("[1,2,3]", [bad(-32600), bad(-32600), bad(-32600)]),
    (BATCH, [ok(7, "1"), ok(19, "2"), bad(-32600), bad(-32601, "5"), ok(["hello", 5], "9")]),
    (
        NOTIFICATIONS,
        None,
    ),
]


@pytest.mark.parametrize(("asked", "expected"), EXAMPLES, ids=[str(n) for n in range(len(EXAMPLES))])
def test_the_examples_of_the_specification(asked: str, expected: Any) -> None:
    """Each example gives what the specification shows."""
    given = answer(asked.encode(), call)
    assert (None if given is None else short(json.loads(given))) == expected


@pytest.mark.parametrize(
    ("asked", "code", "call_id"),
    [
        ('{"jsonrpc": "1.0", "method": "sum", "id": 1}', -32600, 1),
        ('{"method": "sum", "id": 1}', -32600, 1),
        ('{"jsonrpc": "2.0", "method": "sum", "params": 1, "id": 1}', -32600, 1),
        ('{"jsonrpc": "2.0", "method": "sum", "params": null, "id": 1}', -32600, 1),
        ('{"jsonrpc": "2.0", "method": "sum", "id": true}', -32600, None),
        ('{"jsonrpc": "2.0", "method": "sum", "id": {}}', -32600, None),
        ('"sum"', -32600, None),
        ("null", -32600, None),
        ("", -32700, None),
        ("\xff", -32700, None),
        ('{"jsonrpc": "2.0", "method": "sum", "params": [NaN], "id": 1}', -32700, None),
        ("[" * 100_000, -32700, None),
        ('"\\u12"', -32700, None),
        ('["\\ud800",' + "[" * 100_000, -32700, None),
    ],
)
def test_what_is_no_call_is_said_so(asked: str, code: int, call_id: Any) -> None:
    """An id that can be read is given back, else null."""
    given = answer(asked.encode("latin-1"), call)
    assert given is not None
    assert short(json.loads(given)) == bad(code, call_id)


def test_null_and_fractions_are_ids() -> None:
    """The specification discourages them and does not forbid them."""
    for call_id in (None, 1.5, ""):
        asked = json.dumps({"jsonrpc": "2.0", "method": "get_data", "id": call_id}).encode()
        assert json.loads(answer(asked, call) or b"") == ok(["hello", 5], call_id)


def test_a_batch_has_a_bound() -> None:
    """More calls than `Limits.request_calls` are refused as a whole, and none is done."""
    heard.clear()
    one = {"jsonrpc": "2.0", "method": "update", "params": []}
    assert answer(json.dumps([one] * LIMITS.request_calls).encode(), call) is None
    assert len(heard) == LIMITS.request_calls
    given = answer(json.dumps([one] * (LIMITS.request_calls + 1)).encode(), call)
    assert short(json.loads(given or b"")) == bad(-32600)
    assert len(heard) == LIMITS.request_calls


def test_text_that_is_no_unicode_goes_both_ways() -> None:
    """A lone surrogate in a parameter and in a result is itself."""
    asked = json.dumps({"jsonrpc": "2.0", "method": "echo", "params": ["\ud800"], "id": 1}).encode()
    given = answer(asked, lambda _, params: params[0])
    assert json.loads(given or b"")["result"] == "\ud800"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
ALMOST = st.fixed_dictionaries(
    {},
    optional={"jsonrpc": st.just("2.0") | JSON, "method": st.just("sum") | JSON, "id": JSON, "params": JSON},
)


@given(
    st.binary(max_size=200)
    | (JSON | ALMOST | st.lists(ALMOST, max_size=5)).map(lambda v: json.dumps(v).encode())
)
def test_any_bytes_are_answered_or_need_no_answer(body: bytes) -> None:
    """Each answer has exactly one of result and error, and an id."""

    def quiet(_method: str, _params: Params) -> Any:
        return 1

    given = answer(body, quiet)
    answers = [] if given is None else json.loads(given)
    for one in answers if isinstance(answers, list) else [answers]:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) != ("error" in one)
        assert "id" in one
