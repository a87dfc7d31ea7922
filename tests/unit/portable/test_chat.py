"""Chat transcripts, in JSON and as plain text."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.limits import LIMITS
from muniment.portable import chat, transcript
from muniment.portable.base import BadLine, Incoming, Item, checked
from muniment.portable.source import Source


def read(value: Any, **layout: Any) -> list[Item]:
    """The items of a JSON value, or of bytes."""
    data = value if isinstance(value, bytes) else json.dumps(value, **layout).encode()
    return list(chat.read(Source(io.BytesIO(data))))


def texts(items: list[Item]) -> list[str]:
    """The texts of items, none of which may be bad."""
    assert not [item for item in items if isinstance(item, BadLine)]
    return [item.text for item in items if isinstance(item, Incoming)]


def refs(items: list[Item]) -> list[str | None]:
    """The refs of the items that are not bad."""
    return [item.source_ref for item in items if isinstance(item, Incoming)]


HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]
SAID = ["user: Hello", "assistant: Good day"]


BLOCKS = [{"type": "text", "text": "Good day"}]


def node(parent: str, role: str, words: str, *children: str) -> dict[str, Any]:
    """A message in a tree of edits."""
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [words]}}
    return {"parent": parent, "message": message, "children": list(children)}


@pytest.mark.parametrize(
    "data",
    [
        HELLO,
        {"messages": HELLO},
        [{"messages": HELLO}],
        [HELLO],
        {"conversations": [{"from": "user", "value": "Hello"}, {"from": "assistant", "value": "Good day"}]},
        {
            "uuid": "u",
            "chat_messages": [
                {"sender": "user", "text": "Hello", "content": []},
                {"sender": "assistant", "content": BLOCKS},
            ],
        },
        b'{"role": "user", "content": "Hello"}\n{"role": "assistant", "content": "Good day"}\n',
        json.dumps({"messages": HELLO}).encode() + b"\n",
        json.dumps(HELLO).encode(),
        [{"speaker": "user", "text": "Hello"}, {"speaker": "assistant", "text": "Good day"}],
        [
            {
                "mapping": {
                    "root": {"message": None, "children": ["a"]},
                    "b": node("a", "assistant", "Good day"),
                    "a": node("root", "user", "Hello", "b"),
                }
            }
        ],
    ],
)
def test_all_layouts_of_a_conversation_give_its_messages(data: Any) -> None:
    """Lists, objects, lists of either and one a line give the same messages, of type `message`, in one session."""
    for indent in (None, 2):
        items = read(data, indent=indent)
        assert texts(items) == SAID
        assert {item.type for item in items if isinstance(item, Incoming)} == {"message"}
        assert len({item.session for item in items if isinstance(item, Incoming)}) == 1
        assert [item.metadata["speaker"] for item in items if isinstance(item, Incoming)] == [
            "user",
            "assistant",
        ]


def test_parts_calls_and_results_are_put_into_words() -> None:
    """Text parts are joined, media named, calls written out, hidden thoughts left out; results are marked `tool`."""
    look = [{"type": "text", "text": "Look"}, {"type": "image_url"}, {"type": "input_text", "text": "here"}]
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    answer = [
        {"type": "thinking", "thinking": "secret"},
        {"type": "text", "text": "It snows."},
        {"type": "tool_use", "name": "say", "id": "t", "input": {"a": 1}},
    ]
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "said"}]}
    items = read(
        [
            {"role": "user", "name": "Ann", "content": look},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "weather", "tool_call_id": "c1", "content": "snow"},
            {"role": "assistant", "content": answer},
            {"role": "user", "content": [result, {"type": "text", "text": "Thanks"}]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": None},
        ]
    )
    assert texts(items) == [
        "Ann: Look\n[image]\nhere",
        'assistant: [calls weather {"city": "Oslo"}]',
        "tool: snow",
        'assistant: It snows.\n[calls say {"a": 1}]',
        "tool: said",
        "user: Thanks",
    ]
    tools = [item for item in items if isinstance(item, Incoming) and item.tool]
    assert [item.text for item in tools] == ["tool: snow", "tool: said"]
    assert tools[0].metadata == {"speaker": "tool", "tool": "weather", "tool_call_id": "c1"}
    assert len(set(refs(items))) == 6


def test_conversations_bring_their_name_time_and_ids() -> None:
    """The id is the session, the title is metadata, and messages without a time follow those before them."""
    items = read(
        {"id": "conv-1", "title": "Moving", "created_at": "2026-01-01T00:00:00Z", "messages": [
            {"role": "user", "content": "a", "id": "m1"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c", "timestamp": 1_767_312_000}, {"role": "user", "content": "d"}]}
    )  # fmt: skip
    found = [item for item in items if isinstance(item, Incoming)]
    assert {item.session for item in found} == {"conv-1"}
    assert {item.metadata["conversation"] for item in found} == {"Moving"}
    start = 1_767_225_600_000
    assert [item.created_ms for item in found] == [
        start,
        start + 1000,
        start + 86_400_000,
        start + 86_401_000,
    ]
    assert (found[0].source_ref or "").endswith("#m1")


def test_messages_one_a_line_can_belong_to_several_conversations() -> None:
    """A session id on each message parts the file into its conversations."""
    lines = [
        {"session_id": "s1", "role": "user", "content": "a"},
        {"session_id": "s2", "role": "user", "content": "a"},
        {"session_id": "s1", "role": "user", "content": "a"},
    ]
    items = read(b"\n".join(json.dumps(line).encode() for line in lines))
    assert [item.session for item in items if isinstance(item, Incoming)] == ["s1", "s2", "s1"]
    assert len(set(refs(items))) == 3


def test_refs_hold_when_a_file_grows_and_equal_lines_stay_apart() -> None:
    """The same messages have the same refs after more were added; two equal ones have two."""
    short = [{"role": "system", "content": "Be kind."}, *HELLO, HELLO[0]]
    for wrap in (
        lambda x: x,
        lambda x: {"messages": x},
        lambda x: b"\n".join(json.dumps(m).encode() for m in x),
    ):
        before, after = read(wrap(short)), read(wrap([*short, *HELLO]))
        assert refs(after)[:4] == refs(before)
        assert len(set(refs(after))) == 6
        sessions = {item.session for item in after if isinstance(item, Incoming)}
        assert len(sessions) == 1


def test_a_system_prompt_does_not_make_two_conversations_one() -> None:
    """Conversations that share only the system's words have refs and sessions of their own."""
    prompt = {"role": "system", "content": "Be kind."}
    one, two = read([prompt, HELLO[0]]), read([prompt, HELLO[1]])
    assert not set(refs(one)) & set(refs(two))
    only = read([prompt, prompt])
    assert len(set(refs(only))) == 2


def test_a_mended_bad_line_moves_no_ref() -> None:
    """Bad lines are counted, so those after them keep their places."""
    good = [json.dumps(message).encode() for message in (*HELLO, *HELLO)]
    broken = [good[0], b"{broken", *good[2:]]
    items = read(b"\n".join(broken))
    assert [item.place for item in items if isinstance(item, BadLine)] == ["line 2"]
    whole = refs(read(b"\n".join(good)))
    assert refs(items) == [whole[0], *whole[2:]]


@pytest.mark.parametrize(
    "bad", [5, "x", None, {}, {"role": "user"}, {"content": "x"}, {"role": 5, "content": "x"}]
)
def test_what_is_no_message_is_named_and_the_others_are_taken(bad: Any) -> None:
    """In a list, and in the messages of a conversation, a stranger is a bad line with its place."""
    for wrapped in ([HELLO[0], bad, HELLO[1]], {"messages": [HELLO[0], bad, HELLO[1]]}):
        items = read(wrapped)
        assert [type(item) for item in items] == [Incoming, BadLine, Incoming]
        assert "2" in (items[1].place)


def test_deep_and_looping_files_are_read_to_their_end() -> None:
    """Content nested without end, deep arguments and a tree that bites its tail raise nothing."""
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    loop = {
        "a": {"parent": "b", "message": HELLO[0], "children": ["b"]},
        "b": {"parent": "a", "children": ["a"]},
    }
    call = {"function": {"name": deep, "arguments": deep}}
    items = read(
        [
            {"role": "user", "content": deep},
            {"role": "user", "tool_calls": [call]},
            {"mapping": loop},
            {"role": "user", "content": "end", "created_at": deep, "id": deep, "name": deep},
        ]
    )
    assert isinstance(items[-1], Incoming)
    assert "user: Hello" in [item.text for item in items if isinstance(item, Incoming)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["user", "system", "text", "tool_result", "a"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "messages", "type", "text", "mapping", "message", "id", "name", "tool_calls",
             "function", "parent", "children", "author", "created_at", "title", "parts", "arguments"]
        ), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@given(json_values)
def test_any_json_is_read_without_an_exception(value: Any) -> None:
    """Fields of any kind in any place give messages or bad lines, and what is taken, a bank can check."""
    for wrapped in (value, [value], {"messages": [value, HELLO[0]]}):
        for item in read(wrapped):
            assert isinstance(checked(item), Incoming | BadLine)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    """Any bytes, as JSON and as a plain transcript, end in messages or bad lines."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return
    for made in (data, b"[" + data):
        assert all(isinstance(item, Incoming | BadLine) for item in read(made))
    assert all(isinstance(item, Incoming | BadLine) for item in spoken(data))


# Plain text


def spoken(data: bytes | str) -> list[Item]:
    """The items of a plain transcript."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return list(transcript.read(Source(io.BytesIO(raw))))


def test_plain_lines_become_messages_with_their_continuations() -> None:
    """`Name: text` starts a message; other lines go on with it, blank ones in the middle included."""
    items = spoken("Anna: hi\nBen K.: hello\r\n  indented: more\n\nlast: http://x.y/z\nAnna:\n- one\n")
    assert texts(items) == [
        "Anna: hi",
        "Ben K.: hello\n  indented: more",
        "last: http://x.y/z",
        "Anna: \n- one",
    ]
    first = items[0]
    assert isinstance(first, Incoming)
    assert (first.type, first.metadata, first.author, first.created_ms) == (
        "message",
        {"speaker": "Anna"},
        "Anna",
        None,
    )


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("[2026-03-04 10:15] Anna: hi", "2026-03-04T10:15"),
        ("2026-03-04 10:15 - Anna: hi", "2026-03-04T10:15"),
        ("2026-03-04T10:15:00Z Anna: hi", "2026-03-04T10:15"),
        ("[04/03/2026, 10:15:00] Anna: hi", "2026-03-04T10:15"),
        ("\u200e[04/03/2026, 10:15:00] Anna: hi", "2026-03-04T10:15"),
        ("3/4/26, 10:15 AM - Anna: hi", "2026-03-04T10:15"),
        ("Anna [2026-03-04 10:15]: hi", "2026-03-04T10:15"),
        ("Anna (4 March 2026, 10:15): hi", "2026-03-04T10:15"),
    ],
)
def test_times_beside_a_name_are_the_messages(line: str, wanted: str) -> None:
    """Each way in which chat programs write the time gives it, and leaves name and words alone."""
    from muniment.portable.times import to_ms

    (item,) = spoken(line)
    assert isinstance(item, Incoming)
    assert item.text == "Anna: hi"
    assert item.created_ms == to_ms(wanted)


def test_a_date_on_its_own_is_the_date_of_what_follows() -> None:
    """Times of day belong to the last date; a message without any comes a second after the one before."""
    items = spoken("--- 4 March 2026 ---\n10:15 Anna: a\nBen: b\n2026-03-05\nBen: c\n9:00 PM Anna: d\n")
    day = 1_772_582_400_000
    quarter = (10 * 60 + 15) * 60_000
    assert [item.created_ms for item in items if isinstance(item, Incoming)] == [
        day + quarter, day + quarter + 1000, day + 86_400_000, day + 86_400_000 + 21 * 3_600_000,
    ]  # fmt: skip


def test_transcripts_keep_their_refs_when_they_grow() -> None:
    """More lines at the end, or in the last message, change no ref before; equal lines have their own."""
    before = refs(spoken("Anna: ok\nBen: ok\nAnna: ok\n"))
    after = refs(spoken("Anna: ok\nBen: ok\nAnna: ok\nand more\nBen: new\n"))
    assert after[:3] == before
    assert len(set(after)) == 4


def test_words_before_the_first_name_and_bad_bytes_are_named() -> None:
    """What belongs to no speaker, and lines that are no UTF-8, are bad lines with their numbers."""
    items = spoken(b"once upon\nAnna: hi\n\xff\xfe\nBen: hello\n")
    assert [item.place for item in items if isinstance(item, BadLine)] == ["line 1", "line 3"]
    assert [item.text for item in items if isinstance(item, Incoming)] == ["Anna: hi", "Ben: hello"]


def test_a_message_without_end_is_named_and_not_kept() -> None:
    """Continuation lines over the limit of a text make one bad line; the next message is taken."""
    filler = ("x" * 1023 + "\n") * (LIMITS.text_chars // 1024 + 2)
    bad, good = spoken("Anna: start\n" + filler + "Ben: end\n")
    assert isinstance(bad, BadLine)
    assert str(LIMITS.text_chars) in bad.reason
    assert isinstance(good, Incoming)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Anna", "Ben", "Dr. Wu"]), st.from_regex(r"[a-z ,.!?]{1,30}", fullmatch=True)
        )
    )
)
def test_what_people_said_comes_back(said: list[tuple[str, str]]) -> None:
    """Any conversation of one-line messages is read as it was written."""
    items = spoken("\n".join(f"{name}: {words}" for name, words in said))
    assert texts(items) == [f"{name}: {words.strip()}" for name, words in said]


def test_transcripts_are_told_from_prose() -> None:
    """Prose with a colon here and there is no transcript; named lines are one."""
    assert transcript.looks_like_one(b"Anna: hi\nBen: hello\nwell\n")
    assert transcript.looks_like_one(b"2026-03-04\n10:15 Anna: hi\n10:16 Ben: hello\n")
    assert not transcript.looks_like_one(b"One thing: it rained.\nWe went home.\nIt was late.\nAnd cold.\n")
    assert not transcript.looks_like_one(b"")
    assert not transcript.looks_like_one(b"Anna: alone\n")
