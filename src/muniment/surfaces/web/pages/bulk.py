"""Many memories at once: forget them and bring them back, tag them, take them along as a file."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from typing import IO, Any

from starlette.responses import Response, StreamingResponse

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.web.pages.memory import tags_of
from muniment.surfaces.web.visit import Visit
from muniment.views import Record

AT_ONCE = 1000
_CHUNK = 1 << 16
_IN_MEMORY = 8 << 20


def act(visit: Visit) -> Response:
    """Do what was chosen with the memories that were selected."""
    refs = list(dict.fromkeys(visit.all_said("ref")))
    if not refs or len(refs) > AT_ONCE:
        raise InvalidInput(f"{len(refs)} memories are selected", f"Select from one to {AT_ONCE}.")
    chosen = visit.said("do")
    if chosen in {"forget", "undo"}:
        done = _each(refs, lambda ref: visit.ask_here("forget", ref=ref, undo=chosen == "undo"))
        return _told(visit, "forgot" if chosen == "forget" else "back", done)
    if chosen == "tag":
        tags = tags_of(visit.said("tags"))
        if not tags:
            raise InvalidInput("no tag was given", "Write one, or several with commas between them.")
        return _told(visit, "tagged", _each(refs, lambda ref: _tag(visit, ref, tags)))
    if chosen == "export":
        lines = [json.dumps(visit.ask_here("get", ref=ref).to_json(), ensure_ascii=True) for ref in refs]
        return Response(
            "\n".join(lines) + "\n", headers=_attached("selected"), media_type="application/jsonl"
        )
    raise InvalidInput("there is no such thing to do", "Open the page again.")


def _each(refs: list[str], do: Any) -> tuple[list[str], list[str]]:
    """Which of them it was done with, and why not with the others."""
    done, failed = [], []
    for ref in refs:
        try:
            do(ref)
            done.append(ref)
        except MunimentError as error:
            failed.append(error.message)
    return done, failed


def _tag(visit: Visit, ref: str, tags: list[str]) -> None:
    record: Record = visit.ask_here("get", ref=ref)
    if record.key is None and record.author != visit.acting.did:
        raise InvalidInput("a memory without a key can only be tagged by its author")
    visit.ask_here(
        "remember", text=record.text, key=record.key, title=record.title,
        tags=list(dict.fromkeys([*record.tags, *tags])), metadata=dict(record.metadata) or None, type=record.type,
        session=record.session, created_at=record.created_at_ms, valid_from=record.valid_from,
        valid_until=record.valid_until, **({"id": record.id} if record.key is None else {}),
    )  # fmt: skip


def _told(visit: Visit, what: str, done: tuple[list[str], list[str]]) -> Response:
    refs, failed = done
    template = "notice_part.html" if visit.part else "notice.html"
    answer = visit.page(template, what=what, refs=refs, failed=failed)
    answer.headers["hx-trigger"] = "memories-changed"
    return answer


def export(visit: Visit) -> Response:
    """The whole memory as JSON Lines, as `import` reads it."""
    file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed when it was sent
    try:
        visit.ask_here("export", file, path="-")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_read(file), headers=_attached(visit.bank_name), media_type="application/jsonl")


def _read(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while data := file.read(_CHUNK):
            yield data


def _attached(name: str) -> dict[str, str]:
    """A download under a name that no file system and no header can misread."""
    safe = "".join(char if char.isascii() and char.isalnum() else "-" for char in name).strip("-")[:40]
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return {"content-disposition": f'attachment; filename="muniment-{safe or "memory"}-{day}.jsonl"'}


SCREENS = (
    ("POST", "/a/{agent}/bulk", act),
    ("GET", "/a/{agent}/export", export),
)
