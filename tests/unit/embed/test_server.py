"""Embedders by a server, against a real one in a thread: what is asked, what is taken, what is refused."""

import json
import logging
import re
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pytest

from muniment.base.errors import (
    EmbedderError,
    EmbedderMismatch,
    EmbedderRefused,
    EmbedderUnavailable,
    InvalidInput,
)
from muniment.embed.base import Embedder
from muniment.embed.factory import open_embedder
from muniment.embed.openai import ServerEmbedder
from muniment.embed.options import options
from muniment.embed.policy import Breaker
from muniment.embed.wire import _Line, _trust

from .conftest import Act, Server, Time, drips, gives, hangs_up, ok, says, vector

T = TypeVar("T", bound=Embedder)
KEY = "sk-test-4711-very-secret"


_OPEN: list[Embedder] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Whatever a test opens is closed after it."""
    yield
    while _OPEN:
        _OPEN.pop().close()


def kept(made: T) -> T:
    """The embedder, closed after the test."""
    _OPEN.append(made)
    return made


def embedder(
    server: Server, moment: Time | None = None, key: str | None = KEY, **more: Any
) -> ServerEmbedder:
    """One that asks this server, with a clock that does not wait if one is given."""
    block = {"backend": "openai", "model": "m", "api_base": f"{server.base}/v1", **more}
    return kept(ServerEmbedder(options(block), lambda: key, means=moment.means if moment else None))


def unit(text: str) -> np.ndarray:
    """What must come of a text."""
    row = np.array(vector(text))
    return row / np.linalg.norm(row)


@pytest.mark.parametrize("backend", ["openai", "ollama"])
@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_vectors_come_in_order_and_of_length_one(server: Server, backend: str, encoding: str) -> None:
    """Both kinds of server, both ways to write numbers; the name and the dimension are as they should be."""
    block = {"backend": backend, "model": "m", "api_base": server.base, "encoding": encoding}
    made = kept(open_embedder(block, lambda _: None))
    assert (made.name, made.dimension) == (f"{backend}/m", None)
    texts = ["deploy on friday", "tea", "", "\ud800 lone"]
    found = made.documents(texts)
    assert (found.shape, found.dtype, made.dimension) == ((4, 3), np.float32, 3)
    for row, text in zip(found, ["deploy on friday", "tea", " ", "? lone"], strict=True):
        np.testing.assert_allclose(row, unit(text), atol=1e-6)
    asked = made.query("tea")
    assert (asked.shape, asked.dtype) == ((3,), np.float32)
    np.testing.assert_allclose(asked, found[1])
    assert made.documents([]).shape == (0, 3)
    made.close()
    made.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        made.query("tea")


def test_what_is_asked(server: Server) -> None:
    """Path, model, key, dimensions and encoding as OpenAI has them, and nothing that simpler servers don't know."""
    embedder(server).query("tea")
    path, headers, asked = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Accept-Encoding"] == "identity"
    assert asked == {"model": "m", "input": ["tea"]}
    embedder(server, key=None, encoding="base64", dimensions=3).query("tea")
    _, headers, asked = server.requests[1]
    assert "Authorization" not in headers
    assert asked == {"model": "m", "input": ["tea"], "encoding_format": "base64", "dimensions": 3}
    block = {"backend": "ollama", "model": "m", "api_base": server.base}
    kept(open_embedder(block, lambda _: None)).query("x")
    assert server.requests[2][0] == "/api/embed"
    assert server.requests[2][2] == {"model": "m", "input": ["x"], "truncate": True}


def test_texts_go_in_batches_with_their_prefix_cut_at_a_length(server: Server) -> None:
    """By count and by characters; a question is one call, however long."""
    made = embedder(server, batch=2, max_chars=6, document_prefix="d: ", query_prefix="q: ")
    assert made.documents(["one", "two", "three!x"]).shape == (3, 3)
    made.query("a long question")
    assert server.texts == [["d: one", "d: two"], ["d: three!"], ["q: a long"]]
    wide = embedder(server, max_chars=150_000)
    wide.documents(["x" * 150_000] * 3)
    assert [len(texts) for texts in server.texts[3:]] == [1, 1, 1]


def test_connections_are_kept_and_threads_share_an_embedder(server: Server) -> None:
    """Eight threads ask at once, and each gets its own answer."""
    made = embedder(server)
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(10):
            text = f"{number} {turn} {'x' * number}"
            if not np.allclose(made.query(text), unit(text), atol=1e-6):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(server.requests) == 80
    made.close()


@pytest.mark.parametrize(
    ("script", "sleeps"),
    [
        ([says(500), ok], [0.25]),
        ([says(429, Retry_After="3"), ok], [3.0]),
        ([says(503, Retry_After="Sun, 09 Sep 2001 01:46:45 GMT"), says(502), ok], [5.0, 0.5]),
        ([says(429, Retry_After="nonsense"), ok], [0.25]),
        ([hangs_up, ok], [0.25]),
    ],
    ids=["500", "retry-after", "a date", "nonsense", "hung up"],
)
def test_what_may_pass_is_tried_again(
    server: Server, moment: Time, script: list[Act], sleeps: list[float]
) -> None:
    """Waits as the server asks, else by chance; then the answer comes."""
    server.script = script
    assert embedder(server, moment).documents(["tea"]).shape == (1, 3)
    assert moment.sleeps == sleeps


def test_what_does_not_pass_ends_in_time_and_opens_the_circuit(server: Server, moment: Time) -> None:
    """Attempts are counted; a wait that is longer than the time is not begun; then the server is left alone."""
    server.script = [says(500, {"error": {"message": "overloaded"}})]
    made = embedder(server, moment, attempts=3)
    with pytest.raises(EmbedderUnavailable, match=r"answers with 500: overloaded \(3 attempts\)"):
        made.documents(["tea"])
    with pytest.raises(EmbedderUnavailable, match=r"\(2 attempts\)"):
        made.query("tea")  # somebody waits
    server.script = [says(429, Retry_After="3600")]
    with pytest.raises(EmbedderUnavailable) as caught:
        made.query("tea")
    assert caught.value.next_step == "It asks to be left alone for 3600 s."
    asked = len(server.requests)
    with pytest.raises(EmbedderUnavailable, match="left alone"):
        made.query("tea")
    assert len(server.requests) == asked
    server.script = [ok]
    moment.now += 31
    assert made.query("tea").shape == (3,)


def test_nobody_there_is_unavailable(server: Server, moment: Time) -> None:
    """A closed port is told by name, without a traceback of a foreign library."""
    made = embedder(server, moment)
    server.shutdown()
    server.server_close()
    with pytest.raises(EmbedderUnavailable, match="can't be reached: ConnectError"):
        made.query("tea")
    server.__init__()  # type: ignore[misc]
    threading.Thread(target=server.serve_forever, daemon=True).start()


@pytest.mark.parametrize(
    "act",
    [drips(20), drips(20, headers_too=True), lambda handler, _: handler.server.closing.wait(20)],
    ids=["a body that drips", "headers that drip", "silence"],
)
def test_the_time_limit_holds_however_slowly_a_server_drips(server: Server, act: Act) -> None:
    """The whole exchange has one deadline, not each read; the connection is not used again."""
    server.script = [act]
    made = embedder(server, attempts=1, timeout=0.3)
    start = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match="did not answer within"):
        made.query("tea")
    assert time.monotonic() - start < 5
    server.script = [ok]
    made = embedder(server)
    np.testing.assert_allclose(made.query("tea"), unit("tea"), atol=1e-6)


MISMATCHES: dict[str, Act] = {
    "too few": gives([1, 2, 3]),
    "too many": gives(*[[1, 2, 3]] * 3),
    "two shapes": gives([1, 2, 3], [1, 2]),
    "nothing in it": gives([], []),
    "nested": gives([[1, 2]], [[1, 2]]),
    "zero": gives([1, 2, 3], [0, 0, 0]),
    "null": gives([1, 2, 3], [None, 1, 2]),
    "words": gives([1, 2, 3], ["a", "b", "c"]),
    "no vector": gives([1, 2, 3], None),
    "an object": gives([1, 2, 3], {"a": 1}),
    "bad base64": gives("AAAAAA==", "§"),
    "base64 of no float": gives("AAA=", "AAA="),
    "base64 of NaN": gives("AADAfwAAwH8=", "AADAfwAAwH8="),
    "NaN in JSON": says(200, b'{"data":[{"index":0,"embedding":[NaN,1]},{"index":1,"embedding":[1,1]}]}'),
    "infinite": says(200, b'{"data":[{"index":0,"embedding":[1e999,1]},{"index":1,"embedding":[1,1]}]}'),
    "index twice": says(200, {"data": [{"index": 0, "embedding": [1, 2]}] * 2}),
    "index too high": says(200, {"data": [{"index": at, "embedding": [1, 2]} for at in (1, 2)]}),
    "index of truth": says(200, {"data": [{"index": at, "embedding": [1, 2]} for at in (False, True)]}),
    "index of one only": says(200, {"data": [{"index": 0, "embedding": [1]}, {"embedding": [1]}]}),
    "no JSON": says(200, b"<html>hello</html>"),
    "no object": says(200, [1, 2]),
    "no data": says(200, {"embeddings": [[1, 2], [1, 2]]}),
    "items that are none": says(200, {"data": [1, 2]}),
    "deep": says(200, b"[" * 100_000),
    "empty": says(200, b""),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_an_answer_that_is_no_vectors_is_refused_by_name(server: Server, moment: Time, name: str) -> None:
    """Whatever a server sends, it is a mismatch with the embedder's name, tried once, and nothing is kept of it."""
    server.script = [MISMATCHES[name]]
    made = embedder(server, moment)
    with pytest.raises(EmbedderMismatch, match="openai/m gave"):
        made.documents(["a", "b"])
    assert (len(server.requests), moment.sleeps) == (1, [])
    server.script = [gives([3, 4], [1, 0])]
    np.testing.assert_allclose(made.documents(["a", "b"])[0], [0.6, 0.8], atol=1e-6)


def test_the_order_is_that_of_the_index_or_as_it_stands(server: Server) -> None:
    """Items may come in any order; a server that numbers none gives them in order."""
    data = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [5, 0]}]
    server.script = [
        says(200, {"data": data}),
        says(200, {"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}),
    ]
    made = embedder(server)
    assert made.documents(["a", "b"]).tolist() == [[1, 0], [0, 1]]
    assert made.documents(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_numbers_of_any_size_have_a_direction(server: Server) -> None:
    """Squares that would be infinite or vanish do no harm."""
    server.script = [gives([3e300, 4e300], [3e-300, 4e-300])]
    np.testing.assert_allclose(embedder(server).documents(["a", "b"]), [[0.6, 0.8]] * 2, atol=1e-6)


def test_another_dimension_is_refused(server: Server) -> None:
    """Against the settings at once, against the first answer later."""
    with pytest.raises(EmbedderMismatch, match="vectors of 3 numbers, not 4") as caught:
        embedder(server, dimensions=4).query("tea")
    assert "dimensions" in caught.value.next_step
    made = embedder(server)
    made.query("tea")
    server.script = [gives([1, 2])]
    with pytest.raises(EmbedderMismatch, match="vectors of 2 numbers, not 3"):
        made.query("tea")
    assert made.dimension == 3


def endless(handler: Any, _: Any) -> None:
    """Chunks without an end, of white space, which JSON allows."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    try:
        while not handler.server.closing.is_set():
            handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
    except OSError:
        handler.close_connection = True


def boast(handler: Any, _: Any) -> None:
    """A length that nobody would wait for."""
    handler.send_response(200)
    handler.send_header("Content-Length", "9" * 15)
    handler.end_headers()
    handler.close_connection = True


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (endless, "more than"),
        (boast, "more than"),
        (says(200, b"\x1f\x8b" + b"x" * 50, Content_Encoding="gzip"), "compressed"),
        (says(302, Location="http://127.0.0.1:1/elsewhere"), "redirect"),
        (says(307, Location="/elsewhere"), "redirect"),
        (says(400, {"error": {"message": "input is too long"}}), "400: input is too long"),
        (says(404, {"error": "model 'm' not found"}), "404: model 'm' not found"),
        (says(422, {"detail": [1]}), "answers with 422$"),
        (says(501, b"<b>\x1b[31mno\r\nsuch</b>"), r"501: <b> \[31mno such</b>"),
        (says(418, b"x" * 5_000_000), "418: x{199}…"),
    ],
    ids=["endless", "boast", "gzip", "302", "307", "400", "404", "422", "501", "418"],
)  # fmt: skip
def test_what_is_refused_is_refused_once_and_in_short(
    server: Server, moment: Time, act: Act, words: str
) -> None:
    """Size, compression, redirects and errors of the caller: no second attempt, and the server's words in a line."""
    server.script = [act]
    made = embedder(server, moment)
    made._shape.dimension = 3  # the answer's bound is that of the vectors that are due
    with pytest.raises(EmbedderRefused) as caught:
        made.query("tea")
    assert re.search(words, caught.value.message), caught.value.message
    assert (len(server.requests), moment.sleeps) == (1, [])


def everything(error: BaseException, *things: object) -> str:
    """All that an error, what hangs on it, and some objects would ever print."""
    seen: list[str] = []
    found: BaseException | None = error
    while found is not None:
        seen += ["".join(traceback.format_exception(found)), repr(found), repr(vars(found)), repr(found.args)]
        request = getattr(found, "_request", None)
        seen.append(repr(getattr(request, "headers", "")))
        found = found.__cause__ or found.__context__
    for thing in things:
        seen += [repr(thing), str(thing), repr(getattr(thing, "__dict__", ""))]
    return "\n".join(seen)


@pytest.mark.parametrize(
    "act",
    [
        says(401, {"error": {"message": f"Incorrect API key provided: {KEY}. See {KEY}"}}),
        says(500, f"key {KEY} has no quota".encode()),
        says(403, json.dumps(KEY).encode()),
        says(302, Location="/x"),
        gives([0, 0]),
        hangs_up,
    ],
    ids=["401", "500", "403", "302", "zero", "hung up"],
)
def test_the_key_is_in_no_error_repr_or_log(
    server: Server, moment: Time, caplog: pytest.LogCaptureFixture, act: Act
) -> None:
    """Also where the server repeats it, at the finest level of every log, and in all that hangs on an error."""
    caplog.set_level(logging.DEBUG)
    server.script = [act]
    made = embedder(server, moment)
    with pytest.raises(EmbedderError) as caught:
        made.query("tea")
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    shown = everything(caught.value, made, made._wire, made._calls, *made._wire._idle)
    assert KEY not in shown
    assert KEY not in caplog.text
    assert not any(KEY in repr(vars(record)) for record in caplog.records)


def test_an_unauthorised_call_says_how_to_set_the_key(server: Server) -> None:
    """The next step is a command."""
    server.script = [says(401)]
    with pytest.raises(EmbedderRefused) as caught:
        embedder(server, provider="lab").query("tea")
    assert caught.value.next_step == "Set the API key: muniment credential set lab"


@pytest.mark.parametrize("key", ["a b", "a\nX-Evil: 1", "ключ", "a\x00"])
def test_a_key_that_no_header_can_hold_is_not_sent(server: Server, key: str) -> None:
    """It would break the request, and a library's message would repeat it."""
    with pytest.raises(InvalidInput) as caught:
        embedder(server, key=key).query("tea")
    assert key not in everything(caught.value)
    assert server.requests == []


def test_a_key_does_not_go_over_an_open_line(server: Server) -> None:
    """To another machine only by https, or where the settings allow it; nothing is sent before that is known."""
    block = {"backend": "openai", "model": "m", "api_base": "http://192.0.2.1/v1", "attempts": 1}
    with pytest.raises(InvalidInput, match="open line"):
        kept(ServerEmbedder(options(block), lambda: KEY)).query("tea")
    assert server.requests == []


def test_proxies_and_netrc_of_the_environment_are_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Memories go where the settings say and nowhere else."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login eve password hunter2\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    embedder(server, key=None).query("tea")
    assert "Authorization" not in server.requests[0][1]


def test_the_circuit_can_be_set(server: Server, moment: Time) -> None:
    """A caller with its own patience says so."""
    server.script = [says(500)]
    block = {"backend": "openai", "model": "m", "api_base": server.base, "attempts": 1}
    made = kept(ServerEmbedder(options(block), lambda: None, breaker=Breaker(failures=1), means=moment.means))
    with pytest.raises(EmbedderUnavailable, match="500"):
        made.query("tea")
    with pytest.raises(EmbedderUnavailable, match="left alone"):
        made.query("tea")


def test_a_cut_that_comes_late_ends_no_later_exchange() -> None:
    """A connection is used again: the timer of one exchange has no power over the next."""
    line = _Line(_trust("http://x"))
    first = line.begin()
    assert line.end()
    second = line.begin()
    line.cut(first)
    assert not line.cut_off
    line.cut(second)
    assert line.cut_off
    assert not line.end()
    line.close()
