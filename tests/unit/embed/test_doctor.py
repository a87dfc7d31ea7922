"""What `doctor` says of an embedder: tried out if it is here, never asked if it is a server."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import muniment
from muniment.doctor import Finding

from .conftest import Server


def found(home: Path, block: dict[str, Any] | None, key: str | None = None) -> list[Finding]:
    """The findings about the embedder."""
    home.mkdir(exist_ok=True, mode=0o700)
    (home / "config.yaml").write_text(yaml.safe_dump({"embedding": block}))
    with muniment.open(home) as peer:
        if key:
            peer.credentials.set("openai", key)
        return [finding for finding in peer.doctor() if finding.name == "embedder"]


def test_without_an_embedder_nothing_is_said(tmp_path: Path) -> None:
    """It is no fault to have none."""
    assert found(tmp_path / "home", None) == []


def test_a_server_is_not_asked(tmp_path: Path, server: Server) -> None:
    """Only whether there is a key, of which nothing is shown."""
    block = {"backend": "openai", "model": "m", "api_base": server.base}
    (finding,) = found(tmp_path / "home", block)
    assert (finding.status, "no API key is kept" in finding.detail) == ("ok", True)
    (finding,) = found(tmp_path / "home", block, "sk-test-4711")
    assert "; an API key is kept" in finding.detail
    assert "4711" not in str(finding)
    assert server.requests == []


def test_a_model_here_is_tried_out(tmp_path: Path) -> None:
    """It loads and gives a vector, or the finding says why not."""
    pytest.importorskip("onnxruntime", reason="needs the extra local")
    folder = shutil.copytree(Path(__file__).parent / "tiny", tmp_path / "tiny")
    block = {"backend": "local", "model": "tiny", "folder": str(folder)}
    (finding,) = found(tmp_path / "home", block)
    assert (finding.status, finding.detail) == ("ok", "local/tiny, 8 numbers a vector")
    (folder / "model.onnx").unlink()
    (finding,) = found(tmp_path / "home", block)
    assert finding.status == "fail"
    assert "model.onnx" in finding.detail
    assert finding.next_step


def test_a_missing_extra_fails_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a backend that downloads is not made to."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    (finding,) = found(tmp_path / "home", {"backend": "fastembed"})
    assert (finding.status, "muniment[fastembed]" in finding.next_step) == ("fail", True)
