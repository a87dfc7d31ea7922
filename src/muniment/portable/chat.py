"""Chat transcripts in JSON: message lists as OpenAI and Anthropic write them, and exports of their applications.

A file holds one list of messages, one conversation (`{"messages": [...]}`), a list of conversations, or any of
these one a line. A message becomes `speaker: text`; results of tools are marked `tool`; empty ones are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.portable.base import BadLine, Incoming, Item, LeftOut, label, ref, source_id
from muniment.portable.source import Source, value_of, values
from muniment.portable.times import to_ms

FORMAT = "chat"
_LISTS = ("messages", "conversation", "conversations", "chat_messages", "turns")
_IDS = ("conversation_id", "session_id", "thread_id", "chat_id", "uuid", "session", "id")
_TITLES = ("title", "name")
_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "created", "time", "date", "ts")
_ROLES = ("role", "speaker", "from", "sender", "author")
_CONTENTS = ("content", "text", "value", "message", "parts")
_SYSTEM = {"system", "developer"}
_TOOL = {"tool", "function", "tool_result"}
_MEDIA = {
    "image": "image", "image_url": "image", "input_image": "image", "image_asset_pointer": "image",
    "audio": "audio", "input_audio": "audio", "file": "file", "input_file": "file", "document": "document",
    "video": "video",
}  # fmt: skip
_UNSAID = {"thinking", "redacted_thinking", "reasoning"}  # not part of what was said
_DEEPEST = 8  # content in content
_MOST_PENDING = 64  # messages by the system at the start


class Said(NamedTuple):
    """One thing said in a message: by whom, the words, and whether a tool said it."""

    speaker: str
    text: str
    tool: bool = False
    about: Mapping[str, Any] = {}


@dataclass(slots=True)
class Thread:
    """A conversation while it is read. Its source is known once the message that names it was seen."""

    number: int  # of the conversation in the file, from 1
    own_id: str | None = None
    title: str | None = None
    source: str = ""
    count: int = 0
    last: int | None = None  # when the last message was said
    about: dict[str, Any] = field(default_factory=dict)
    pending: list[tuple[str, Any]] = field(default_factory=list)

    def settle(self, first: Mapping[str, Any], said: Said, *, last: bool) -> None:
        """Name the conversation by its id, or else by its first message that is not by the system."""
        if self.source:
            return
        if self.own_id is not None:
            self.source = source_id(FORMAT, self.own_id)
        elif last or said.speaker.lower() not in _SYSTEM:
            self.source = source_id(FORMAT, self.number, said.speaker, said.text, _time_field(first))

    @property
    def session(self) -> str:
        """The name of the session that the messages get."""
        name = self.own_id or (f"{self.title} ({self.source})" if self.title else f"chat-{self.source}")
        return name if len(name) <= LIMITS.session_chars else f"chat-{self.source}"


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message of any of the known shapes."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("message"), dict):
        return is_message(value["message"])
    has_role = any(isinstance(value.get(name), str | dict) for name in _ROLES)
    return has_role and any(name in value for name in (*_CONTENTS, "tool_calls", "function_call"))


def is_conversation(value: Any) -> bool:
    """Whether a JSON value is a conversation: a list of messages, or an object that holds one."""
    if isinstance(value, list):
        return any(is_message(item) for item in value[:8])
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("mapping"), dict):
        return True
    # Keys that a message has too (`conversation` as text, say) only count if a list is behind them.
    return any(isinstance(value.get(name), list) for name in _LISTS)


def read(source: Source) -> Iterator[Item]:
    """The messages of all conversations of a file, in its order."""
    flat = Thread(1)  # of messages that stand in the file itself, without a conversation's id
    threads: dict[str, Thread] = {}
    lines = not source.head.lstrip().startswith(b"[")
    for piece in values(source):
        place = f"line {piece.line}" if lines else f"item {piece.number} (line {piece.line})"
        try:
            value = value_of(piece, _fits, "neither a message nor a conversation")
        except InvalidInput as error:
            yield BadLine(place, error.message)
            flat.count += 1  # once it is mended, those after it keep their ordinals
            continue
        if is_conversation(value):
            yield from _conversation(value, piece.number, place)
            continue
        own = _text_field(value, _IDS[:4])
        thread = flat if own is None else threads.setdefault(own, Thread(len(threads) + 1, own))
        thread.pending.append((place, value))
        # System messages at the start wait for the message that names the conversation.
        if thread.source or own is not None or not _is_system(value) or len(thread.pending) > _MOST_PENDING:
            yield from _messages(thread)
    yield from _messages(flat)


def _fits(value: Any) -> bool:
    return is_conversation(value) or is_message(value)


def _is_system(message: dict[str, Any]) -> bool:
    return _speaker(message)[1].lower() in _SYSTEM


def _conversation(value: Any, number: int, place: str) -> Iterator[Item]:
    thread = Thread(number)
    if isinstance(value, dict):
        thread.own_id = _text_field(value, _IDS)
        thread.title = _text_field(value, _TITLES)
        start = _time_field(value)
        thread.last = None if start is None else start - 1000
        if thread.title is not None:
            thread.about["conversation"] = thread.title
        tree = value.get("mapping")
        messages = _path(tree, value.get("current_node")) if isinstance(tree, dict) else _list_of(value)
        if isinstance(tree, dict) and (others := _others(tree, messages)):
            yield LeftOut(place, "messages of branches that were edited away", others)
    else:
        messages = value
    thread.pending = [(f"{place} message {at}", item) for at, item in enumerate(messages, 1)]
    yield from _messages(thread)


def _list_of(value: dict[str, Any]) -> list[Any]:
    return next(value[name] for name in _LISTS if isinstance(value.get(name), list))


def _tree(mapping: dict[str, Any]) -> list[Any]:
    """The messages of a tree of edits, oldest first: each node once, parents before their children."""
    ordered, seen = [], set()
    roots = [
        key for key, node in mapping.items() if isinstance(node, dict) and node.get("parent") not in mapping
    ]
    stack = list(reversed(roots or list(mapping)[:1]))
    while stack:
        key = stack.pop()
        node = mapping.get(key)
        if key in seen or not isinstance(node, dict):
            continue
        seen.add(key)
        if isinstance(node.get("message"), dict):
            ordered.append(node["message"])
        children = node.get("children")
        if isinstance(children, list):
            stack += [child for child in reversed(children) if isinstance(child, str)]
    return ordered


def _path(mapping: dict[str, Any], current: object) -> list[Any]:
    """The messages that lead to the one that is shown, oldest first; all, where none is said to be shown."""
    if not isinstance(current, str) or not isinstance(mapping.get(current), dict):
        return _tree(mapping)
    messages, seen = [], set()
    while isinstance(current, str) and current not in seen and isinstance(node := mapping.get(current), dict):
        seen.add(current)
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        current = node.get("parent")
    return messages[::-1]


def _others(mapping: dict[str, Any], taken: list[Any]) -> int:
    """How many messages of a tree say something and were not taken."""
    known = {id(message) for message in taken}
    nodes = (node.get("message") for node in mapping.values() if isinstance(node, dict))
    return sum(1 for m in nodes if isinstance(m, dict) and id(m) not in known and is_message(m) and _said(m))


def _messages(thread: Thread) -> Iterator[Item]:
    """What the pending messages of a conversation say."""
    parsed: list[tuple[str, int, Mapping[str, Any], list[Said]] | BadLine] = []
    pending, thread.pending = thread.pending, []
    for place, value in pending:
        thread.count += 1
        if not is_message(value):
            parsed.append(BadLine(place, "not a message: it has no role or no content"))
            continue
        inner = value.get("message")
        message = {**value, "message": None, **inner} if isinstance(inner, dict) else value
        parsed.append((place, thread.count, message, _said(message)))
    for last in (False, True):  # if all are by the system, the first of them names the conversation
        for item in parsed:
            if not isinstance(item, BadLine) and item[3]:
                thread.settle(item[2], item[3][0], last=last)
    for item in parsed:
        if isinstance(item, BadLine):
            yield item
        else:
            yield from _incoming(*item, thread)


def _incoming(
    place: str, number: int, message: Mapping[str, Any], said: list[Said], thread: Thread
) -> Iterator[Incoming]:
    created = _time_field(message)
    if created is None and thread.last is not None:
        created = thread.last + 1000  # the order of the messages is kept
    thread.last = created
    own = _text_field(message, ("id", "uuid", "message_id"))
    for part, one in enumerate(said):
        at = own or str(number)
        yield Incoming(
            text=f"{one.speaker}: {one.text}",
            place=place,
            metadata={"speaker": one.speaker, **thread.about, **one.about},
            type="message",
            session=thread.session,
            created_ms=created,
            tool=one.tool,
            source_ref=ref(FORMAT, thread.source, f"{at}.{part}" if part else at),
            author=one.speaker,
        )


def _speaker(message: Mapping[str, Any]) -> tuple[str, str]:
    """Who speaks, and in which role."""
    role: Any = next((message[name] for name in _ROLES if message.get(name)), "unknown")
    if isinstance(role, dict):
        role = role.get("name") or role.get("role") or "unknown"
    role = role if isinstance(role, str) else "unknown"
    name = message.get("name")
    return (name if isinstance(name, str) and name and role not in _TOOL else role), role


def _said(message: Mapping[str, Any]) -> list[Said]:
    """What a message says: its words and calls by the speaker, and each result of a tool apart."""
    speaker, role = _speaker(message)
    content = next((message[name] for name in _CONTENTS if message.get(name)), None)
    words: list[str] = []
    results: list[Said] = []
    _walk(content, words, results, _DEEPEST)
    attached = message.get("attachments")
    words += [  # an export of Claude
        f"[attached {label(file.get('file_name'), 'text')}]\n{file['extracted_content']}"
        for file in (attached if isinstance(attached, list) else ())
        if isinstance(file, dict) and isinstance(file.get("extracted_content"), str)
    ]
    calls = message.get("tool_calls")
    called = [*(calls if isinstance(calls, list) else []), message.get("function_call")]
    words += [_call(call) for call in called if isinstance(call, dict)]
    text = "\n".join(word for word in words if word)
    about: dict[str, Any] = {}
    if speaker != role:
        about["role"] = role
    if role in _TOOL:
        if isinstance(message.get("name"), str):
            about["tool"] = message["name"]
        if isinstance(message.get("tool_call_id"), str):
            about["tool_call_id"] = message["tool_call_id"]
    spoken = [Said(speaker, text, role in _TOOL, about)] if text else []
    return results + spoken


def _walk(content: Any, words: list[str], results: list[Said], left: int) -> None:
    """Collect the words of any content: text, lists of parts, and parts that hold parts."""
    if isinstance(content, str):
        words.append(content)
    elif isinstance(content, list) and left:
        for part in content:
            _walk(part, words, results, left - 1)
    elif isinstance(content, dict) and left:
        kind = content.get("type") or content.get("content_type")
        if kind in _UNSAID:
            return
        if kind == "tool_result":
            inner: list[str] = []
            _walk(content.get("content"), inner, results, left - 1)
            about = (
                {"tool_call_id": content["tool_use_id"]}
                if isinstance(content.get("tool_use_id"), str)
                else {}
            )
            if any(inner):
                results.append(Said("tool", "\n".join(inner), tool=True, about=about))
        elif kind in {"tool_use", "function_call", "tool_call"}:
            words.append(_call(content))
        elif isinstance(kind, str) and kind in _MEDIA:
            words.append(f"[{_MEDIA[kind]}]")
        else:
            for name in ("text", "refusal", "content", "parts", "transcript"):
                if name in content:
                    _walk(content[name], words, results, left - 1)
                    break


def _call(call: Mapping[str, Any]) -> str:
    """A call of a tool in words: `[calls weather {"city": "Paris"}]`."""
    inner = call.get("function")
    about: Mapping[str, Any] = inner if isinstance(inner, dict) else call
    arguments = about.get("arguments", about.get("input", {}))
    try:
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    except RecursionError:  # the parser goes a little deeper than the writer
        shown = "…"
    return f"[calls {label(about.get('name'), 'a tool')} {shown}]"


def _text_field(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
    return None


def _time_field(value: Mapping[str, Any]) -> int | None:
    return next((ms for name in _TIMES if (ms := to_ms(value.get(name))) is not None), None)
