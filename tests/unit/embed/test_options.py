"""The `embedding:` block: what it takes, what it refuses, and what opening it loads."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from muniment.base.errors import InvalidInput, MunimentError
from muniment.config import Settings, from_mapping, load
from muniment.embed.factory import open_embedder
from muniment.embed.options import Options, key_may_travel, options

SERVER = {"backend": "openai", "model": "m"}
DOCUMENT = Path(__file__).parents[3] / "docs" / "embedders.md"


def test_what_is_not_said_is_as_the_backend_has_it() -> None:
    """Names and addresses by default."""
    found = options(SERVER)
    assert (found.name, found.api_base) == ("openai/m", "https://api.openai.com/v1")
    found = options({"backend": "ollama", "model": "nomic/x:latest", "provider": "lab"})
    assert (found.name, found.api_base) == ("lab/nomic/x:latest", "http://127.0.0.1:11434")
    assert options({"backend": "local"}).name == "local/bge-small-en-v1.5"
    assert options({"backend": "fastembed"}).name == "fastembed/BAAI/bge-small-en-v1.5"
    assert options({**SERVER, "api_base": "https://h:8/v1/"}).api_base == "https://h:8/v1"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ([], "not a block"), ("openai", "not a block"), ({}, "backend is missing"),
        ({"backend": "magic"}, "embedding.backend"), ({"backend": "openai"}, "model is missing"),
        ({"backend": "ollama"}, "model is missing"), ({"backend": "local", "folder": "x"}, "model is missing"),
        ({**SERVER, "colour": 1}, "unknown setting embedding.colour"), ({**SERVER, 5: 1}, "embedding.5"),
        ({**SERVER, "api_key": "sk-1"}, "not kept in a settings file"),
        ({**SERVER, "token": "sk-1"}, "not kept in a settings file"),
        ({**SERVER, "model": ""}, "embedding.model"), ({**SERVER, "model": "m" * 257}, "embedding.model"),
        ({**SERVER, "model": "m" * 250}, "too long"), ({**SERVER, "model": "a\nb"}, "embedding.model"),
        ({**SERVER, "provider": "Big"}, "embedding.provider"), ({**SERVER, "provider": "a/b"}, "provider"),
        ({**SERVER, "dimensions": 0}, "dimensions"), ({**SERVER, "dimensions": 65537}, "dimensions"),
        ({**SERVER, "dimensions": 3.0}, "dimensions"), ({**SERVER, "dimensions": True}, "dimensions"),
        ({**SERVER, "timeout": 0}, "timeout"), ({**SERVER, "timeout": float("nan")}, "timeout"),
        ({**SERVER, "timeout": "30"}, "timeout"), ({**SERVER, "attempts": 0}, "attempts"),
        ({**SERVER, "batch": 4096}, "batch"), ({**SERVER, "max_chars": 0}, "max_chars"),
        ({**SERVER, "encoding": "int8"}, "encoding"), ({**SERVER, "query_prefix": 1}, "query_prefix"),
        ({**SERVER, "threads": 0}, "threads"), ({**SERVER, "sha256": "AB" * 32}, "sha256"),
        ({**SERVER, "pooling": "max"}, "pooling"), ({**SERVER, "plain_http": 1}, "plain_http"),
        ({**SERVER, "encoding": ["float"]}, "encoding"), ({**SERVER, "pooling": {}}, "pooling"),
        ({**SERVER, "api_base": "ftp://h"}, "no address"), ({**SERVER, "api_base": "h/v1"}, "no address"),
        ({**SERVER, "api_base": "http://"}, "no address"), ({**SERVER, "api_base": "http://h:x"}, "no address"),
        ({**SERVER, "api_base": "http://[::1"}, "no address"), ({**SERVER, "api_base": "http://é/"}, "no address"),
        ({**SERVER, "api_base": "https://u:sk-1@h/v1"}, "name or a password"),
        ({**SERVER, "api_base": "https://h/v1?key=sk-1"}, "query"),
        ({**SERVER, "api_base": "http://a..b/v1"}, "no host"), ({**SERVER, "api_base": "http://h /"}, "no address"),
        ({**SERVER, "api_base": f"http://{'a' * 64}.b"}, "no host"), ({**SERVER, "api_base": "http://%zz"}, "no host"),
        ({**SERVER, "api_base": "http://.b"}, "no host"), ({**SERVER, "api_base": "http://h\\@evil"}, "no address"),
        ({**SERVER, "api_base": "http://[::1]x/"}, "embedding.api_base"),
        ({**SERVER, "api_base": "http://*"}, "no host"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_named_and_not_repeated(block: Any, words: str) -> None:
    """The message has the name; a value that may be a key is not in it, in the settings file neither."""
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        open_embedder(block, lambda _: None)
    assert "sk-1" not in str(caught.value)
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        from_mapping({"embedding": block}, "config.yaml")
    assert "sk-1" not in str(caught.value)
    assert caught.value.message.startswith("config.yaml: ")
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("https://api.openai.com/v1", True), ("http://127.0.0.1:1234/v1", True), ("http://localhost:1/v1", True),
        ("http://[::1]:8/v1", True), ("http://10.0.0.7/v1", False), ("http://localhost.evil.example/v1", False),
        ("http://127.0.0.1.evil.example", False), ("http://127.1.2.3", True),
    ],
)  # fmt: skip
def test_a_key_travels_over_tls_or_not_at_all(address: str, may: bool) -> None:
    """On this machine, by https, or because the settings say so."""
    assert key_may_travel(address, plain_http=False) is may
    assert key_may_travel(address, plain_http=True)


def test_the_settings_take_the_block(tmp_path: Path) -> None:
    """It is read as it stands."""
    (tmp_path / "config.yaml").write_text("embedding:\n  backend: ollama\n  model: nomic-embed-text\n")
    settings = load(tmp_path)
    assert settings.embedding == {"backend": "ollama", "model": "nomic-embed-text"}
    assert Settings().embedding is None
    assert from_mapping({"embedding": None}, "x") == Settings()


def test_every_option_is_documented_with_its_default() -> None:
    """The table in the document is the one in the code."""
    rows = dict(
        re.findall(r"^\| `embedding\.(\w+)` \| ([^|]+) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    )
    assert list(rows) == [field.name for field in fields(Options)]
    found = options(SERVER)
    for name in (
        "timeout",
        "query_timeout",
        "attempts",
        "batch",
        "max_chars",
        "encoding",
        "threads",
        "plain_http",
    ):
        assert rows[name].strip("`") == f"{getattr(found, name)}".lower().removesuffix(".0"), name


def test_a_backend_loads_only_what_it_needs() -> None:
    """No HTTP library for a model on this machine, no runtime for a server, neither for looking at settings."""
    code = (
        "import sys\n"
        "from muniment.config import from_mapping\n"
        "block = {'backend': 'openai', 'model': 'm'}\n"
        "from_mapping({'embedding': block}, 'x')\n"
        "print(sorted({'numpy', 'httpx2', 'onnxruntime', 'orjson'} & set(sys.modules)))\n"
        "from muniment.embed.factory import open_embedder\n"
        "open_embedder(block, lambda _: None).close()\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'fastembed'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_the_key_is_asked_for_under_the_providers_name_and_only_when_needed() -> None:
    """Opening asks for nothing."""
    asked: list[str] = []

    def secret(provider: str) -> str:
        asked.append(provider)
        return "a key with blanks"

    made = open_embedder({**SERVER, "provider": "lab", "api_base": "http://127.0.0.1:9"}, secret)
    assert asked == []
    with pytest.raises(MunimentError, match="no header can hold"):
        made.query("x")
    assert asked == ["lab"]
    made.close()
