"""The tests' own ground: no network in any process, an empty home, and skips that CI knows."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import network_guard
import pytest
import skip_list

OUTSIDE = ("192.0.2.1", 9)  # TEST-NET-1: an address that belongs to nobody


def forget_attempts() -> None:
    """Let this test pass although it reached out."""
    network_guard.attempts.clear()
    Path(os.environ[network_guard.LOG_VARIABLE]).unlink(missing_ok=True)


def test_connecting_outside_fails() -> None:
    """TCP, UDP and names are all refused, before a packet leaves."""
    with socket.socket() as tcp, pytest.raises(network_guard.NetworkUsed):
        tcp.connect(OUTSIDE)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, pytest.raises(network_guard.NetworkUsed):
        udp.sendto(b"x", OUTSIDE)
    with pytest.raises(network_guard.NetworkUsed):
        socket.getaddrinfo("example.org", 80)
    assert len(network_guard.attempts) == 3
    forget_attempts()


def test_connecting_to_this_machine_works() -> None:
    """Servers on loopback and Unix sockets are the tests' own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_a_program_that_a_test_starts_is_guarded_too() -> None:
    """The guard is in every Python below, and its attempts are noted even if it swallows the error."""
    code = f"import socket\ntry:\n  socket.socket().connect({OUTSIDE!r})\nexcept Exception: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "192.0.2.1" in Path(os.environ[network_guard.LOG_VARIABLE]).read_text("utf-8")
    forget_attempts()


def test_the_home_is_empty_and_own() -> None:
    """No test reads or writes what a person keeps."""
    home = Path(os.environ["HOME"])
    assert list(home.iterdir()) == []
    assert Path(os.environ["MUNIMENT_HOME"]).parent == home


def test_only_listed_skips_pass_in_ci() -> None:
    """A skip is matched by its reason; one that is not on the list is found."""
    skips = [("a", skip_list.allowed_patterns()[0]), ("b", "felt like it")]
    assert skip_list.unlisted(skips) == [("b", "felt like it")]
