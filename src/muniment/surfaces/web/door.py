"""`/`: the routes of the memory browser, and what stands before them (design section 11).

Whoever comes needs a session, from a link that `muniment serve` prints; whatever changes something also needs the
token of a form. Nothing that the page shows can run: scripts and styles come from files of the package alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import Denied, InputError, MunimentError, NotFound, Overloaded, RefusedTicket
from muniment.base.limits import LIMITS
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.house import House
from muniment.surfaces.web.logins import SESSION_S, Pass, check, is_form_token, issue
from muniment.surfaces.web.pages import (
    banks,
    bulk,
    health,
    memory,
    overview,
    record,
    settings,
    sharing,
    unasked,
)
from muniment.surfaces.web.rendering import render, static_files
from muniment.surfaces.web.visit import Form, Visit
from muniment.surfaces.web.works import Works

Screen = Callable[[Visit], Response]

SAFETY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "referrer-policy": "same-origin",  # with none at all, browsers hide where a form comes from
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_FIELDS = 4096  # of one form
_SAME = {"same-origin", "none"}
SCREENS: tuple[tuple[str, str, Screen], ...] = (
    *memory.SCREENS,
    *record.SCREENS,
    *bulk.SCREENS,
    *banks.SCREENS,
    *sharing.SCREENS,
    *unasked.SCREENS,
    *overview.SCREENS,
    *health.SCREENS,
    *settings.SCREENS,
)


class WebDoor:
    """The memory browser, for whoever runs the installation."""

    name, path, body_limit = "web", "/", LIMITS.form_bytes

    def __init__(self, house: House) -> None:
        self._house = house
        self._works = Works()
        self._secret = house.options.web_secret
        # Behind TLS a cookie can be bound to this very host, and kept off plain connections.
        self._cookie = "__Host-muniment" if house.options.certificate else "muniment"

    def routes(self) -> Sequence[BaseRoute]:
        """Static files, the way in and out, and every screen."""
        return [
            Route("/static/{name}", self._static),
            Route("/login", self._ask_login),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            *(
                Route(path, partial(self._visit, screen), methods=[method])
                for method, path, screen in SCREENS
            ),
            Route("/a/{rest:path}", partial(self._visit, _nothing)),
        ]

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Begin no more long work."""
        self._works.close()

    # Without a session

    async def _static(self, request: Request) -> Response:
        found = static_files().get(request.path_params["name"])
        if found is None:
            return Response("there is no such file\n", 404, media_type="text/plain")
        data, kind, version = found
        kept = {"cache-control": "public, max-age=31536000, immutable", "etag": f'"{version}"'}
        return Response(data, headers={**SAFETY, **kept}, media_type=kind)

    async def _ask_login(self, request: Request) -> Response:
        # Opening a link changes nothing: a program that looks at links before a person does must not use it up.
        given = request.query_params.get("with", "")
        held = check(self._secret, "link", given) is not None
        return self._safe(
            HTMLResponse(render("login.html", given=given if held else None, tried=bool(given)))
        )

    async def _login(self, request: Request) -> Response:
        given = _first(_form(await request.body()), "with")
        try:
            used = await self._house.run(b"login", lambda: self._use(given))
        except Overloaded:
            used = False
        if not used:
            return self._safe(HTMLResponse(render("login.html", given=None, tried=True), 403))
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._cookie, issue(self._secret, "session", SESSION_S), max_age=SESSION_S, path="/",
            secure=self._house.options.certificate is not None, httponly=True, samesite="strict",
        )  # fmt: skip
        return self._safe(answer)

    def _use(self, given: str) -> bool:
        self._house.limit(b"login")
        link = check(self._secret, "link", given)
        return link is not None and self._house.replays.once(b"link" + link.name, link.until)

    # With one

    def _session(self, request: Request) -> Pass | None:
        found = check(self._secret, "session", request.cookies.get(self._cookie, ""))
        if found is None or self._house.replays.used(b"session" + found.name):
            return None
        return found

    async def _logout(self, request: Request) -> Response:
        form = _form(await request.body())

        def end() -> bool:
            session = self._session(request)
            if session is None or not self._from_here(request, session, form):
                return False
            return self._house.replays.once(b"session" + session.name, SESSION_S)

        await self._house.run(b"login", end)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(self._cookie, path="/")
        return self._safe(answer)

    async def _visit(self, screen: Screen, request: Request) -> Response:
        agent = request.path_params.get("agent")
        form = _form(await request.body()) if request.method == "POST" else {}
        owner = f"web {agent}".encode("utf-8", "replace")
        return self._safe(await self._house.run(owner, lambda: self._answer(screen, request, agent, form)))

    def _answer(self, screen: Screen, request: Request, agent: str | None, form: Form) -> Response:
        """Everything that takes time, in the agent's thread."""
        part = "hx-request" in request.headers
        session = self._session(request)
        if session is None:
            if part:
                return Response(status_code=204, headers={"HX-Redirect": "/login"})
            return RedirectResponse("/login", 303)
        visit = Visit(self._house, self._works, session, agent, request.query_params, form, part)
        try:
            self._house.limit(session.name)
            if request.method == "POST" and not self._from_here(request, session, form):
                return _failed(visit, 403, "Nothing was done", "This did not come from a page of this session.",
                               "Open the page again, and do it there.")  # fmt: skip
            return screen(visit)
        except MunimentError as error:
            return _failed(visit, _status(error), error.name, error.message, error.next_step)

    def _from_here(self, request: Request, session: Pass, form: Form) -> bool:
        """Whether a page of this session sent it, and no page of another site."""
        if request.headers.get("sec-fetch-site", "same-origin") not in _SAME:
            return False
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
            return False
        given = request.headers.get("x-form-token") or _first(form, "form_token")
        return is_form_token(self._secret, session, given)

    @staticmethod
    def _safe(answer: Response) -> Response:
        for name, value in SAFETY.items():
            answer.headers.setdefault(name, value)
        return answer


def _form(body: bytes) -> Form:
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        return {}  # no form of ours: it lacks the token, and is refused for that


def _first(form: Form, name: str) -> str:
    return form.get(name, ("",))[0]


def _nothing(visit: Visit) -> Response:
    return _failed(visit, 404, "Not here", "There is no such page.", "Go on from the memory.")


def _failed(visit: Visit, status: int, title: str, message: str, step: str | None) -> Response:
    template = "failed_part.html" if visit.part else "failed.html"
    try:
        return visit.page(template, status, title=title, message=message, step=step)
    except MunimentError:  # what the frame of a page shows can't be read either
        visit.agent = None
        return visit.page(template, status, title=title, message=message, step=step)


def _status(error: MunimentError) -> int:
    if isinstance(error, Overloaded):
        return 429
    kinds: tuple[tuple[type[MunimentError], int], ...] = (
        (NotFound, 404),
        (Denied, 403),
        (InputError, 400),
        (RefusedTicket, 400),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def open_door(house: House) -> Door | None:
    """The door; none where strangers on the network could read the session."""
    options = house.options
    return WebDoor(house) if options.loopback or options.certificate else None
