"""The web page without a browser: who comes in, what a form needs, what is escaped, and that each action is done."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import muniment
from muniment.base.errors import UnknownRecord
from muniment.surfaces.web import asked, logins, words
from muniment.surfaces.web.charts import growth
from muniment.surfaces.web.door import SCREENS
from muniment.surfaces.web.logins import check, form_token, is_form_token, issue, login_url
from muniment.surfaces.web.qr import qr_svg
from muniment.sync.ticket import parse_ticket

from .serving import served
from .web_home import ATTACK, Visitor, fill, visited, with_of

SECRET = bytes(range(32))
MADE = issue(SECRET, "session", 60, now=1000)
PLACES = [
    "",
    "write",
    "banks",
    "unasked",
    "map",
    "map/drawn",
    "health",
    "health/live",
    "settings",
    "export",
    "results",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two agents, made once."""
    place = tmp_path_factory.mktemp("web") / "home"
    fill(place)
    return place


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(filled, tmp_path / "home"))


# Who comes in


@pytest.mark.parametrize("path", ["/", *(f"/a/ava/{place}" for place in PLACES), "/a/nobody/", "/a/x/y/z"])
def test_without_a_session_every_screen_leads_to_the_login(home: Path, path: str) -> None:
    """Nothing of the memory is told to who is not in, not even which agents there are."""
    with served(home) as url:
        status, headers, body = Visitor(url).get(path)
    assert (status, headers["location"], body) == (303, "/login", "")


def test_a_link_counts_once(home: Path) -> None:
    """Looking at it does not use it up; signing in does; and the cookie keeps scripts and other sites off."""
    with served(home, web_secret=SECRET) as url:
        secret = with_of(login_url(url, SECRET))
        visitor = Visitor(url)
        for _ in range(2):
            assert 'method="post"' in visitor.get(f"/login?with={secret}")[2]
        status, headers, _ = visitor.post("/login", {"with": secret})
        assert (status, headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=strict"} <= set(headers["set-cookie"].split("; "))
        again, headers, _ = visitor.post("/login", {"with": secret})
        assert again == 403
        assert "set-cookie" not in headers


def test_a_session_ends_when_it_is_left(home: Path) -> None:
    """The cookie that was left opens nothing any more."""
    with visited(home) as visitor:
        assert visitor.get("/a/ava/")[0] == 200
        assert visitor.do("/logout")[0] == 303
        assert visitor.get("/a/ava/")[0] == 303


def test_another_servers_session_opens_nothing(home: Path) -> None:
    """What a server gave out ends with it."""
    with visited(home) as visitor:
        cookie = visitor.cookie
    with served(home) as url:
        assert Visitor(url, cookie).get("/a/ava/")[0] == 303


def test_a_pass_holds_for_its_purpose_its_time_and_its_secret() -> None:
    """A link is no session, and neither outlives its time."""
    made = issue(SECRET, "link", 60, now=1000)
    assert check(SECRET, "link", made, now=1059) is not None
    assert check(SECRET, "link", made, now=1060) is None
    assert check(SECRET, "session", made, now=1000) is None
    assert check(bytes(32), "link", made, now=1000) is None


@given(st.data())
def test_no_other_text_is_a_pass(data: st.DataObject) -> None:
    """Whatever is changed in it, or put in its place, it is refused."""
    made = MADE
    place = data.draw(st.integers(0, len(made) - 1))
    other = data.draw(st.characters())
    assume(other != made[place])
    changed = made[:place] + other + made[place + 1 :]
    if place < len(made) - 1:  # the last character holds bits that no byte has
        assert check(SECRET, "session", changed, now=1000) is None
    assert check(SECRET, "session", data.draw(st.text(max_size=100)), now=1000) is None


def test_a_form_token_belongs_to_one_session() -> None:
    """Another session's is refused, and so is an empty one."""
    one, two = (check(SECRET, "session", issue(SECRET, "session", 60)) for _ in range(2))
    assert one is not None
    assert two is not None
    assert is_form_token(SECRET, one, form_token(SECRET, one))
    assert not is_form_token(SECRET, one, form_token(SECRET, two))
    assert not is_form_token(SECRET, one, "")
    assert not is_form_token(SECRET, one, "\ud800")


@pytest.mark.parametrize("path", sorted(path for method, path, _ in SCREENS if method == "POST"))
def test_every_form_needs_its_token(home: Path, path: str) -> None:
    """Without it nothing is done, whatever else is sent."""
    form = {
        "ref": "deploy",
        "text": "x",
        "word": "forget everything",
        "do": "forget",
        "name": "made",
        "bank": "team",
    }
    with visited(home) as visitor:
        assert visitor.post(path.replace("{agent}", "ava"), form)[0] == 403
        assert visitor.post(path.replace("{agent}", "ava"), {**form, "form_token": "x"})[0] == 403
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("deploy").state == "live"
        assert peer.agent("ava").stats().records == 15
        assert [bank.name for bank in peer.agent("ava").banks.list()] == ["ava", "ben", "team"]


@pytest.mark.parametrize(
    "header", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_another_site_is_refused(home: Path, header: dict[str, str]) -> None:
    """Even with the right token."""
    with visited(home) as visitor:
        token = visitor.token()
        assert (
            visitor.post("/a/ava/record/forget", {"ref": "deploy", "form_token": token}, **header)[0] == 403
        )


@pytest.mark.parametrize(
    "path", ["/login", "/static/parts.css", "/static/page.js", "/a/ava/", "/a/ava/record?ref=deploy"]
)
def test_every_answer_keeps_scripts_frames_and_guesses_out(home: Path, path: str) -> None:
    """The policy allows files of the package alone."""
    with visited(home) as visitor:
        _, headers, _ = visitor.get(path)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["../door.py", "..%2fdoor.py", "%2e%2e/door.py", "nothing.css", "page.js%00"]
)
def test_only_files_of_the_page_are_given_out(home: Path, name: str) -> None:
    """A path leads nowhere else."""
    with visited(home) as visitor:
        status, _, body = visitor.get(f"/static/{name}")
    assert status in {303, 404}
    assert "class WebDoor" not in body


def test_without_encryption_there_is_no_page_beyond_this_machine(home: Path) -> None:
    """A session could be read on the way."""
    with served(home, host="0.0.0.0") as url:
        assert Visitor(url.replace("0.0.0.0", "127.0.0.1")).get("/login")[0] == 404


def test_no_template_switches_escaping_off() -> None:
    """`safe`, inline scripts and inline styles stand in no template."""
    folder = Path(logins.__file__).parent / "templates"
    for path in folder.glob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r"\|\s*safe|autoescape|<style|\sstyle=|\son[a-z]+=|<script(?! src)", text), (
            path.name
        )


# What is shown


@pytest.mark.parametrize(
    "place",
    [*PLACES[:-2], "results?q=stolen", "record?ref={attack}", "record/erase?ref={attack}", "bank?bank=team"],
)
def test_a_memory_is_text_and_never_markup(home: Path, place: str) -> None:
    """Its tags are escaped on every screen, and characters that turn text around are shown by their number."""
    with visited(home) as visitor:
        status, _, body = visitor.get("/a/ava/" + place.format(attack=quote(ATTACK[:60])))
    assert status == 200
    assert "<script>window" not in body
    assert "<img src=x" not in body
    assert "<b>x</b>" not in body
    assert not re.search("[\u202a-\u202e\u200e\u200f\x1b]", body)


def test_a_search_shows_what_matched(home: Path) -> None:
    """Highlighted, with what the score is made of."""
    with visited(home) as visitor:
        _, headers, body = visitor.get("/a/ava/results?q=fridays")
    assert "<mark>Fridays</mark>" in body
    assert "What speaks for it" in body
    assert headers["hx-replace-url"] == "/a/ava/?q=fridays"


def test_filters_are_chips_that_can_be_taken_away(home: Path) -> None:
    """They hold, and each is a link to the same question without it."""
    with visited(home) as visitor:
        body = visitor.get("/a/ava/?q=helix&tags=prefs&type=note")[2]
        assert 'href="/a/ava/?q=helix&amp;tags=prefs"' in body
        assert "No memory has these words" in visitor.get("/a/ava/?q=helix&tags=none")[2]
        assert (
            "not one of" in visitor.get("/a/ava/?type=poem")[2] or visitor.get("/a/ava/?type=poem")[0] == 400
        )


@pytest.mark.parametrize(
    ("path", "status"),
    [("/a/nobody/", 404), ("/a/ava/record?ref=nothing", 404), ("/a/ava/?bank=nothing", 404), ("/a/ava/x", 404),
     ("/a/ava/?since=yesterday-ish", 400), ("/a/ben/?bank=ava", 404)],
)  # fmt: skip
def test_what_is_not_there_is_said(home: Path, path: str, status: int) -> None:
    """With the error's own words and the next step, in the frame of the page."""
    with visited(home) as visitor:
        got, _, body = visitor.get(path)
    assert got in {status, 403}
    assert 'role="alert"' in body


def test_an_agent_sees_what_its_own_key_opens(home: Path) -> None:
    """The page acts with the key of the agent in the address, and no other."""
    with visited(home) as visitor:
        assert "Helix" in visitor.get("/a/ava/?q=helix")[2]
        assert "gruvbox" not in visitor.get("/a/ben/?q=helix")[2]
        assert "gruvbox" not in visitor.get("/a/ben/?q=helix&bank=ava")[2]


def test_a_home_without_a_memory_is_welcomed(tmp_path: Path) -> None:
    """And the first memory makes the agent."""
    with visited(tmp_path / "new") as visitor:
        body = visitor.get("/")[2]
        match = re.search(r'name="form_token" value="([^"]+)"', body)
        assert match
        assert "Nothing is remembered yet" in body
        assert visitor.post("/first", {"text": "tea at four", "form_token": match[1]})[0] == 303
        assert visitor.get("/")[1]["location"] == "/a/default/"
        assert "tea at four" in visitor.get("/a/default/")[2]


# What is done


def shown(visitor: Visitor, answer: tuple[int, dict[str, str], str]) -> str:
    """The page that an answer leads to."""
    assert answer[0] == 303, unescape(answer[2])
    return visitor.get(answer[1]["location"])[2]


def test_a_memory_is_kept_edited_forgotten_and_brought_back(home: Path) -> None:
    """Each as a command does it: a new version, a state, and back."""
    with visited(home) as visitor:
        made = visitor.do("/a/ava/write", text="Tea at four\r\nor five", key="tea", tags="a, b")
        ref = parse_qs(urlsplit(made[1]["location"]).query)["ref"][0]
        visitor.do("/a/ava/record/edit", ref=ref, text="Tea at six", title="Tea", tags="a")
        shown(visitor, visitor.do("/a/ava/record/forget", ref="tea"))
        with muniment.open(home) as peer:
            history = peer.agent("ava").history("tea")
            assert [(r.text, r.state) for r in history] == [
                ("Tea at six", "forgotten"), ("Tea at four\nor five", "superseded"),
            ]  # fmt: skip
        shown(visitor, visitor.do("/a/ava/record/forget", ref=history[0].version, undo="1"))
    with muniment.open(home) as peer:
        assert peer.agent("ava").get("tea").tags == ("a",)


def test_a_memory_without_a_key_is_edited_by_its_author(home: Path) -> None:
    """It stays the same record."""
    with muniment.open(home) as peer:
        before = peer.agent("ava").recall("helix")[0].record
    with visited(home) as visitor:
        visitor.do("/a/ava/record/edit", ref=before.version, text="The editor is Kakoune.", tags="prefs")
    with muniment.open(home) as peer:
        after = peer.agent("ava").get(before.id)
    assert (after.text, after.id, after.session) == ("The editor is Kakoune.", before.id, "talk")
    assert after.supersedes == (before.version,)


def test_what_a_form_would_change_is_not_edited(home: Path) -> None:
    """A text with characters that a browser loses has no form, and a forged one is refused."""
    with visited(home) as visitor:
        ref = ATTACK[:60]
        assert "would not give back" in visitor.get(f"/a/ava/record/edit?ref={quote(ref)}")[2]
        assert visitor.do("/a/ava/record/edit", ref=ref, text="x")[0] == 400


def test_many_are_forgotten_and_brought_back(home: Path) -> None:
    """In one go, and what can't be is said."""
    with muniment.open(home) as peer:
        versions = [hit.record.version for hit in peer.agent("ava").recall("billing", limit=5)]
    form = "&".join(f"ref={quote(ref)}" for ref in [*versions, "nothing"])
    with visited(home) as visitor:
        token = visitor.token()

        def send_all(do: str, more: str = "") -> str:
            from .serving import send

            body = f"{form}&do={do}&form_token={token}{more}".encode()
            headers = {"content-type": "application/x-www-form-urlencoded", "cookie": visitor.cookie}
            return send(visitor.url, body, {**headers, "hx-request": "true"}, "POST", "/a/ava/bulk")[
                2
            ].decode()

        assert "5 memories forgotten" in send_all("forget")
        assert "1 left as they were" in send_all("undo")
        assert "tagged" in send_all("tag", "&tags=seen")
    with muniment.open(home) as peer:
        assert len(peer.agent("ava").list(tags=["seen"])) == 5


def test_a_memory_is_taken_along_as_a_file(home: Path, tmp_path: Path) -> None:
    """Under a safe name, as `import` reads it."""
    with visited(home) as visitor:
        _, headers, body = visitor.get("/a/ava/export")
    assert re.fullmatch(r'attachment; filename="muniment-ava-[0-9-]+\.jsonl"', headers["content-disposition"])
    file = tmp_path / "out.jsonl"
    file.write_text(body, "utf-8")
    with muniment.open(tmp_path / "other") as peer:
        assert peer.agent("eve", create=True).import_from(file).created == 16
    assert json.loads(body.splitlines()[1])["text"]


def test_everything_is_forgotten_only_once_the_words_were_typed(home: Path) -> None:
    """And comes back."""
    with visited(home) as visitor:
        assert visitor.do("/a/ava/settings/purge", word="yes")[0] == 400
        shown(visitor, visitor.do("/a/ava/settings/purge", word="forget everything"))
        with muniment.open(home) as peer:
            assert peer.agent("ava").stats().records == 0
        shown(visitor, visitor.do("/a/ava/settings/purge", undo="1"))
    with muniment.open(home) as peer:
        assert peer.agent("ava").stats().records == 15


def test_banks_are_made_granted_revoked_and_put_away(home: Path) -> None:
    """With the agent's own key, and the last only once the name was typed."""
    with visited(home) as visitor:
        bank = parse_qs(
            urlsplit(visitor.do("/a/ava/banks", name="ops", description="runs")[1]["location"]).query
        )["bank"][0]
        shown(visitor, visitor.do("/a/ava/bank/grant", bank=bank, who="ben", level="read", until=""))
        with muniment.open(home) as peer:
            assert [m.level for m in peer.agent("ava").banks.members("ops")] == ["admin(0)", "read"]
        visitor.do("/a/ava/bank/revoke", bank=bank, who="ben")
        with muniment.open(home) as peer:
            assert [(m.name, m.state) for m in peer.agent("ava").banks.members("ops")] == [
                ("ava", "standing"), ("ben", "cut"),
            ]  # fmt: skip
        assert visitor.do("/a/ben/bank/grant", bank=bank, who="ben", level="admin", until="")[0] == 403
        assert visitor.do("/a/ava/bank/delete", bank=bank, word="op")[0] == 400
        assert "ops" not in shown(visitor, visitor.do("/a/ava/bank/delete", bank=bank, word="ops"))


def test_a_bank_is_shared_by_a_ticket(home: Path) -> None:
    """Without a level it opens nothing by itself; its code stands beside it; and the bank is served until it is not."""
    with visited(home) as visitor:
        assert "not served" in visitor.get("/a/ava/bank?bank=team")[2]
        body = visitor.do("/a/ava/bank/share", bank="team", level="", address="https://memory.example")[2]
        ticket = parse_ticket(ticket_of(body))
        assert (ticket.peers, ticket.invite) == (("https://memory.example",), None)
        assert 'class="qr"' in body
        assert "Serve it no more" in visitor.get("/a/ava/bank?bank=team")[2]
        assert "not served" in shown(visitor, visitor.do("/a/ava/bank/unshare", bank="team"))
        assert visitor.do("/a/ava/bank/share", bank="team", address="ftp://x")[0] == 400


def test_a_ticket_with_an_invite_is_shown_once(home: Path) -> None:
    """With its level, its uses and its end; and the invite is withdrawn."""
    with visited(home) as visitor:
        status, _, body = visitor.do(
            "/a/ava/bank/share", bank="team", level="read", uses="2", until="2099-01-01"
        )
        assert status == 200
        assert "Shown once" in body
        text = ticket_of(body)
        assert parse_ticket(text).invite is not None
        assert 'class="qr"' in body
        assert text.partition("invite=")[2] not in unescape(visitor.get("/a/ava/bank?bank=team")[2])
        with muniment.open(home) as peer:
            (invite,) = peer.agent("ava").banks.invites("team")
            assert (invite.level, invite.uses, invite.state) == ("read", 2, "open")
        shown(visitor, visitor.do("/a/ava/bank/withdraw", bank="team", invite=invite.id))
        with muniment.open(home) as peer:
            assert [one.state for one in peer.agent("ava").banks.invites("team")] != ["open"]
        assert visitor.do("/a/ava/bank/share", bank="team", level="read", uses="-1")[0] == 400


def ticket_of(body: str) -> str:
    """The ticket that a page shows."""
    found = re.search(r'id="ticket"[^>]*>([^<]+)<', body)
    assert found
    return unescape(found[1])


def elsewhere(folder: Path) -> Path:
    """Another installation, with an agent called dee, which syncs when it is told."""
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text("sync:\n  background: false\n", "utf-8")
    with muniment.open(folder) as peer:
        peer.agent("dee", create=True)
    return folder


def test_a_ticket_with_an_invite_brings_the_bank(home: Path, tmp_path: Path) -> None:
    """Pasted into the page of another installation; then its peers tell how syncing goes, and it syncs when told."""
    with visited(home) as ava, visited(elsewhere(tmp_path / "dee")) as dee:
        ticket = ticket_of(ava.do("/a/ava/bank/share", bank="team", level="write", uses="1", until="")[2])
        assert "How we work" in shown(
            dee, dee.do("/a/dee/bank/import", ticket=f" {ticket}\n", level="write", note="")
        )
        live = dee.get("/a/dee/health/live")[2]
        assert ava.url in live
        assert '<span class="badge ">ok</span>' in live
        dee.do("/a/dee/write?bank=team", text="Dee was here.")
        body = dee.do("/a/dee/health/sync")[2]
        assert "both ends have the same" in body
        assert "was here." in ava.get("/a/ava/?bank=team&q=dee")[2]
        assert dee.do("/a/dee/bank/import", ticket="muniment:nonsense", level="write", note="")[0] == 400


@pytest.mark.parametrize("do", ["approve", "deny"])
def test_who_asks_is_answered(home: Path, tmp_path: Path, do: str) -> None:
    """The fingerprint comes first, the stranger's words stay apart and are text; then the bank comes, or does not."""
    with visited(home) as ava, visited(elsewhere(tmp_path / "dee")) as dee:
        ticket = ticket_of(ava.do("/a/ava/bank/share", bank="team", level="")[2])
        status, _, body = dee.do(
            "/a/dee/bank/import", ticket=ticket, level="read", note="<b>I am</b> Ben\u202e"
        )
        assert status == 200
        (mark,) = re.findall(r'class="fingerprint">([^<]+)<', body)
        page = ava.get("/a/ava/banks")[2]
        assert mark in page
        assert page.index(mark) < page.index("Anybody may write anything here") < page.index("&lt;b&gt;I am")
        assert "<b>I am" not in page
        assert "\u202e" not in page
        assert mark not in ava.get("/a/ben/banks")[2]
        (request,) = re.findall(r'name="request" value="([^"]+)"', page)
        assert ava.do("/a/ava/requests", request=request, do="else")[0] == 400
        after = shown(ava, ava.do("/a/ava/requests", request=request, do=do, level="write"))
        assert (mark in after, ">denied<" in after, 'value="deny"' in after) == (
            do == "deny",
            do == "deny",
            False,
        )
        dee.do("/a/dee/health/sync")
    with muniment.open(tmp_path / "dee") as peer:
        assert [bank.level for bank in peer.agent("dee").banks.list() if bank.name == "team"] == (
            ["write"] if do == "approve" else []
        )


def test_a_peer_that_does_not_answer_is_said(home: Path) -> None:
    """With the error and how often; addresses are named and forgotten by hand."""
    with visited(home) as visitor:
        assert "No other installation is known" in visitor.get("/a/ava/health")[2]
        assert visitor.do("/a/ava/health/sync")[0] == 400
        body = shown(visitor, visitor.do("/a/ava/health/add", bank="team", address="http://127.0.0.1:9"))
        assert "http://127.0.0.1:9" in body
        assert "never" in body
        assert 'class="dot fail"' in visitor.do("/a/ava/health/sync")[2]
        live = visitor.get("/a/ava/health/live")[2]
        assert ">failing<" in live
        assert 'class="went-wrong"' in live
        gone = shown(visitor, visitor.do("/a/ava/health/remove", bank="team", address="http://127.0.0.1:9"))
        assert "http://127.0.0.1:9" not in gone


def test_a_memory_is_erased_once_the_word_was_typed(home: Path) -> None:
    """What would go is named first, then it goes with all its versions, and a receipt says so."""
    with visited(home) as visitor:
        body = visitor.get("/a/ava/record/erase?ref=deploy")[2]
        assert "Deploys go out on Thursdays." in body
        assert "2 versions in all" in body
        assert visitor.do("/a/ava/record/erase", ref="deploy", word="yes", what="all")[0] == 400
        assert visitor.get("/a/ava/record?ref=deploy")[0] == 200
        assert (
            "<b>2 versions</b> erased"
            in visitor.do("/a/ava/record/erase", ref="deploy", word="erase", what="all")[2]
        )
        assert "Thursdays" not in visitor.get("/a/ava/results?q=thursdays&states=superseded")[2]
    with muniment.open(home) as peer:
        assert peer.agent("ava").history("deploy") == []


def test_one_version_is_erased_or_late_ones_too(home: Path) -> None:
    """As it is chosen; and what the agent may not erase is refused with the reason."""
    with muniment.open(home) as peer:
        _, oldest = peer.agent("ava").history("deploy")
        (note,) = peer.agent("ben").bank("team").list()
    with visited(home) as visitor:
        done = visitor.do("/a/ava/record/erase", ref=oldest.version, word="erase", what="version")[2]
        assert "<b>1 version</b> erased" in done
        assert (
            "that come late go too"
            in visitor.do("/a/ava/record/erase", ref="deploy", word="erase", what="late")[2]
        )
        ava = visitor.get(f"/a/ava/record/erase?ref={quote(note.version)}&bank=team")
        assert ava[0] == 200
        with muniment.open(home) as peer:
            made = peer.agent("ava").bank("team").remember("Ava's own.", key="own")
        ben = visitor.get(f"/a/ben/record/erase?ref={quote(made.version)}&bank=team")
        assert ben[0] == 403
        assert "may not erase" in ben[2]
    with muniment.open(home) as peer:
        assert peer.agent("ava").history("deploy") == []


def test_a_text_is_archived_fetched_and_restored(home: Path) -> None:
    """It is found all the while, with a badge, and each step has its button."""
    text = "The long minutes of the board, " + "and then more of them, " * 100
    with muniment.open(home) as peer:
        made = peer.agent("ava").remember(text, key="minutes")
    with visited(home) as visitor:
        body = shown(visitor, visitor.do("/a/ava/record/move", ref="minutes", move="archive"))
        assert 'value="restore"' in body
        assert 'value="archive"' not in body
        assert visitor.get("/a/ava/results?q=minutes+board")[2].count(">archived</span>") == 1
        assert text.strip() in visitor.do("/a/ava/record/move", ref="minutes", move="fetch")[2]
        assert visitor.do("/a/ava/record/move", ref="minutes", move="archive")[0] == 400
        body = shown(visitor, visitor.do("/a/ava/record/move", ref="minutes", move="restore"))
        assert 'value="archive"' in body
        assert visitor.do("/a/ava/record/move", ref="minutes", move="clear")[0] == 400
    with muniment.open(home) as peer:
        assert (peer.agent("ava").get("minutes").state, peer.agent("ava").get(made.id).text) == ("live", text)


def test_a_memory_is_judged_and_the_judgement_changed(home: Path) -> None:
    """One judgement by hand counts once: the next takes its place, or takes it back."""
    with visited(home) as visitor:
        for judgement, counts in (
            ("helpful", (1, 0)),
            ("helpful", (1, 0)),
            ("harmful", (0, 1)),
            ("neutral", (0, 0)),
        ):
            body = shown(visitor, visitor.do("/a/ava/record/feedback", ref="deploy", judgement=judgement))
            assert f"It helped <b>{counts[0]}</b>" in body
            assert f"It did harm <b>{counts[1]}</b>" in body
        assert visitor.do("/a/ava/record/feedback", ref="deploy", judgement="lovely")[0] == 400


def test_everything_is_erased_only_once_the_words_were_typed(home: Path) -> None:
    """All versions, also hidden ones, and nothing brings them back."""
    with visited(home) as visitor:
        assert visitor.do("/a/ava/settings/erase", word="forget everything")[0] == 400
        assert "<b>16 versions</b> erased" in visitor.do("/a/ava/settings/erase", word="erase everything")[2]
        assert visitor.do("/a/ava/settings/purge", undo="1")[0] in {400, 404}
    with muniment.open(home) as peer:
        assert peer.agent("ava").stats().records == 0
        assert len(peer.agent("ben").bank("team").list()) == 1


def test_what_memory_says_unasked_is_tried_and_changed(home: Path) -> None:
    """The block as the agent would get it, the banks of a conversation, and the settings."""
    with visited(home) as visitor:
        body = visitor.get("/a/ava/unasked/answer?message=when+do+deploys+go+out%3F")[2]
        assert "## Relevant Memories" in body
        assert "It would see nothing" in visitor.get("/a/ava/unasked/answer?message=%5Bzebra%5D")[2]
        visitor.do("/a/ava/unasked/attach", bank="team", session="talk")
        assert "wiki" in visitor.get("/a/ava/unasked/answer?session=talk&message=notes+of+the+team+wiki")[2]
        visitor.do("/a/ava/settings/unasked", max_entries="5", max_entry_chars="200", floor="0.36")
        visitor.do("/a/ava/settings/tools", tools="off")
    with muniment.open(home) as peer:
        config = peer.agent("ava").auto_recall_config()
        assert (config.max_entries, config.auto_recall_enabled) == (5, False)
        assert peer.agent("ava").allowed_tools() == ()


def test_a_link_for_another_browser_opens(home: Path) -> None:
    """It is made by who is in."""
    with visited(home) as visitor:
        body = visitor.do("/a/ava/settings/link")[2]
        link = re.search(r'id="link" readonly value="([^"]+)"', body)
        assert link
        other = Visitor(visitor.url)
        assert other.post("/login", {"with": with_of(unescape(link[1]))})[0] == 303


def test_the_map_is_drawn_beside_the_requests(home: Path) -> None:
    """With a point for each memory and a line for how it grew; a small memory has no shape."""
    with visited(home) as visitor:
        body = ""
        for _ in range(200):
            body = visitor.get("/a/ava/map/drawn", **{"hx-request": "true"})[2]
            if "Drawing" not in body:
                break
        assert body.count("<circle class=") == 15
        assert "growth-line" in body
        for _ in range(200):
            body = visitor.get("/a/ben/map/drawn")[2]
            if "Drawing" not in body:
                break
        assert "Too few" in body


# Pure parts


def test_a_question_is_read_from_an_address() -> None:
    """Empty values are none, numbers are held in bounds, and the usual state is no filter."""
    found = asked.read(
        [("q", "x"), ("tags", "a"), ("tags", " "), ("limit", "99999"), ("states", "live"), ("type", "")]
    )
    assert (found.q, found.filters, found.limit) == ("x", {"tags": ["a"]}, 1000)
    assert [(chip.label, chip.without["tags"]) for chip in found.chips] == [("tag", None)]
    assert asked.read([("limit", "²")]).limit == asked.PAGE


@given(st.lists(st.integers(0, 4 * 10**12), max_size=200).map(sorted))
def test_growth_counts_every_memory(moments: list[int]) -> None:
    """Whatever the times are, the bars add up to all of them and the line ends at the top."""
    chart = growth(moments)
    assert (chart is None) == (not moments)
    if chart is not None:
        assert sum(bar[5] for bar in chart.bars) == len(moments) == chart.rows[-1][2]
        assert chart.line.endswith("720.0,0.0")


@pytest.mark.parametrize(
    ("past", "said"),
    [(0, "just now"), (59_000, "just now"), (61_000, "1 minute ago"), (7_300_000, "2 hours ago"),
     (3 * 86_400_000, "3 days ago"), (-90_000, "in 1 minute"), (800 * 86_400_000, "2 years ago")],
)  # fmt: skip
def test_times_are_said_roughly(past: int, said: str) -> None:
    """In one unit."""
    now = 1_800_000_000_000
    assert words.ago(now - past, now) == said


def test_a_code_is_drawn_without_its_text() -> None:
    """Modules alone; and what is too long has none."""
    drawn = qr_svg("muniment:<script>")
    assert drawn is not None
    assert "script" not in drawn
    assert qr_svg("x" * 1001) is None


def test_nothing_unknown_is_shown(home: Path) -> None:
    """The error of the library itself stands behind the page's."""
    with muniment.open(home) as peer, pytest.raises(UnknownRecord):
        peer.agent("ava").get("nothing")
