"""`rpc.discover`: what can be called, as an OpenRPC document made from the table of commands (OpenRPC 1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.commands.table import COMMANDS, Command, Param
from muniment.surfaces.rpc import tenzro

VERSION = "1.3.2"
_AGENT = {
    "name": "agent_did",
    "summary": "The agent that is meant, by DID or name; needed where the key that signs controls several.",
    "required": False,
    "schema": {"type": "string"},
}
_TYPES: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "time": {"oneOf": [{"type": "string", "format": "date-time"}, {"type": "integer"}]},
    "object": {"type": "object"},
}


def schema_of(param: Param) -> dict[str, Any]:
    """The JSON schema of a parameter's value."""
    schema = dict(_TYPES.get(param.type, {}))
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.minimum is not None:
        schema["minimum"] = param.minimum
    if param.maximum is not None:
        schema["maximum"] = param.maximum
    if param.repeatable:
        schema = {"type": "array", "items": schema}
    if param.default is not None:
        schema["default"] = list(param.default) if isinstance(param.default, tuple) else param.default
    return schema


def document(methods: Mapping[str, Command]) -> dict[str, Any]:
    """The whole document."""
    listed = [_method(name, command, _AGENT) for name, command in methods.items()]
    ancestors = [_method(name, COMMANDS[command]) for name, command in tenzro.METHODS.items()]
    return {
        "openrpc": VERSION,
        "info": {
            "title": "muniment",
            "version": _version(),
            "description": "Memory for AI agents. Every request is signed: see docs/rpc.md.",
        },
        "methods": [*listed, *ancestors],
    }


def _method(name: str, command: Command, *more: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "summary": command.summary,
        "description": command.description,
        "paramStructure": "either",
        "params": [
            *(
                {"name": p.name, "summary": f"{p.help}.", "required": p.required, "schema": schema_of(p)}
                for p in command.params
            ),
            *more,
        ],
        "result": {"name": "result", "schema": {"type": "object"}},
        "x-right": command.right,
        "x-writes": command.writes,
    }


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("muniment")
    except PackageNotFoundError:
        return "0"
