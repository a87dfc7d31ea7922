"""Answers in a chat, in the words that the ancestor used where it had some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muniment.surfaces.tools.chaz import entry_line, nothing
from muniment.views import Hits, Remembered

_RULE = "─" * 22
_WIDE = 19


def _remembered(result: Remembered, params: Mapping[str, Any]) -> str:
    key = params.get("key")
    words = params["text"][:200] if key is None else f"{key} = {params['text'][:200]}"
    head = "Remembered" if result.created else "Already there"
    note = f"\nnote: kept without a vector: {result.degraded}" if result.degraded else ""
    return f"{head}: {words}\n(id {result.id}){note}"


def _recalled(result: Hits, params: Mapping[str, Any]) -> str:
    lines = [entry_line(hit.record) for hit in result]
    lines = lines or [nothing(params.get("query", ""), params.get("tags"))]
    return "\n".join([*lines, *([f"note: {result.degraded}"] if result.degraded else [])])


def _records(result: list[Any], _params: Mapping[str, Any]) -> str:
    return "\n".join(map(entry_line, result)) or "No memories found."


def _config(result: Any, _params: Mapping[str, Any]) -> str:
    """The settings of auto-recall, one a line, the equal signs below each other."""
    values = result.to_json()
    lines = [f"{name:<{_WIDE}} = {_setting(value)}" for name, value in values.items()]
    return "\n".join(["Auto-recall config:", _RULE, *lines])


def _setting(value: Any) -> str:
    if value is None:
        return "(all attached)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "(none)"
    return str(value)


ANSWERS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "remember": _remembered,
    "recall": _recalled,
    "list": _records,
    "bank config show": _config,
    "bank config set": _config,
    "bank config reset": _config,
}
