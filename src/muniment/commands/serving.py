"""The commands about those who come over a network: serve them, name them, give them tokens."""

from __future__ import annotations

from typing import Any

from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family


def _serve(context: Context, /, **options: Any) -> Result:
    return context.serve(options)


def _bind(context: Context, /, *, did: str) -> Result:
    from muniment.bindings import bind

    return bind(context.standing_peer, context.agent(), did)


def _new(context: Context, /, *, rights: str, label: str | None, days: int) -> Result:
    from muniment.tokens import Tokens

    agent = context.agent()
    return Tokens(context.peer).new(agent, rights, label=label, days=days or None)  # type: ignore[arg-type]


def _list(context: Context, /) -> Result:
    from muniment.tokens import Tokens

    return Listed("tokens", Tokens(context.peer).list())


def _revoke(context: Context, /, *, id: str) -> Result:  # noqa: A002
    from muniment.tokens import Tokens

    return Tokens(context.peer).revoke(id)


COMMANDS = family(
    Command(
        "serve",
        "Answers signed JSON-RPC at /rpc, /healthz and /metrics, and what other doors are installed, until it is told "
        "to stop (SIGTERM, Ctrl-C); running requests are finished. Without TLS it listens on loopback alone.",
        (
            Example("muniment serve", "on this machine, at 127.0.0.1:8377"),
            Example("muniment serve --listen 0.0.0.0:8377 --tls-cert c.pem --tls-key k.pem", "for others, by TLS"),
            Example("muniment serve --check", "would it start?"),
        ),
        (
            Param("listen", "text", "Address and port; port 0 takes a free one", "127.0.0.1:8377",
                  metavar="HOST:PORT"),
            Param("workers", "integer", "Processes that share the work", 1, minimum=1, maximum=64, metavar="N"),
            Param("tls_cert", "path", "The certificate chain, PEM", metavar="FILE"),
            Param("tls_key", "path", "Its private key, PEM", metavar="FILE"),
            Param("hosts", "text", "A name under which clients ask; several: any of them", (), repeatable=True,
                  option="host", metavar="NAME"),
            Param("did_web", "text", "A host whose did:web documents are fetched and believed", (), repeatable=True,
                  metavar="HOST"),
            Param("rate", "integer", "Requests a second by one key, on average", 100, minimum=1, maximum=1_000_000,
                  metavar="N"),
            Param("insecure_listen", "flag", "Listen beyond this machine without TLS", False),
            Param("check", "flag", "Only look whether it could serve", False),
        ),
        "none",
        True,
        _serve,
    ),
    Command(
        "agent bind",
        "Lets a DID of another method name an agent of this installation, by a statement that the agent's key signs. "
        "Signed requests may then name the agent by it.",
        (Example("muniment agent bind did:example:ava --agent ava", "another name for ava"),),
        (Param("did", "text", "The DID that is to name the agent", required=True, positional=True, metavar="DID"),),
        "none",
        True,
        _bind,
    ),
    Command(
        "token new",
        "A bearer token acts as one agent, for clients that can't sign. It is shown once; only a hash is kept. It is "
        "taken on loopback or over TLS alone.",
        (
            Example("muniment token new --agent ava", "to read"),
            Example("muniment token new --agent ava --rights write --days 7", "to write too, for a week"),
        ),
        (
            Param("rights", "text", "What it allows; write reads too", "read", choices=("read", "write"),
                  metavar="RIGHTS"),
            Param("label", "text", "What it is for", metavar="TEXT"),
            Param("days", "integer", "How long it holds; 0 for ever", 90, minimum=0, maximum=36_500, metavar="N"),
        ),
        "none",
        True,
        _new,
    ),
    Command(
        "token list",
        "Lists tokens by their ids, with their agents and whether they still hold. None shows the token itself.",
        (Example("muniment token list", "what was given out"),),
        (),
        "none",
        False,
        _list,
    ),
    Command(
        "token revoke",
        "The token is refused from the next request on.",
        (Example("muniment token revoke 0123456789ab", "take it back"),),
        (Param("id", "text", "Its id, as listed", required=True, positional=True, metavar="ID"),),
        "none",
        True,
        _revoke,
    ),
)  # fmt: skip
