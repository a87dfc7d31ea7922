"""Private keys in custody."""

from __future__ import annotations

import copy
import pickle
import stat
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from nacl import bindings

from muniment.base import codec
from muniment.base.errors import (
    InvalidInput,
    KeyringError,
    KeyringLocked,
    LimitExceeded,
    MissingExtra,
    MunimentError,
    RefusedBody,
    StoreCorrupt,
    StoreFull,
    UnknownKey,
    WrongPassphrase,
)
from muniment.identity import keys
from muniment.keyring.custody import Keyring
from muniment.keyring.sealing import LOWEST
from muniment.platform.folders import PeerFolder
from muniment.testing.clock import FixedClock
from muniment.testing.entropy import SeededEntropy

WORDS = "purple monkey dishwasher"
SEED = b"Kp" * 16
MESSAGE = b"a message"

Opener = Callable[..., Keyring]


@pytest.fixture
def ring(tmp_path: Path) -> Opener:
    """Open a keyring in one folder, as another process would: nothing in memory yet."""
    entropy = SeededEntropy(7)

    def opener(words: str | None = None, *, use_system: bool = False) -> Keyring:
        passphrase = None if words is None else lambda: words
        folder = PeerFolder(tmp_path / "home", lock_wait=1)
        return Keyring.open(
            folder, passphrase, entropy, FixedClock(5), first=passphrase, use_system=use_system, cost=LOWEST
        )

    return opener


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the keyring file is."""
    return tmp_path / "home" / "keyring"


def signs(ring: Keyring, public: bytes) -> bool:
    """Whether the ring makes a valid signature by that key."""
    return keys.verify(public, ring.sign(public, codec.ENTRY, MESSAGE), codec.ENTRY, MESSAGE)


@pytest.mark.parametrize("words", [None, WORDS])
def test_keys_outlive_the_process(ring: Opener, words: str | None) -> None:
    """Keys made by one process are listed, in order, and sign in the next, sealed or not."""
    first = ring(words)
    publics = [first.create(), first.create(label="ava"), first.create(SEED)]
    again = ring(words)
    assert again.keys() == publics
    assert all(signs(again, public) and again.has(public) for public in publics)
    assert again.label(publics[1]) == "ava"
    assert publics[2] == keys.keypair(SEED).public


def test_nothing_is_made_before_the_first_key(ring: Opener, path: Path) -> None:
    """Opening, listing and asking leave no folder and no file behind."""
    empty = ring(WORDS)
    assert empty.keys() == []
    assert not empty.has(b"x" * 32)
    assert empty.protection is None
    assert not empty.needs_passphrase
    assert empty.problems() == []
    with pytest.raises(UnknownKey):
        empty.sign(b"x" * 32, codec.ENTRY, MESSAGE)
    assert not path.parent.exists()


def test_a_seed_that_is_here_already_changes_nothing(ring: Opener, path: Path) -> None:
    """Taking the same seed again is no second key and no second write."""
    one = ring()
    public = one.create(SEED, "first")
    before = path.read_bytes()
    assert one.create(SEED, "second") == public
    assert path.read_bytes() == before


def test_boxes_open_only_for_their_key(ring: Opener) -> None:
    """A sealed box opens with the key it was made for and with no other, and altered ones never."""
    one = ring()
    mine, other = one.create(), one.create()
    box = keys.box(mine, b"epoch key", b"e" * 32)
    assert one.unbox(mine, box) == b"epoch key"
    assert ring().unbox(mine, box) == b"epoch key"
    for public, bad in ((other, box), (mine, box[:-1] + bytes([box[-1] ^ 1])), (mine, b""), (mine, box[:40])):
        with pytest.raises(RefusedBody):
            one.unbox(public, bad)


def test_a_key_signs_only_under_a_domain_of_the_table(ring: Opener) -> None:
    """What is signed for one use can never be shown for another, so unknown domains are refused."""
    one = ring()
    public = one.create()
    for domain in (b"", b"muniment/other/1\0", codec.ENTRY[:-1]):
        with pytest.raises(InvalidInput):
            one.sign(public, domain, MESSAGE)


def test_a_sealed_file_lists_without_the_passphrase_and_signs_only_with_it(ring: Opener) -> None:
    """Public keys are in clear; the error names the variable and the prompt."""
    public = ring(WORDS).create()
    locked = ring()
    assert locked.keys() == [public]
    assert locked.needs_passphrase
    for words in (None, ""):
        with pytest.raises(KeyringLocked, match="MUNIMENT_PASSPHRASE"):
            ring(words).sign(public, codec.ENTRY, MESSAGE)
    with pytest.raises(WrongPassphrase):
        ring("wrong").sign(public, codec.ENTRY, MESSAGE)
    with pytest.raises(WrongPassphrase):
        ring("wrong").create()
    assert ring(WORDS).keys() == [public]
    opened = ring(WORDS)
    assert signs(opened, public)
    assert not opened.needs_passphrase


def test_a_keyring_that_is_not_sealed_asks_nothing(tmp_path: Path) -> None:
    """Making the first key and using it never asks for a passphrase that nobody chose."""

    def ask() -> str:
        raise AssertionError("asked")

    one = Keyring.open(PeerFolder(tmp_path / "home"), ask, SeededEntropy(1))
    assert signs(one, one.create())
    assert one.protection == "file mode"
    again = Keyring.open(PeerFolder(tmp_path / "home"), ask, SeededEntropy(2))
    assert signs(again, again.create())


def test_the_passphrase_is_asked_for_once(tmp_path: Path, ring: Opener) -> None:
    """A person types it once, however many keys sign."""
    publics = [ring(WORDS).create(), ring(WORDS).create()]
    asked = []

    def ask() -> str:
        asked.append(1)
        return WORDS

    one = Keyring.open(PeerFolder(tmp_path / "home"), ask, SeededEntropy(1), cost=LOWEST)
    assert one.keys() == publics
    assert asked == []
    assert all(signs(one, public) for public in publics)
    one.create()
    assert asked == [1]
    asked.clear()
    new = Keyring.open(PeerFolder(tmp_path / "new"), ask, SeededEntropy(2), first=ask, cost=LOWEST)
    assert signs(new, new.create())
    assert signs(new, new.create())
    assert asked == [1]


def test_a_sealed_file_holds_no_seed(ring: Opener, path: Path) -> None:
    """With a passphrase no seed stands in the file, and without one `problems` says that it does."""
    one = ring()
    one.create(SEED)
    assert SEED in path.read_bytes()
    assert "not sealed" in one.problems()[0]
    one.set_passphrase(None, lambda: WORDS)
    assert SEED not in path.read_bytes()
    assert WORDS.encode() not in path.read_bytes()
    assert one.protection == "passphrase"
    assert one.problems() == []


def test_a_passphrase_is_changed_and_taken_away_only_with_the_old_one(ring: Opener, path: Path) -> None:
    """Even an open keyring asks for the old passphrase; afterwards only the new one opens the file."""
    one = ring(WORDS)
    public = one.create(SEED)
    with pytest.raises(WrongPassphrase):
        one.set_passphrase(lambda: "guess", lambda: "mine")
    with pytest.raises(KeyringLocked):
        one.set_passphrase(None, lambda: "mine")
    one.set_passphrase(lambda: WORDS, lambda: "new")
    with pytest.raises(WrongPassphrase):
        ring(WORDS).sign(public, codec.ENTRY, MESSAGE)
    assert signs(ring("new"), public)
    one.create()
    assert len(ring("new").keys()) == 2
    one.set_passphrase(lambda: "new", None)
    assert ring().protection == "file mode"
    assert signs(ring(), public)


def test_a_passphrase_chosen_before_the_first_key_holds_for_it(ring: Opener) -> None:
    """Choosing is remembered on the disk, so the first key of a later process is sealed."""
    ring().set_passphrase(None, lambda: WORDS)
    with pytest.raises(KeyringLocked):
        ring().create()
    public = ring(WORDS).create()
    assert ring().protection == "passphrase"
    assert signs(ring(WORDS), public)


def test_another_process_is_seen_at_the_next_call(ring: Opener) -> None:
    """Keys that another process makes, labels or removes are there, named or gone at once."""
    one, two = ring(), ring()
    first = one.create()
    assert two.keys() == [first]
    second = two.create(label="b")
    assert one.keys() == [first, second]
    assert signs(one, second)
    two.relabel(second, "c")
    assert one.label(second) == "c"
    two.remove(first)
    assert one.keys() == [second]
    with pytest.raises(UnknownKey):
        one.sign(first, codec.ENTRY, MESSAGE)
    assert signs(one, second)


def test_a_running_process_goes_on_when_another_sets_a_passphrase(ring: Opener) -> None:
    """A key in memory goes on signing; what needs the file asks for the passphrase."""
    server, other = ring(), ring()
    public = server.create()
    assert signs(server, public)
    other.set_passphrase(None, lambda: WORDS)
    assert signs(server, public)
    with pytest.raises(KeyringLocked):
        server.create()


def test_a_keyring_that_vanishes_is_not_made_anew(ring: Opener, path: Path) -> None:
    """A file deleted under a running process is an error, not an empty keyring that the next key overwrites."""
    one = ring()
    one.create()
    path.unlink()
    for use in (one.keys, one.create):
        with pytest.raises(StoreCorrupt, match="gone"):
            use()
    assert not path.exists()


def test_a_file_open_to_others_is_closed_and_reported(ring: Opener, path: Path) -> None:
    """Mode 0600 is restored at the first look, and `doctor` says that it was not so."""
    public = ring().create()
    path.chmod(0o644)
    one = ring()
    assert signs(one, public)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert any("Other users" in problem for problem in one.problems())
    assert not any("Other users" in problem for problem in ring().problems())


def test_a_failed_write_changes_nothing(ring: Opener, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a full disk the file, the passphrase and the keys in memory are what they were, and work on."""
    one = ring(WORDS)
    public = one.create()
    before = path.read_bytes()

    def full(self: PeerFolder, name: str, data: bytes) -> None:
        raise StoreFull("full")

    with monkeypatch.context() as patch:
        patch.setattr(PeerFolder, "replace", full)
        for change in (one.create, lambda: one.set_passphrase(lambda: WORDS, lambda: "new"),
                       lambda: one.remove(public), lambda: one.relabel(public, "x")):  # fmt: skip
            with pytest.raises(StoreFull):
                change()
    assert path.read_bytes() == before
    assert one.keys() == [public]
    second = one.create()
    assert all(signs(ring(WORDS), key) for key in (public, second))


@pytest.mark.parametrize("label", ["x" * 65, "\ud800"])
def test_labels_have_limits(ring: Opener, label: str) -> None:
    """An over-long label or one that is no valid Unicode is a named error."""
    with pytest.raises((LimitExceeded, InvalidInput)):
        ring().create(label=label)


@pytest.mark.parametrize("seed", [b"", b"x" * 31, b"x" * 33])
def test_a_seed_has_32_bytes(ring: Opener, seed: bytes) -> None:
    """A seed of another length is refused before anything is written."""
    with pytest.raises(InvalidInput):
        ring().create(seed)


def test_a_keyring_does_not_travel(ring: Opener) -> None:
    """It can be neither pickled nor copied, and printing it shows a path."""
    one = ring(WORDS)
    one.create(SEED)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(one)
    assert repr(one) == f"Keyring({str(one._place)!r})"


# Tracebacks


def shown(error: BaseException, *, here: bool = False) -> str:
    """The traceback as the most talkative handlers print it, with all locals; of the tests' frames only if `here`."""
    printed = ""
    told: traceback.TracebackException | None = traceback.TracebackException.from_exception(
        error, capture_locals=True
    )
    while told is not None:
        frames = [frame for frame in told.stack if here or frame.filename != __file__]
        assert frames
        printed += "".join(told.format_exception_only())
        printed += "\n".join(value for frame in frames for value in (frame.locals or {}).values())
        told = told.__cause__ or told.__context__
    return printed


PAIR = keys.keypair(SEED)
FORMS = {
    "seed": SEED,
    "secret": PAIR.secret,
    "curve": bindings.crypto_sign_ed25519_sk_to_curve25519(PAIR.secret),
    "words": WORDS.encode(),
}


def leaks(text: str, **more: bytes) -> list[str]:
    """Forms of the seed, of what is derived from it and of the passphrase that stand in a text."""
    return [
        name
        for name, value in (FORMS | more).items()
        if any(form in text for form in (value.hex(), repr(value)[2:-1], value.decode("latin-1")))
    ]


def boom(*_: object, **__: object) -> None:
    """Fail as a library might, with nothing caught."""
    raise MemoryError("as if libsodium gave up")


@pytest.mark.parametrize("words", [None, WORDS])
@pytest.mark.parametrize(
    "broken",
    ["crypto_sign", "crypto_box_seal_open", "crypto_sign_ed25519_sk_to_curve25519",
     "crypto_sign_seed_keypair", "crypto_aead_xchacha20poly1305_ietf_decrypt", "crypto_pwhash_alg"],
)  # fmt: skip
def test_no_traceback_shows_a_secret(
    ring: Opener, monkeypatch: pytest.MonkeyPatch, broken: str, words: str | None
) -> None:
    """Whatever fails while a key is used, no frame's locals show the seed, the key or the passphrase."""
    maker = ring(words)
    public = maker.create(SEED)
    more = {"sealing": bytes(maker._opener[1])} if maker._opener else {}
    box = keys.box(public, b"m", b"e" * 32)
    one = ring(words)
    monkeypatch.setattr(bindings, broken, boom)
    for use in (lambda: one.unbox(public, box), lambda: one.sign(public, codec.ENTRY, MESSAGE)):
        text = ""
        try:
            use()
        except MemoryError as error:
            text = shown(error)
        assert leaks(text, **more) == []


def test_the_leak_finder_finds_leaks() -> None:
    """The test above would see a secret that is printed plainly."""
    try:
        plain, words = SEED, WORDS  # noqa: F841 - shown by the traceback
        boom()
    except MemoryError as error:
        text = shown(error, here=True)
    assert leaks(text) == ["seed", "words"]


def test_errors_of_bad_files_and_passphrases_show_no_secret(ring: Opener, path: Path) -> None:
    """A file that is cut short, altered or sealed otherwise is reported without what it holds."""
    ring().create(SEED)
    plain = path.read_bytes()
    for bad in (
        plain[:-1],
        plain[:-40] + b"x" + plain[-39:],
        b"muniment keyring 2\n" + plain[19:],
        plain[1:],
    ):
        path.write_bytes(bad)
        with pytest.raises(MunimentError) as caught:
            ring().keys()
        assert leaks(shown(caught.value)) == []
    path.write_bytes(plain)
    ring().set_passphrase(None, lambda: WORDS)
    with pytest.raises(WrongPassphrase) as wrong:
        ring("wrong").create(b"another seed, of 32 bytes in all")
    assert leaks(shown(wrong.value)) == []
    one = ring(WORDS)
    with pytest.raises(RefusedBody) as refused:
        one.unbox(one.keys()[0], b"no box")
    assert leaks(shown(refused.value)) == []


def test_a_failed_save_shows_no_secret(ring: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails while keys are saved in plain does not print them."""
    import os

    one = ring()
    one.create()

    def no_space(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", no_space)
    with pytest.raises(StoreFull) as caught:
        one.create(SEED)
    assert leaks(shown(caught.value)) == []


# The system keyring


class FakeErrors:
    """The module `keyring.errors`."""

    class KeyringError(Exception):
        """Root of its errors."""


def fake_system(held: dict[tuple[str, str], str], *, locked: bool = False) -> types.ModuleType:
    """The extra `keyring`, with a dictionary behind it."""
    module = types.ModuleType("keyring")

    def call(action: Callable[..., object]) -> Callable[..., object]:
        def checked(*args: str) -> object:
            if locked:
                raise FakeErrors.KeyringError(WORDS)
            return action(*args)

        return checked

    vars(module).update(
        errors=FakeErrors,
        set_password=call(lambda service, name, text: held.__setitem__((service, name), text)),
        get_password=call(lambda service, name: held.get((service, name))),
        delete_password=call(lambda service, name: held.pop((service, name))),
    )
    return module


def test_the_system_keyring_seals_where_it_is_chosen(
    ring: Opener, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sealing key is in the system keyring alone; a passphrase set later replaces it and it is dropped."""
    held: dict[tuple[str, str], str] = {}
    monkeypatch.setitem(sys.modules, "keyring", fake_system(held))
    one = ring(use_system=True)
    public = one.create(SEED)
    assert one.protection == "system"
    assert one.problems() == []
    ((_, name), text) = next(iter(held.items()))
    assert SEED not in path.read_bytes()
    assert bytes.fromhex(text) not in path.read_bytes()
    assert name.encode() in path.read_bytes()
    assert signs(ring(), public)
    ring().set_passphrase(None, lambda: WORDS)
    assert held == {}
    assert signs(ring(WORDS), public)
    ring().use_system_keyring(lambda: WORDS)
    assert ring().protection == "system"
    assert signs(ring(), public)


def test_a_system_keyring_that_is_missing_locked_or_empty_is_named(
    ring: Opener, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    """Without the extra, with a locked keyring or without its key nothing is made or guessed."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MissingExtra):
        ring(use_system=True).create()
    assert not path.exists()
    monkeypatch.setitem(sys.modules, "keyring", fake_system({}, locked=True))
    with pytest.raises(KeyringError):
        ring(use_system=True).create()
    assert not path.exists()
    monkeypatch.setitem(sys.modules, "keyring", fake_system({}))
    public = ring(use_system=True).create()
    for broken in (fake_system({}), fake_system({}, locked=True)):
        monkeypatch.setitem(sys.modules, "keyring", broken)
        with pytest.raises(KeyringLocked) as caught:
            ring().sign(public, codec.ENTRY, MESSAGE)
        assert WORDS not in str(caught.value)
