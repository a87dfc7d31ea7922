"""Make the pictures of `docs/web.md`: a small made-up memory, a real server, a headless Chromium.

python docs/images/make_web.py [DIR]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import muniment
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import Options
from muniment.surfaces.web.logins import login_url

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
DAY = 86_400_000
NOTES: list[tuple[str | None, str | None, str, list[str]]] = [
    (
        "deploy-window",
        "Deploy window",
        (
            "Deploys go out on Fridays at ten, never after lunch, and only with a second pair of eyes "
            "on the dashboard."
        ),
        ["deploy", "team"],
    ),
    (
        "build",
        "Build",
        (
            "We build with nix and copy the closure to production; the cache on the build host is warm "
            "for a week."
        ),
        ["deploy", "build"],
    ),
    (
        "naming",
        "Naming",
        "New crates are named in kebab-case. Old ones keep their names until they are touched.",
        ["conventions"],
    ),
    (
        "editor",
        None,
        "Ines uses Helix with the gruvbox theme, and wants diffs without trailing blanks.",
        ["prefs"],
    ),
    (
        "oncall",
        "On call",
        "Whoever is on call does not deploy. The rota is in the calendar called Night Watch.",
        ["team", "deploy"],
    ),
    (
        None,
        None,
        "The staging database is restored from production every Sunday night, with addresses scrambled.",
        ["database"],
    ),
    (
        None,
        "Retro, March",
        (
            "Three of four incidents began with a config change that nobody had read. From now on a "
            "change of config is reviewed like code."
        ),
        ["team", "incidents"],
    ),
    (
        "api-limits",
        None,
        (
            "The billing API allows 40 requests a second per key; bursts above that are answered with "
            "429 and cost us a minute."
        ),
        ["api"],
    ),
    (
        None,
        None,
        "Kim prefers short answers with the command first and the reason after it.",
        ["prefs"],
    ),
    (
        "budget",
        "Budget",
        "Cloud spending is capped at 400 a day; the alert goes to the finance channel at 320.",
        ["money", "team"],
    ),
]


def fill(home: Path) -> None:
    """A memory of some months, and a bank that is shared."""
    now = int(time.time() * 1000)
    with muniment.open(home) as peer:
        ava = peer.agent("ava", create=True)
        ben = peer.agent("ben", create=True)
        with as_file(files("muniment.demo") / "conversations.jsonl") as path:
            ava.import_from(path)
        ava.remember("Deploys go out on Thursdays at four.", key="deploy-window", title="Deploy window",
                     tags=["deploy", "team"], created_at=now - 90 * DAY)  # fmt: skip
        for number, (key, title, text, tags) in enumerate(NOTES):
            made = now - (len(NOTES) - number) * 3 * DAY
            ava.remember(
                text, key=key, title=title, tags=tags, created_at=made, metadata={"team": "platform"}
            )
        ava.save_skill("release", ["Tag the commit", "Wait for green", "Copy the closure", "Watch for an hour"],
                       "How a release is made")  # fmt: skip
        ava.banks.new("team", description="How the platform team works, and why")
        ava.banks.grant("team", "ben", "write")
        ben.bank("team").remember(
            "Deploy notes for the team live in the wiki, under Releases.", tags=["deploy"]
        )
        ava.banks.new("house", description="The flat on Alder Lane")
        ava.banks.grant("ava", "ben", "write")
        ben.bank("ava").remember(
            "Ava asked me to keep an eye on the deploy of the billing service.", tags=["deploy"]
        )


def ask(home: Path, other: Path, url: str) -> None:
    """Somebody elsewhere asks to be let in; the bank is served only for that."""
    with muniment.open(home) as peer, muniment.open(other) as elsewhere:
        banks = peer.agent("ava").banks
        kim = elsewhere.agent("kim", create=True)
        kim.banks.import_ticket(banks.share("team", address=[url]).ticket, "read", note="Kim, from the lab")
        banks.unshare("team")


def shoot(page: Page, url: str, folder: Path) -> None:
    """Every picture."""

    def save(name: str) -> None:
        page.screenshot(path=str(folder / f"web-{name}.png"))

    def search() -> None:
        page.goto(f"{url}/a/ava/")
        page.fill("#q", "when can we deploy?")
        page.wait_for_selector("mark")
        page.mouse.move(2, 400)

    search()
    page.click(".score summary >> nth=0")
    save("search")
    page.emulate_media(color_scheme="dark")
    save("dark")
    page.emulate_media(color_scheme="light")
    page.goto(f"{url}/a/ava/record?ref=deploy-window")
    save("record")
    page.goto(f"{url}/a/ava/banks")
    page.click("text=How the platform team works")
    page.select_option("#share-level", "write")
    page.get_by_role("button", name="Share").click()
    page.wait_for_selector("#ticket")
    save("bank")
    page.goto(f"{url}/a/ava/banks")
    save("requests")
    page.goto(f"{url}/a/ava/record/erase?ref=deploy-window")
    save("erase")
    page.goto(f"{url}/a/ava/unasked")
    page.fill("#message", "Can we deploy after lunch today?")
    page.wait_for_selector(".block")
    save("unasked")
    page.goto(f"{url}/a/ava/map")
    page.wait_for_selector("svg.map")
    save("map")
    page.set_viewport_size({"width": 390, "height": 844})
    search()
    save("narrow")


def main() -> None:
    """Command line."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    options = replace(Options(), port=0, log=False)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        home = Path(place) / "home"
        fill(home)
        with background(lambda: muniment.open(home), options) as url:
            ask(home, Path(place) / "other", url)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            page.on("console", lambda m: sys.stderr.write(f"console: {m.text}\n"))
            page.on("pageerror", lambda e: sys.stderr.write(f"error: {e}\n"))
            page.set_default_timeout(8000)
            page.goto(login_url(url, options.web_secret))
            page.click("text=Sign in")
            page.wait_for_selector("#q")
            shoot(page, url, folder)
            browser.close()


if __name__ == "__main__":
    main()
