"""What every test stands on: no network, an empty home, a clock nobody trusts, and skips that are said aloud."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

GUARD = Path(__file__).parent / "guard"
sys.path.insert(0, str(GUARD))

import network_guard  # noqa: E402
from skip_list import skips_of, unlisted  # noqa: E402

network_guard.install()

# Variables that may change what a program does; a test that wants one sets it.
WIPED = ("MUNIMENT_", "XDG_", "PYTHON", "LC_", "LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PAGER",
         "EDITOR", "OPENAI_", "OLLAMA_", "HTTP", "http", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")  # fmt: skip

# Slow machines are no error. In CI the examples are the same in each run; elsewhere each run tries others.
_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, print_blob=True, suppress_health_check=_QUIET)
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True)
settings.register_profile("soak", parent=settings.get_profile("dev"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(autouse=True)
def _clean_world(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each test its own home and no inherited settings, and fail it if it reached for the network."""
    for name in list(os.environ):
        if name.startswith(WIPED):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    log = home / "network"
    values = {
        "HOME": home,
        "USERPROFILE": home,
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_STATE_HOME": home / "state",
        "MUNIMENT_HOME": home / "muniment",
        "PYTHONPATH": GUARD,  # programs that a test starts run under the guard too
        network_guard.LOG_VARIABLE: log,
        "LC_ALL": "C.UTF-8",
        "COLUMNS": 100,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    network_guard.attempts.clear()
    yield
    seen = log.read_text("utf-8").splitlines() if log.exists() else network_guard.attempts
    assert not seen, f"tests may only talk to this machine: {seen}"


def _terminal(config: pytest.Config) -> pytest.TerminalReporter | None:
    worker = hasattr(config, "workerinput")
    return None if worker else config.pluginmanager.get_plugin("terminalreporter")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """In CI, a skip that is not on the list fails the run."""
    terminal = _terminal(session.config)
    if terminal and os.environ.get("CI") and exitstatus == 0 and unlisted(skips_of(terminal)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was not run on this machine, and why."""
    skips = skips_of(terminalreporter)
    bad = {name for name, _ in unlisted(skips)}
    if skips:
        terminalreporter.section("not run on this machine")
    for name, reason in skips:
        mark = "  NOT ON THE LIST of tests/allowed_skips.txt" if name in bad else ""
        terminalreporter.line(f"{reason}: {name}{mark}")
