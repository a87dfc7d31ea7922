"""Object storage: the suite over a real S3 server on this machine, and what goes wrong on the way to one."""

import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from muniment.base.errors import BlobStoreUnavailable, InvalidInput
from muniment.base.ids import BlobName
from muniment.blobs.base import BlobStore, fan_out, name_of
from muniment.blobs.object_store import PART_BYTES, ObjectBlobs
from muniment.testing.blobs import BlobSuite

pytest.importorskip("obstore", reason="needs the extra objects")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server that speaks S3, in this process."""
    moto = pytest.importorskip("moto.server", reason="needs the extra objects")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the provider's own tools look for them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def opened(endpoint: str, bucket: str, **more: Any) -> ObjectBlobs:
    """A store in a bucket of its own."""
    request = urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")
    urllib.request.urlopen(request).close()
    options = {"endpoint": endpoint, "region": "us-east-1", "allow_http": True}
    return ObjectBlobs(f"s3://{bucket}/packs", options, **more)


class TestS3(BlobSuite):
    @pytest.fixture(autouse=True)
    def _server(self, endpoint: str, request: pytest.FixtureRequest) -> None:
        self.endpoint = endpoint
        self.bucket = f"b{abs(hash(request.node.name))}"

    def make(self, folder: Path) -> BlobStore:
        return opened(self.endpoint, self.bucket)

    def damage(self, store: BlobStore, name: BlobName, data: bytes) -> None:
        assert isinstance(store, ObjectBlobs)
        library, inner = store._open()
        library.put(inner, "/".join(fan_out(name)), data)


def test_a_large_blob_goes_up_in_parts(endpoint: str) -> None:
    """Several parts, one blob; the server's own mark says how many."""
    store = opened(endpoint, "parts")
    data = bytes(range(256)) * (PART_BYTES // 128)
    name = store.put(data)
    url = f"{endpoint}/parts/packs/{'/'.join(fan_out(name))}"
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        assert answer.headers["ETag"].strip('"').endswith("-2")
    assert store.get(name) == data


def test_what_is_no_blob_in_the_bucket_is_passed_over(endpoint: str) -> None:
    """Somebody's other objects are neither listed nor touched."""
    store = opened(endpoint, "mixed")
    name = store.put(b"x")
    url = f"{endpoint}/mixed/packs/readme.txt"
    urllib.request.urlopen(urllib.request.Request(url, data=b"hello", method="PUT")).close()
    assert [info.name for info in store.list()] == [name]


class Flaky(BaseHTTPRequestHandler):
    """Fails the first tries of each path as a busy server does, and refuses whoever is not allowed."""

    failures = 2
    tries: ClassVar[dict[str, int]] = {}
    status = 503

    def do_GET(self) -> None:
        place = f"{self.command} {self.path}"
        seen = self.tries[place] = self.tries.get(place, 0) + 1
        code = self.status if seen <= self.failures else 404
        body = f"<Error><Code>C{code}</Code><Message>secret-in-answer</Message></Error>".encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if self.command != "HEAD" else 0))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_PUT = do_GET

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def flaky() -> Iterator[tuple[str, type[Flaky]]]:
    """Such a server."""
    handler = type("Handler", (Flaky,), {"tries": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler
    server.shutdown()
    server.server_close()
    thread.join()


def at(endpoint: str, **more: Any) -> ObjectBlobs:
    """A store at some server."""
    return ObjectBlobs("s3://b", {"endpoint": endpoint, "region": "r", "allow_http": True}, **more)


def test_what_fails_in_passing_is_tried_again(flaky: tuple[str, type[Flaky]]) -> None:
    """A busy server costs time, not the answer."""
    endpoint, handler = flaky
    assert not at(endpoint).has(name_of(b"x"))
    assert list(handler.tries.values()) == [3]


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_credentials_are_said_so(flaky: tuple[str, type[Flaky]], status: int) -> None:
    """Not that the blob is unknown; and it is not tried again."""
    endpoint, handler = flaky
    handler.failures, handler.status = 99, status
    with pytest.raises(BlobStoreUnavailable, match="does not let this peer in"):
        at(endpoint).has(name_of(b"x"))
    with pytest.raises(BlobStoreUnavailable, match="does not let this peer in"):
        at(endpoint).put(b"x")


def test_a_server_that_is_not_there_is_named() -> None:
    """In seconds, with the next step."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        store = at(f"http://127.0.0.1:{port}", timeout_s=0.5, retry_s=0.5)
        with pytest.raises(BlobStoreUnavailable, match="s3://b does not answer"):
            store.get(name_of(b"x"))


@pytest.mark.parametrize(
    ("url", "options", "match"),
    [
        ("ftp://x/y", {}, "not a place"),
        ("s3:///x", {}, "not a place"),
        ("s3://user:pass@bucket", {}, "credentials"),
        ("s3://bucket?x-amz-security-token=1", {}, "credentials"),
        ("s3://bucket", {"secret_access_key": "x"}, "secret"),
        ("s3://bucket", {"aws_session_token": "x"}, "secret"),
        ("s3://bucket", {"region": 5}, "no text"),
    ],
)
def test_secrets_and_nonsense_are_refused(url: str, options: dict[str, Any], match: str) -> None:
    """Before anything is opened, and without repeating what may be a secret."""
    with pytest.raises(InvalidInput, match=match) as caught:
        ObjectBlobs(url, options)
    assert "pass@" not in str(caught.value)


def test_an_unknown_option_is_an_error() -> None:
    """It would otherwise be passed over in silence."""
    with pytest.raises(InvalidInput, match="can't be opened"):
        ObjectBlobs("s3://bucket", {"regoin": "x"}).has(name_of(b"x"))


def test_without_the_extra_its_name_is_said() -> None:
    """The message says what to install."""
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from muniment.blobs.object_store import ObjectBlobs\n"
        "from muniment.base.errors import MissingExtra\n"
        "try:\n ObjectBlobs('s3://b').put(b'x')\n"
        "except MissingExtra as error:\n print(error.extra)"
    )
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.strip() == "objects", done.stderr
