"""`make demo`: real commands on real conversations, in a folder of their own, as a new user would type them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

HOME = Path(".demo") / "home"
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"

NEXT = """
Now your own memory (in your data folder; MUNIMENT_HOME chooses another):

  {here}muniment remember "The deploy window is Friday at ten" --key deploy-window
  {here}muniment recall "when can we deploy?"
  {here}muniment import chat.json          conversations as OpenAI or Anthropic keep them, or plain text
  {here}muniment import notes/             a folder of Markdown notes
  {here}muniment --help

The README shows the same from Python; `make test` proves the code.
"""


def main() -> int:
    """Walk through the demo; 0 if every command did what it should."""
    data = files("muniment.demo")
    questions = json.loads((data / "questions.json").read_text("utf-8"))
    _say("A memory for an agent called ava, from conversations of a few weeks.", str(HOME))
    with as_file(data / "conversations.jsonl") as conversations:
        if not (HOME / "peer.db").exists() and _run("agent", "new", "ava"):
            return 1
        if _run("import", _near(conversations)):
            return 1
    _say("Five questions, answered by words alone; no model, no network.")
    for asked in questions:
        if _run("recall", asked["question"], "--limit", "3"):
            return 1
    _say("Why is that the first hit? Each score can be taken apart.")
    first = _first(questions[0]["question"])
    if first is None or _run("why", questions[0]["question"], first):
        return 1
    _say("Who wrote all this, and did anybody change it? Every signature is checked again.")
    if _run("verify"):
        return 1
    _write(NEXT.format(here="" if _on_path() else f"{_near(Path(sys.executable).parent)}/"))
    return 0


def _run(*words: str) -> int:
    """Show a command as it would be typed, and run it."""
    _write(f"\n{_style(BOLD)}$ muniment {shlex.join(words)}{_style(PLAIN)}\n")
    return subprocess.run(_command(*words), check=False, stdin=subprocess.DEVNULL).returncode  # noqa: S603


def _first(question: str) -> str | None:
    """The id of the first hit."""
    done = subprocess.run(  # noqa: S603 - our own program, with our own words
        _command("recall", question, "--limit", "1", "--json"), check=True, capture_output=True
    )
    hits = json.loads(done.stdout)["hits"]
    return str(hits[0]["record"]["id"]) if hits else None


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "muniment", "--home", str(HOME), "--agent", "ava", *words]


def _say(text: str, place: str = "") -> None:
    tail = f"  {_style(DIM)}{place}{_style(PLAIN)}" if place else ""
    _write(f"\n{text}{tail}\n")


def _style(code: str) -> str:
    return code if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ""


def _near(path: Path) -> str:
    """The path as one would type it here."""
    return min(str(path), os.path.relpath(path), key=len)


def _on_path() -> bool:
    from shutil import which

    return which("muniment") is not None


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
