"""Secret bytes don't show themselves."""

from __future__ import annotations

import copy
import pickle

import pytest

from muniment.keyring.secret import Secret

PLAIN = b"correct horse battery staple"


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "{!r:>40}".format, lambda s: f"{s}", lambda s: s.hex(), lambda s: repr(s[:12]),
     lambda s: repr([s, {"k": s}]), lambda s: s.hex(":")],
)  # fmt: skip
def test_no_way_of_printing_shows_a_secret(show: object) -> None:
    """Printing, formatting, hex digits and slices give a placeholder."""
    shown = show(Secret(PLAIN))  # type: ignore[operator]
    assert "…" in shown
    assert "correct" not in shown
    assert PLAIN.hex()[:8] not in shown


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_secret_is_not_pickled_or_copied(leave: object) -> None:
    """Nothing that would carry the bytes elsewhere works."""
    with pytest.raises(TypeError):
        leave(Secret(PLAIN))  # type: ignore[operator]


def test_a_secret_is_still_its_bytes() -> None:
    """Libraries that take bytes get the real ones; an index gives a number."""
    secret = Secret(PLAIN)
    assert secret == PLAIN
    assert secret[0] == PLAIN[0]
    assert len(secret[2:5]) == 3


def test_a_passphrase_is_the_same_from_every_keyboard() -> None:
    """Composed and decomposed letters give the same bytes; any text at all has bytes."""
    assert Secret.of_text("caf\u00e9") == Secret.of_text("cafe\u0301")
    assert len(Secret.of_text("\ud800")) == 3
