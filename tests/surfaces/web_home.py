"""A home for the web page's tests, and a way in without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import muniment
from muniment.surfaces.serve.options import Options
from muniment.surfaces.web.logins import login_url

from .serving import send, served

ATTACK = (
    "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'> {{ 7 * 7 }} javascript:alert(1) "
    "\u202egnp.exe\u202c \u200f שלום עולם \u200e الذاكرة \x1b[31m red"
)


def fill(home: Path) -> None:
    """Two agents, a shared bank, and some memories, one of which means harm."""
    with muniment.open(home) as peer:
        ava, ben = peer.agent("ava", create=True), peer.agent("ben", create=True)
        ava.remember("Deploys go out on Thursdays.", key="deploy", title="Deploy window", tags=["team"])
        ava.remember("Deploys go out on Fridays at ten.", key="deploy", title="Deploy window", tags=["team"])
        ava.remember("The editor is Helix with the gruvbox theme.", tags=["prefs", "editor"], session="talk")
        for number in range(12):
            ava.remember(f"Ticket {number}: the billing service answered with an error of kind {number % 3}.")
        ava.remember(
            ATTACK, key=ATTACK[:60], title=ATTACK[:80], tags=["<b>x</b>"], metadata={"<i>": "</pre><script>"}
        )
        ava.banks.new("team", description="How we work <script>")
        ava.banks.grant("team", "ben", "write")
        ben.bank("team").remember("Notes of the team live in the wiki.")


class Visitor:
    """Somebody with a cookie, by hand."""

    def __init__(self, url: str, cookie: str = "") -> None:
        self.url, self.cookie = url, cookie

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """A page."""
        status, found, body = send(self.url, b"", {"cookie": self.cookie, **headers}, "GET", path)
        return status, found, body.decode()

    def token(self) -> str:
        """What forms of this session carry."""
        match = re.search(r'name="form_token" value="([^"]+)"', self.get("/a/ava/write")[2])
        assert match
        return match[1]

    def post(self, path: str, form: dict[str, str], **headers: str) -> tuple[int, dict[str, str], str]:
        """A form, as it is given."""
        kind = {"content-type": "application/x-www-form-urlencoded", "cookie": self.cookie}
        status, found, body = send(self.url, urlencode(form).encode(), {**kind, **headers}, "POST", path)
        return status, found, body.decode()

    def do(self, path: str, **form: str) -> tuple[int, dict[str, str], str]:
        """A form with its token."""
        return self.post(path, {**form, "form_token": self.token()})


def with_of(link: str) -> str:
    """The secret of a link."""
    return urlsplit(link).query.removeprefix("with=")


@contextmanager
def visited(home: Path, **options: object) -> Iterator[Visitor]:
    """A server over a home, and somebody who is in."""
    secret = replace(Options(), **options).web_secret  # type: ignore[arg-type]
    with served(home, web_secret=secret, **options) as url:
        visitor = Visitor(url)
        status, headers, _ = visitor.post("/login", {"with": with_of(login_url(url, secret))})
        assert status == 303, headers
        visitor.cookie = headers["set-cookie"].partition(";")[0]
        yield visitor
