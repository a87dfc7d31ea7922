"""How results about serving, tokens and the ancestor's verbs read: as lines, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muniment.surfaces.cli.words import one_line, utc

LINE = 160


def _served(result: Any) -> str:
    paths, how = ", ".join(result.doors), "would serve" if result.checked else "served"
    workers = f", by {result.workers} processes" if result.workers > 1 else ""
    return f"{how} {paths} at {result.url}{workers}"


def _bound(result: Any) -> str:
    return f"{one_line(result.did)} names {one_line(result.agent)} ({result.key})"


def _token(token: Any) -> str:
    until = utc(token.expires_at_ms) if token.expires_at_ms else "for ever"
    label = f"  {one_line(token.label)}" if token.label else ""
    return f"{token.id}  {token.rights:<5}  {token.state:<7}  until {until}  {one_line(token.agent)}{label}"


def _made(token: Any) -> str:
    return f"{token.secret}\nshown once; only a hash is kept: {_token(token)}"


def _tokens(tokens: Any) -> str:
    return "\n".join(_token(token) for token in tokens) or "no tokens"


def _view(record: Mapping[str, Any]) -> str:
    return (
        f"{one_line(record['text'], LINE)}\n"
        f"  {record['id']}  {record['kind']}  {record['source']}  {utc(record['created_at_ms'])}"
    )


def _views(result: Any) -> str:
    return "\n".join(_view(record) for record in result.to_json()["records"]) or "no memories"


WRITE: Mapping[str, Callable[[Any], str]] = {
    "serve": _served,
    "agent bind": _bound,
    "token new": _made,
    "token list": _tokens,
    "token revoke": _token,
    "memory grant": lambda result: _view(result.to_json()),
    "memory recall": _views,
    "memory list": _views,
    "memory archive": lambda result: _view(result.to_json()),
}
