"""`/mcp` of `muniment serve`: the same tools over streamable HTTP, for signed requests and for bearer tokens.

The SDK takes about a second to import, so it comes with the first request and not with the server.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import InvalidInput, MunimentError, NotPermitted
from muniment.base.limits import LIMITS
from muniment.identity.did import parse_did, to_did
from muniment.surfaces.mcp.host import Grant, Host
from muniment.surfaces.rpc.door import refused
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.gate import Message, Receive, Scope, Send
from muniment.surfaces.serve.house import House, request_parts

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.surfaces.mcp.server import Endpoint

T = TypeVar("T")


class _Refusal(NamedTuple):
    """A bad token is told apart from a caller who is known and has no business here."""

    error: MunimentError
    by_token: bool


class McpDoor:
    """MCP for the agents of a peer: an ASGI app of one path.

    `POST /mcp`, and `POST /mcp?agent=NAME` for a controller of several agents.
    """

    name, path, body_limit = "mcp", "/mcp", LIMITS.request_bytes

    def __init__(self, house: House) -> None:
        self._house = house
        self._keeper: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[Endpoint] | None = None
        self._over = asyncio.Event()

    def routes(self) -> Sequence[BaseRoute]:
        """`POST /mcp`; no session is kept, so there is nothing to get or to delete."""
        return [Route(self.path, self, methods=["POST"])]

    async def start(self) -> None:
        """Nothing to do: the first request opens it."""

    async def stop(self) -> None:
        """Let go of what the first request opened."""
        self._over.set()
        if self._keeper is not None:
            await self._keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look who asks, then let the SDK answer."""
        headers = dict(scope["headers"])
        if not _same_origin(headers):
            await PlainTextResponse("pages of other sites get no answer\n", 403)(scope, receive, send)
            return
        body: bytes | None = None
        if b"signature-input" in headers:
            body = await _whole(receive)
        try:
            asked = await self._house.run(_thread_of(headers), lambda: self._who(scope, headers, body))
            endpoint = None if isinstance(asked, _Refusal) else await self._endpoint()
        except MunimentError as error:
            asked, endpoint = _Refusal(error, by_token=False), None
        if isinstance(asked, _Refusal):
            await _answer(self._house, asked)(scope, receive, send)
        elif endpoint is not None:
            await endpoint.answer(asked, scope, receive if body is None else _again(body, receive), send)

    # Who asks

    def _who(self, scope: Scope, headers: dict[bytes, bytes], body: bytes | None) -> Grant | _Refusal:
        try:
            if body is not None:
                return self._by_signature(scope, body)
            try:
                header = headers.get(b"authorization")
                info = self._house.bearer(None if header is None else header.decode("latin-1"))
            except NotPermitted as error:
                return _Refusal(error, by_token=True)
            scope["muniment.log"] = {"token": info.id}
            caller = self._house.callers.of(parse_did(info.did), _named(scope))
            return Grant(caller.agent.did, info.rights)
        except MunimentError as error:
            return _Refusal(error, by_token=False)

    def _by_signature(self, scope: Scope, body: bytes) -> Grant:
        claim = self._house.signed(*request_parts(scope, body))
        scope["muniment.log"] = {"key": to_did(claim.key)}
        named, of = _named(scope), self._house.callers.of
        try:
            return Grant(of(claim.key, named, writes=True).agent.did, "write")
        except NotPermitted:  # a controller may have the right to read alone
            return Grant(of(claim.key, named, writes=False).agent.did, "read")

    # The SDK

    async def _endpoint(self) -> Endpoint:
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep(self._opened))
        return await asyncio.shield(self._opened)

    async def _keep(self, opened: asyncio.Future[Endpoint]) -> None:
        """Open it and hold it open, in one task: what the SDK enters in a task it has to leave there."""
        try:
            endpoint = await self._house.run(b"mcp", self._make)
        except MunimentError as error:
            opened.set_exception(error)
            return
        async with endpoint.running():
            opened.set_result(endpoint)
            await self._over.wait()

    def _make(self) -> Endpoint:
        from muniment.surfaces.mcp.server import Endpoint

        return Endpoint(Host(self._find, remote=True), self._run)

    def _find(self, did: str) -> Agent:
        return self._house.callers.of(parse_did(did)).agent

    async def _run(self, grant: Grant, work: Callable[[], T]) -> T:
        return await self._house.run(grant.agent.encode(), work)


def _answer(house: House, refusal: _Refusal) -> Response:
    response = refused(house, refusal.error)
    if refusal.by_token:
        response.status_code = 401
        response.headers["www-authenticate"] = 'Bearer realm="muniment"'
    return response


def _same_origin(headers: dict[bytes, bytes]) -> bool:
    """Whether no browser sent it, or one that shows a page of this server (the host was looked at before)."""
    origin, host = headers.get(b"origin"), headers.get(b"host", b"")
    return origin is None or origin.lower() in {b"http://" + host.lower(), b"https://" + host.lower()}


def _named(scope: Scope) -> str | None:
    """The agent that the address names; what is signed covers it."""
    try:
        found = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=8)
    except ValueError:
        raise InvalidInput("the address asks for too much", "Name one agent: /mcp?agent=NAME") from None
    names = found.get("agent", [])
    return names[0] if names else None


def _thread_of(headers: dict[bytes, bytes]) -> bytes:
    signer = headers.get(b"signature-input", b"").partition(b"keyid=")[2][:128]
    return signer or headers.get(b"authorization", b"")[:24]


async def _whole(receive: Receive) -> bytes:
    """The body; the gate counts it and watches the time."""
    pieces, more = [], True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read already once more."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return given.pop() if given else await receive()

    return next_message


def open_door(house: House) -> Door | None:
    """The door; None without the extra `mcp`."""
    return None if importlib.util.find_spec("mcp") is None else McpDoor(house)
