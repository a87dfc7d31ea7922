"""Memory for programs that speak the Model Context Protocol: over standard input and output, or over HTTP.

`serve` is what `muniment mcp` runs. `http_app` is an ASGI app for `/mcp` of a web server; who calls is told by
`verify`, a function from a bearer token to a `Grant`. The SDK takes seconds to import, so it is imported by the one
module that speaks it, when a server starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment.surfaces.mcp.host import Grant, Verify

if TYPE_CHECKING:
    from muniment.commands import Context
    from muniment.peer import Peer
    from muniment.surfaces.mcp.server import HttpApp

__all__ = ["Grant", "Verify", "http_app", "serve"]


def serve(context: Context, *, profile: str, commands: bool, session: str | None) -> None:
    """Serve one client on standard input and output, until it leaves.

    Args:
        context: Whose agent.
        profile: Of the tools.
        commands: Whether every command is a tool too.
        session: The conversation that `recall_context` asks for.

    Raises:
        MissingExtra: The extra `mcp` is not installed.
        MunimentError: The memory can't be opened.
    """
    from muniment.surfaces.mcp.server import serve_stdio

    serve_stdio(context.agent(for_write=True), profile=profile, commands=commands, session=session)


def http_app(peer: Peer, verify: Verify, **options: Any) -> HttpApp:
    """An ASGI app that serves the agents of a peer by streamable HTTP.

    Args:
        peer: Whose agents. It is not closed by the app.
        verify: Who a bearer token speaks for, or None. It is called in a thread at each request.
        options: `profile`, `commands`, `hosts` (names under which the server may be called, beside loopback).

    Raises:
        MissingExtra: The extra `mcp` is not installed.
    """
    from muniment.surfaces.mcp.server import HttpApp

    return HttpApp(peer, verify, **options)
