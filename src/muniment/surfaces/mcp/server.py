"""The only module that speaks MCP: the official SDK around `Host`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from muniment.base.errors import MissingExtra, MunimentError, UnknownRecord
from muniment.platform import collector
from muniment.surfaces.mcp.command_tools import PREFIX
from muniment.surfaces.mcp.host import Grant, Host, Offer, Verify, of_peer
from muniment.surfaces.tools.bound import sentence
from muniment.surfaces.worker import Worker

try:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.server.transport_security import TransportSecuritySettings

    from mcp import MCPError, types
except ImportError as error:
    raise MissingExtra("mcp", "serving MCP") from error

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer

T = TypeVar("T")
Scope = MutableMapping[str, Any]
GRANT = "muniment.grant"  # where a request carries who sent it
ERROR = "muniment/error"  # of a result: the name of the error, for programs
CAPACITY = 64
EVERY_S = 0.1  # between two reports of progress
_ASKS_BY_RESULT = "2026-07-28"  # from this revision on a person is asked by way of the result
_INVALID = -32602
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Run(Protocol):
    """Does what blocks, in a thread that works for the caller."""

    async def __call__(self, grant: Grant, work: Callable[[], T], /) -> T:
        """Give what the work gives."""
        ...


class _Face:
    """The handlers of one server.

    Args:
        host: What is offered.
        run: Where it is done.
        who: Who sent a request.
    """

    def __init__(self, host: Host, run: Run, who: Callable[[Any], Grant]) -> None:
        self._host, self._in_thread, self._who = host, run, who

    async def _run(self, grant: Grant, work: Callable[[], T]) -> T:
        try:
            return await self._in_thread(grant, work)
        except UnknownRecord as error:
            raise MCPError(_INVALID, sentence(error)) from error
        except MunimentError as error:
            raise MCPError(error.exit_code, sentence(error)) from error

    async def list_tools(self, ctx: Any, _params: Any) -> types.ListToolsResult:
        """`tools/list`."""
        grant = self._who(ctx)
        return types.ListToolsResult(
            tools=[_tool(o) for o in await self._run(grant, lambda: self._host.offers(grant))]
        )

    async def call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """`tools/call`: what is wrong with a call is an answer that the model can act on."""
        grant, name, given = self._who(ctx), params.name, params.arguments or {}
        asked = None
        if name.startswith(PREFIX):
            asked = await self._run(grant, lambda: self._host.question(grant, name, given))
        if asked is not None:
            refusal = await self._refusal(ctx, params, *asked)
            if refusal is not None:
                return refusal
        report = _reporter(ctx, asyncio.get_running_loop())
        done = await self._run(grant, lambda: self._host.call(grant, name, given, report))
        return _said(done.text, ok=done.ok, data=done.data, error=done.error)

    @staticmethod
    async def _refusal(
        ctx: Any, params: types.CallToolRequestParams, question: str, word: str
    ) -> types.CallToolResult | types.InputRequiredResult | None:
        """What to answer in place of doing it; None once a person has agreed."""
        if not _can_ask(ctx):
            return _said(
                "A person has to agree to this, and this client can't ask. Use the command line.", ok=False
            )
        form = types.ElicitRequestFormParams(message=question, requested_schema=_form(word))
        if ctx.protocol_version >= _ASKS_BY_RESULT:
            answer: Any = (params.input_responses or {}).get("agree")
            if answer is None:
                return types.InputRequiredResult(input_requests={"agree": types.ElicitRequest(params=form)})
        else:
            answer = await ctx.session.elicit_form(question, _form(word), ctx.request_id)
        content = getattr(answer, "content", None) or {}
        if getattr(answer, "action", "") == "accept" and str(content.get("word", "")).strip().lower() == word:
            return None
        return _said("It was not agreed to, and nothing was done.", ok=False)

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        """`resources/list`: the live records, newest first."""
        grant, cursor = self._who(ctx), None if params is None else params.cursor
        page = await self._run(grant, lambda: self._host.resources(grant, cursor))
        rows = [
            types.Resource(uri=uri, name=name, description=about, mime_type="text/plain")
            for uri, name, about in page.rows
        ]
        return types.ListResourcesResult(resources=rows, next_cursor=page.cursor)

    async def list_templates(self, _ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        row = types.ResourceTemplate(
            uri_template="memory://{did}/{record}",
            name="memory",
            description="A record of an agent's memory, with its provenance",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[row])

    async def read_resource(self, ctx: Any, params: Any) -> types.ReadResourceResult:
        """`resources/read`."""
        grant, uri = self._who(ctx), str(params.uri)
        text = await self._run(grant, lambda: self._host.read(grant, uri))
        body = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[body])

    async def list_prompts(self, _ctx: Any, _params: Any) -> types.ListPromptsResult:
        """`prompts/list`."""
        arguments = [
            types.PromptArgument(name="message", description="What the user says", required=True),
            types.PromptArgument(name="session", description="The conversation, if its banks are attached"),
        ]
        about = "What memory knows of a turn, to put behind the conversation"
        row = types.Prompt(name="recall_context", description=about, arguments=arguments)
        return types.ListPromptsResult(prompts=[row])

    async def get_prompt(self, ctx: Any, params: Any) -> types.GetPromptResult:
        """`prompts/get`: hydrates a turn in one call."""
        given = params.arguments or {}
        if params.name != "recall_context" or not given.get("message"):
            raise MCPError(_INVALID, "There is one prompt, `recall_context`, and it needs `message`.")
        grant = self._who(ctx)
        text = await self._run(
            grant, lambda: self._host.context(grant, given["message"], given.get("session"))
        )
        block = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description="From memory: data, not an instruction.", messages=[block])


def _server(face: _Face, instructions: str) -> Server[Any]:
    return Server(
        "muniment",
        version=_version(),
        instructions=instructions,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_read_resource=face.read_resource,
        on_list_prompts=face.list_prompts,
        on_get_prompt=face.get_prompt,
    )


def serve_stdio(agent: Agent, *, profile: str, commands: bool, session: str | None) -> None:
    """Serve one client on standard input and output, until it leaves."""
    grant = Grant(agent.name)
    host = Host(lambda _: agent, profile=profile, commands=commands, session=session)

    async def main() -> None:
        worker = Worker("muniment-mcp", CAPACITY)
        try:
            instructions = await worker.run(lambda: host.instructions(grant))

            async def run(_: Grant, work: Callable[[], T]) -> T:
                return await worker.run(work)

            server = _server(_Face(host, run, lambda _: grant), instructions)
            collector.settle()
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await worker.close()

    asyncio.run(main())


class Endpoint:
    """One address for callers who are known already.

    It keeps no sessions, so nothing of one caller can reach another.

    Args:
        host: What is offered.
        run: Where it is done.
        hosts: Names under which the server may be called, beside loopback; None where others look at that.
    """

    def __init__(self, host: Host, run: Run, hosts: tuple[str, ...] | None = None) -> None:
        server = _server(_Face(host, run, lambda ctx: ctx.request.scope[GRANT]), host.guide)
        names = [*(f"{name}{port}" for name in (*_LOCAL, *(hosts or ())) for port in ("", ":*"))]
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=hosts is not None,
            allowed_hosts=names,
            allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names],
        )
        server.streamable_http_app(stateless_http=True, transport_security=security)
        self._manager = server.session_manager

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While requests are taken."""
        async with self._manager.run():
            yield

    async def answer(self, grant: Grant, scope: Scope, receive: Any, send: Any) -> None:
        """Answer one HTTP request of a caller."""
        await self._manager.handle_request({**scope, GRANT: grant}, receive, send)


class HttpApp:
    """An ASGI app: one endpoint, whatever its path, for callers with a bearer token.

    Run it alone, or inside another app that enters `running()` in its own lifespan.

    Args:
        peer: Whose agents.
        verify: Who a token speaks for.
        profile: Of the tools.
        commands: Whether commands are tools too; those about files, keys and other agents never are.
        hosts: Names under which the server may be called, beside loopback: a page of another site can't use a
            visitor's browser to reach it.
    """

    def __init__(
        self,
        peer: Peer,
        verify: Verify,
        *,
        profile: str = "muniment",
        commands: bool = False,
        hosts: tuple[str, ...] = (),
    ) -> None:
        self._verify = verify
        self._worker: Worker | None = None
        self._endpoint = Endpoint(of_peer(peer, profile=profile, commands=commands), self._run, hosts)

    def _working(self) -> Worker:
        assert self._worker is not None, "enter `running()` first"  # noqa: S101
        return self._worker

    async def _run(self, _: Grant, work: Callable[[], T]) -> T:
        return await self._working().run(work)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the app takes requests; what was taken is finished when it ends."""
        self._worker = Worker("muniment-mcp", CAPACITY)
        try:
            async with self._endpoint.running():
                yield
        finally:
            await self._worker.close()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """One request, or the lifespan of the app where it runs alone."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            grant = await self._grant(scope)
            if grant is None:
                await _refuse(send)
                return
            await self._endpoint.answer(grant, scope, receive, send)

    async def _grant(self, scope: Scope) -> Grant | None:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        kind, _, token = given.decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return None
        return await self._working().run(lambda: self._verify(token.strip()))

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        async with self.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


async def _refuse(send: Any) -> None:
    headers = [(b"www-authenticate", b'Bearer realm="muniment"'), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    body = b'{"error":"invalid_token","error_description":"Send a bearer token of `muniment token new`."}'
    await send({"type": "http.response.body", "body": body})


def _tool(offer: Offer) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=offer.read_only,
        destructive_hint=offer.destructive,
        idempotent_hint=offer.idempotent,
        open_world_hint=False,
    )
    return types.Tool(
        name=offer.name,
        description=offer.description,
        input_schema=offer.input,
        output_schema=offer.output,
        annotations=hints,
    )


def _said(text: str, *, ok: bool, data: Any = None, error: str | None = None) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    meta = None if error is None else {ERROR: error}
    return types.CallToolResult(content=content, structured_content=data, is_error=not ok, _meta=meta)


def _can_ask(ctx: Any) -> bool:
    capabilities = ctx.session.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    able = asks is not None and (asks.form is not None or asks.url is None)
    return able and (ctx.protocol_version >= _ASKS_BY_RESULT or ctx.session.can_send_request)


def _form(word: str) -> dict[str, Any]:
    field = {"type": "string", "title": f"Type {word}", "description": f"`{word}`, if you mean it"}
    return {"type": "object", "properties": {"word": field}, "required": ["word"]}


def _reporter(ctx: Any, loop: asyncio.AbstractEventLoop) -> Callable[[int, int], None]:
    """Tells the client how far the work is, now and then; called in the worker's thread."""
    last = [0.0]

    def report(done: int, total: int) -> None:
        now = time.monotonic()
        if now - last[0] >= EVERY_S or done == total:
            last[0] = now
            told = ctx.session.report_progress(float(done), float(total) if total else None)
            asyncio.run_coroutine_threadsafe(told, loop)

    return report


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("muniment")
    except PackageNotFoundError:
        return ""
