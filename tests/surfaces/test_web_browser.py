"""The web page in a real browser: each screen, by keys, small, dark, with a memory that means harm, and for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import muniment
from muniment.surfaces.serve.options import Options
from muniment.surfaces.web.logins import login_url

from .serving import served
from .web_home import ATTACK, fill

CHROMIUM = Path("/usr/bin/chromium")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js"
PLACES = [
    *(
        "",
        "?q=deploys",
        "?q=nothinglikeit",
        "record?ref=deploy",
        "record/edit?ref=deploy",
        "record/erase?ref=deploy",
        "write",
        "banks",
        "bank",
    ),
    *("bank?bank=team", "unasked?message=when+do+deploys+go+out", "map", "health", "settings", "nothing"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    if not CHROMIUM.exists():
        pytest.skip("needs chromium")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def inside(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Browser, list[object]]]:
    """A server, and the cookie of somebody who signed in through its link."""
    home = tmp_path_factory.mktemp("browser") / "home"
    fill(home)
    secret = replace(Options()).web_secret
    with served(home, web_secret=secret) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(login_url(url, secret))
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#q")).to_be_visible()
        yield url, browser, list(context.cookies())
        context.close()


class Watched:
    """A page, what went wrong in it, and where it is."""

    def __init__(self, url: str, page: Page) -> None:
        self.url, self.page = url, page
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self.wrong.append(said.text) if self._counts(said.text) else None)

    @staticmethod
    def _counts(text: str) -> bool:
        # Statuses are looked at by themselves. That a question is dropped once the next one is typed is meant to be; a
        # request that fails says `htmx:sendError`.
        quiet = ("htmx:afterRequest,", "htmx:sendAbort,")
        return "Failed to load resource" not in text and not text.startswith(quiet)

    def open(self, place: str = "") -> Page:
        """A screen of ava's."""
        self.page.goto(f"{self.url}/a/ava/{place}")
        if place.startswith("map"):
            expect(self.page.locator("svg.map")).to_be_visible()
        return self.page


@pytest.fixture
def watched(inside: tuple[str, Browser, list[object]], request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page of its own, in which nothing may go wrong. Its settings come from the test's parameters."""
    url, browser, cookies = inside
    context = browser.new_context(
        **{"viewport": {"width": 1280, "height": 800}, **getattr(request, "param", {})}
    )
    context.add_cookies(cookies)  # type: ignore[arg-type]
    made = Watched(url, context.new_page())
    yield made
    context.close()
    assert made.wrong == []


NARROW = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
DARK = {"color_scheme": "dark"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("watched", [{}, DARK, NARROW], indirect=True, ids=["light", "dark", "narrow"])
def test_every_screen_can_be_used_by_all(watched: Watched, place: str) -> None:
    """No serious barrier is found, nothing is wider than the screen, and nothing goes wrong."""
    page = watched.open(place)
    # The page's own policy lets nobody add a script, so it is run from outside.
    page.evaluate(AXE.read_text("utf-8") + ";0")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [
        (one["id"], [node["html"][:160] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"


@pytest.mark.parametrize("place", ["", "?q=stolen", "map", "banks", "unasked?message=stolen+script+alert"])
def test_a_memory_that_means_harm_stays_text(watched: Watched, place: str) -> None:
    """Nothing of it runs, and nothing of it becomes an element."""
    page = watched.open(place)
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script, main b:text-is('x')").count() == 0


def test_a_memory_that_means_harm_is_shown_whole(watched: Watched) -> None:
    """As its characters; those that turn text around by their number."""
    page = watched.open()
    page.fill("#q", "stolen onerror")
    page.locator("[data-open]").first.click()
    text = page.locator(".record-text").inner_text()
    assert "<script>window.stolen = 1</script>" in text
    assert "\\u202egnp.exe" in text
    assert "שלום עולם" in text
    assert page.evaluate("window.stolen") is None
    assert len(text) > len(ATTACK) - 10


def test_searching_as_one_types(watched: Watched) -> None:
    """Answers come without a key to send, the address says what was asked, and each score is explained."""
    page = watched.open()
    page.locator("#q").press_sequentially("fridays")
    expect(page.locator("mark")).to_have_text(["Fridays"])
    expect(page).to_have_url(f"{watched.url}/a/ava/?q=fridays")
    page.locator(".score summary").click()
    expect(page.get_by_text("What speaks for it")).to_be_visible()
    page.fill("#q", "zebra")
    expect(page.get_by_text("No memory has these words")).to_be_visible()


def test_the_page_is_walked_by_keys(watched: Watched) -> None:
    """`/` to search, j and k through the hits, x to select, Enter to open, Escape back, ? for help."""
    page = watched.open()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("billing")
    expect(page.locator("mark").first).to_have_text("billing")
    page.keyboard.press("Escape")
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator("[data-hit]").first).to_have_class("hit current")
    page.keyboard.press("x")
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".record-text")).to_contain_text("billing")
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_have_value("billing")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New memory")).to_be_visible()


def test_filters_hold_and_are_taken_away(watched: Watched) -> None:
    """Chosen in the menu they hold at once; the chip takes them away."""
    page = watched.open()
    page.locator(".filters summary").click()
    page.fill("#f-tags", "prefs")
    expect(page.locator("[data-hit]")).to_have_count(1)
    page.locator(".chip.on").click()
    expect(page.locator("[data-hit]")).to_have_count(15)


def test_many_are_forgotten_and_the_notice_brings_them_back(watched: Watched) -> None:
    """Without leaving the page."""
    page = watched.open("?q=ticket+billing")
    expect(page.locator("[data-hit]")).to_have_count(12)
    for number in (0, 1, 2):
        page.locator("[data-select]").nth(number).check()
    page.get_by_role("button", name="Forget").click()
    expect(page.locator("[data-notice]")).to_contain_text("3 memories forgotten")
    expect(page.locator("[data-hit]")).to_have_count(9)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-hit]")).to_have_count(12)


def test_what_is_selected_is_taken_along(watched: Watched) -> None:
    """As a file under a safe name."""
    page = watched.open("?q=helix")
    page.locator("[data-select]").first.check()
    with page.expect_download() as coming:
        page.locator(".bulk").get_by_role("button", name="Export").click()
    assert coming.value.suggested_filename.startswith("muniment-selected-")
    assert "gruvbox" in Path(coming.value.path()).read_text("utf-8")


def test_what_hides_much_needs_typed_words(watched: Watched) -> None:
    """The button is shut until they stand there."""
    page = watched.open("settings")
    for field, words in (("#purge-word", "forget everything"), ("#erase-word", "erase everything")):
        button = page.locator("form", has=page.locator(field)).locator("button.dangerous")
        expect(button).to_be_disabled()
        page.fill(field, words)
        expect(button).to_be_enabled()


def test_a_memory_is_erased_after_what_goes_was_named(watched: Watched) -> None:
    """From its page: what is destroyed stands there, the button is shut until the word does, and it is gone."""
    page = watched.open("write")
    page.fill("#text", "The code of the safe is 4711.")
    page.fill("#title", "Safe")
    page.get_by_role("button", name="Remember").click()
    page.get_by_role("link", name="Erase…").click()
    expect(page.locator(".history")).to_contain_text("The code of the safe is 4711.")
    button = page.get_by_role("button", name="Erase for ever")
    expect(button).to_be_disabled()
    page.fill("#erase-word", "erase")
    button.click()
    expect(page.locator("main [role=status]")).to_contain_text("1 version erased")
    page.get_by_role("link", name="Back to the memory").click()
    page.fill("#q", "4711")
    expect(page.get_by_text("No memory has these words")).to_be_visible()


def test_a_bank_is_shared_and_who_asks_is_let_in(watched: Watched, browser: Browser, tmp_path: Path) -> None:
    """The ticket is pasted elsewhere, the fingerprints are compared, it is approved, and the bank comes with a sync."""
    with muniment.open(tmp_path / "dee") as peer:
        peer.agent("dee", create=True)
    (tmp_path / "dee" / "config.yaml").write_text("sync:\n  background: false\n", "utf-8")
    page = watched.open("bank?bank=team")
    page.get_by_role("button", name="Share").click()
    ticket = page.locator("#ticket").input_value()
    expect(page.locator("svg.qr")).to_be_visible()
    secret = replace(Options()).web_secret
    with served(tmp_path / "dee", web_secret=secret) as url:
        context = browser.new_context()
        other = context.new_page()
        other.goto(login_url(url, secret))
        other.get_by_role("button", name="Sign in").click()
        other.goto(f"{url}/a/dee/banks")
        other.fill("#import-ticket", ticket)
        other.fill("#note", ATTACK[:100])
        other.get_by_role("button", name="Import").click()
        mark = other.locator(".fingerprint").inner_text()
        page = watched.open("banks")
        expect(page.locator(".requests .fingerprint")).to_have_text(mark)
        expect(page.locator(".stranger")).to_contain_text("Anybody may write anything here")
        expect(page.locator(".stranger blockquote")).to_contain_text("<script>window.stolen = 1</script>")
        assert page.evaluate("window.stolen") is None
        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".requests")).to_have_count(0)
        other.goto(f"{url}/a/dee/health")
        other.get_by_role("button", name="Sync now").click()
        other.goto(f"{url}/a/dee/banks")
        expect(other.locator(".bank-name").filter(has_text="team")).to_be_visible()
        context.close()


def test_a_theme_is_chosen_and_stays(watched: Watched) -> None:
    """Over the system's."""
    page = watched.open()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("[data-theme-toggle]").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_a_point_of_the_map_opens_its_memory(watched: Watched) -> None:
    """Where it lies."""
    page = watched.open("map")
    page.locator("svg.map circle").first.click(force=True)
    expect(page.locator(".record-text")).to_be_visible()


def test_it_works_without_scripts(inside: tuple[str, Browser, list[object]]) -> None:
    """Searching and keeping are forms."""
    url, browser, cookies = inside
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(cookies)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{url}/a/ben/")
    page.get_by_role("link", name="New memory").click()
    page.fill("#text", "Ben likes tea.")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator(".record-text")).to_have_text("Ben likes tea.")
    page.goto(f"{url}/a/ben/")
    page.fill("#q", "tea")
    page.press("#q", "Enter")
    expect(page.locator("mark")).to_have_text("tea")
    context.close()


def test_a_server_that_is_gone_is_said(browser: Browser, tmp_path: Path) -> None:
    """In the page that was open."""
    fill(tmp_path / "home")
    secret = replace(Options()).web_secret
    context = browser.new_context()
    page = context.new_page()
    with served(tmp_path / "home", web_secret=secret) as url:
        page.goto(login_url(url, secret))
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#q")).to_be_visible()
    page.fill("#q", "tea")
    expect(page.locator("#told")).to_contain_text("does not answer")
    context.close()
