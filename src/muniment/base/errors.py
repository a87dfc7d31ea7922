"""One tree of errors; every class is raised somewhere, and every message says the next step.

```
MunimentError
├── InputError            the caller's words are at fault        (exit 2)
│   ├── LimitExceeded         a cap of `Limits` is passed
│   ├── InvalidInput          a value that has no meaning here
│   ├── WrongDimension        a vector of another length than its model's
│   └── Ambiguous             a name or id that fits several things
├── NotFound              nothing here by that name              (exit 3)
│   ├── UnknownAgent  ├── UnknownBank  ├── UnknownRecord
│   └── UnknownBlob           no copy of a blob is in reach
├── Denied                authority says no                      (exit 4)
│   ├── NotPermitted          the key lacks the level
│   ├── ReadOnlyBank          control acts of a newer version: read only here
│   ├── BankFrozen            no admin is left
│   ├── ControlIncomplete     part of the control past is not here
│   ├── WaitingForKey         no epoch to seal under is open to this key
│   └── KeyUsedElsewhere      another installation signs with this key
├── Refused               bytes that are wrong in themselves     (exit 5)
│   ├── Malformed             not canonical DAG-CBOR
│   ├── RefusedEntry          `.reason` names the rule
│   ├── RefusedBody           a body that does not match or open
│   ├── RefusedPack           a pack or a sealed payload that is not what its name says
│   ├── RefusedProof          a receipt, challenge or proof of custody; `.reason` names the rule
│   ├── RefusedKey            a malformed or small-order key
│   ├── RefusedTicket         `.reason` names what is wrong in it
│   ├── RefusedSignature      a signed HTTP message; `.reason` names the rule
│   └── RefusedFile           an exported bank that breaks its format; `.reason` names the rule
├── StorageError          the disk or a file                     (exit 6)
│   ├── StoreBusy             a lock was not free in time
│   ├── StoreFull             no space is left
│   ├── StoreReadOnly         the folder or file can't be written
│   ├── StoreCorrupt          pages or rows contradict each other
│   ├── BlobDamaged           a blob's bytes do not have its name
│   ├── BlobStoreUnavailable  the place of the blobs does not answer, or says no
│   ├── RolledBack            older than what its witness has seen
│   ├── ForeignFile           not a file of muniment
│   └── FutureFormat          written by a newer version
├── KeyringError          custody of private keys                (exit 7)
│   ├── KeyringLocked         a passphrase is needed
│   ├── WrongPassphrase       it does not open the keyring
│   └── UnknownKey            the private key is not in custody here
├── ImportFailed          a file to import has a fatal line      (exit 8)
├── MissingExtra          an optional part is not installed      (exit 9)
├── EmbedderError         no vectors come of a text              (exit 10)
│   ├── EmbedderUnavailable   no answer in time, or nothing there that answers
│   ├── EmbedderRefused       the server says no to key, model or text
│   └── EmbedderMismatch      an answer or a model file that is not what was asked for
├── RemoteError           another installation, asked over HTTP  (exit 11)
│   ├── Unreachable           no answer in time, or nothing there that answers
│   ├── Overloaded            too much is asked of it at once
│   └── BadAnswer             an answer that is none
├── SyncError             a sync with another peer               (exit 12)
│   ├── SyncRefused           the other end turned the round down
│   └── BadMessage            bytes that are no message of the protocol; `.reason` names the rule
└── ModelError            a language model gives nothing usable  (exit 13)
    ├── ModelUnavailable      no answer in time, or nothing there that answers
    ├── ModelRefused          the server says no to key, model or question
    └── ModelMismatch         an answer that is not what was asked for
```
"""

from __future__ import annotations


class MunimentError(Exception):
    """Root of all errors that muniment raises on purpose.

    Attributes:
        message: What went wrong, with the value at fault.
        next_step: What to do about it; may be empty where nothing can be done.
    """

    exit_code = 1

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message if not next_step else f"{message}\n{next_step}")
        self.message = message
        self.next_step = next_step

    @property
    def name(self) -> str:
        """The class name, stable over versions: what `--json` prints as `error`."""
        return type(self).__name__


class InputError(MunimentError):
    """The caller's words are at fault."""

    exit_code = 2


class LimitExceeded(InputError):
    """A value passes a cap of `Limits`; the message names the limit, its value and the value given."""

    def __init__(self, limit: str, allowed: int, given: int, next_step: str = "") -> None:
        super().__init__(f"{limit} is {given}, the limit is {allowed}", next_step)
        self.limit, self.allowed, self.given = limit, allowed, given


class InvalidInput(InputError):
    """A value that has no meaning here."""


class WrongDimension(InputError):
    """A vector of another length than its model's; `.expected` and `.given` are the two."""

    def __init__(self, expected: int, given: int, next_step: str = "") -> None:
        super().__init__(f"the vector has {given} dimensions, the model {expected}", next_step)
        self.expected, self.given = expected, given


class Ambiguous(InputError):
    """A name or an id fits several things; the message lists them."""

    def __init__(self, message: str, choices: list[str], next_step: str = "") -> None:
        super().__init__(message + ": " + ", ".join(choices), next_step)
        self.choices = choices


class NotFound(MunimentError):
    """Nothing here goes by that name."""

    exit_code = 3


class UnknownAgent(NotFound):
    """No agent of this peer goes by that name."""


class UnknownBank(NotFound):
    """No bank that the caller may open goes by that name."""


class UnknownRecord(NotFound):
    """No record of the bank goes by that id."""


class UnknownBlob(NotFound):
    """No copy of a blob is here, and nobody who was asked has one."""


class Denied(MunimentError):
    """Authority says no."""

    exit_code = 4


class NotPermitted(Denied):
    """The key lacks the level that the act needs."""


class ReadOnlyBank(Denied):
    """The bank holds control acts of a newer version; it can be read here, not written."""


class BankFrozen(Denied):
    """The bank has no admin left: nothing can be granted or revoked."""


class ControlIncomplete(Denied):
    """Part of the control past is not here: no control act is written on a guess."""


class WaitingForKey(Denied):
    """No standing epoch that this key can seal under is sealed to exactly the readers of now."""


class KeyUsedElsewhere(Denied):
    """An entry by an own key is not in the chain that this installation signed."""


class Refused(MunimentError):
    """Bytes that are wrong in themselves, whoever sent them."""

    exit_code = 5


class Malformed(Refused):
    """Bytes that are not canonical DAG-CBOR, or a value that has no such form."""


class RefusedEntry(Refused):
    """An entry that breaks a rule visible in its own bytes.

    Attributes:
        reason: The rule's short name, one of `muniment.ledger.entry.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"entry refused: {reason}" + (f" ({detail})" if detail else ""))
        self.reason = reason


class RefusedBody(Refused):
    """A body that does not match its hash, does not open, or is not of the kind its header says."""


class RefusedPack(Refused):
    """A pack, or a payload of one, that is cut, malformed, over a limit, or does not open.

    Attributes:
        reason: The rule's short name, one of `muniment.archive.pack.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"pack refused: {reason}" + (f" ({detail})" if detail else ""))
        self.reason = reason


class RefusedProof(Refused):
    """A receipt, a challenge or a proof of custody that does not show what it has to.

    Attributes:
        reason: The rule's short name, one of `muniment.archive.custody.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        said = f"custody refused: {reason}" + (f" ({detail})" if detail else "")
        super().__init__(said, "Challenge the holder again, or give the blob to another one.")
        self.reason = reason


class RefusedKey(Refused):
    """A key that is malformed or of small order, or a DID that does not hold one."""


class RefusedTicket(Refused):
    """Text that is no ticket, or an address in one that leads nowhere.

    Attributes:
        reason: The rule's short name.
    """

    def __init__(self, reason: str, next_step: str = "") -> None:
        super().__init__(f"ticket refused: {reason}", next_step)
        self.reason = reason


class RefusedSignature(Refused):
    """A signed HTTP message that does not prove what it has to.

    Attributes:
        reason: One of `muniment.identity.http_signatures.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "", next_step: str = "") -> None:
        super().__init__(f"signature refused: {reason}" + (f" ({detail})" if detail else ""), next_step)
        self.reason = reason


class RefusedFile(Refused):
    """An exported bank that breaks a rule of its format.

    Attributes:
        reason: The rule's short name, one of `muniment.portable.car.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(
            f"file refused: {reason}" + (f" ({detail})" if detail else ""),
            "Get the file again from its source.",
        )
        self.reason = reason


class StorageError(MunimentError):
    """The disk, a folder or a file is at fault."""

    exit_code = 6


class StoreBusy(StorageError):
    """A lock was not free within the configured time."""


class StoreFull(StorageError):
    """No space is left on the device; nothing of the write was kept."""


class StoreReadOnly(StorageError):
    """The folder or file can't be written by this user."""


class StoreCorrupt(StorageError):
    """Pages or rows contradict each other or their checksums."""


class BlobDamaged(StorageError):
    """The bytes kept under a blob's name are not those it names."""


class BlobStoreUnavailable(StorageError):
    """The place where blobs are kept does not answer, or does not let this peer in."""


class RolledBack(StorageError):
    """The bank's file is older than its witness says, or entries that the witness has seen are gone."""


class ForeignFile(StorageError):
    """The file is not one of muniment's; it is left as it is."""


class FutureFormat(StorageError):
    """The file was written by a newer version; it is left as it is."""


class KeyringError(MunimentError):
    """Custody of private keys."""

    exit_code = 7


class KeyringLocked(KeyringError):
    """The keyring is sealed and no passphrase was given."""


class WrongPassphrase(KeyringError):
    """The passphrase does not open the keyring."""


class UnknownKey(KeyringError):
    """The private key of that public key is not in custody here."""


class ImportFailed(MunimentError):
    """A file to import holds a line that can't be taken, and lines that fail were to be fatal."""

    exit_code = 8


class MissingExtra(MunimentError):
    """An optional part is not installed; the message names the extra."""

    exit_code = 9

    def __init__(self, extra: str, what_for: str) -> None:
        super().__init__(
            f"{what_for} needs the extra `{extra}`", f"Install it with: pip install 'muniment[{extra}]'"
        )
        self.extra = extra


class EmbedderError(MunimentError):
    """No vectors come of a text. Memories are kept and found by words all the same."""

    exit_code = 10


class EmbedderUnavailable(EmbedderError):
    """No answer came in time, nothing answers there, or it rests after failures."""


class EmbedderRefused(EmbedderError):
    """The server answers, and says no: to the key, the model or the text."""


class EmbedderMismatch(EmbedderError):
    """Another number of vectors, another dimension, no usable numbers, or a model file that is another one."""


class RemoteError(MunimentError):
    """Another installation was asked over HTTP, and it did not come to an answer."""

    exit_code = 11


class Unreachable(RemoteError):
    """No answer came in time, or nothing answers there."""


class Overloaded(RemoteError):
    """Too many requests at once, by this key or by all; nothing of the request was done.

    Attributes:
        retry_after: Seconds after which to try again.
    """

    def __init__(self, message: str, retry_after: float = 1.0, next_step: str = "") -> None:
        super().__init__(message, next_step or f"Try again in {retry_after:g} s.")
        self.retry_after = retry_after


class BadAnswer(RemoteError):
    """What answers there does not speak as an installation of muniment does."""


class SyncError(MunimentError):
    """A sync with another peer came to nothing, or to less than all. What was stored stays."""

    exit_code = 12


class SyncRefused(SyncError):
    """The other end turned the round down: the bank is not there, not shared, or not for this key."""


class BadMessage(SyncError):
    """Bytes from the other end that are no message of the protocol, or not the one that is due.

    Attributes:
        reason: The rule's short name, one of `muniment.sync.messages.REASONS`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        said = f"the other end sent a message that is no good: {reason}" + (f" ({detail})" if detail else "")
        super().__init__(said, "Sync again; if it stays so, one of the two ends is at fault or too old.")
        self.reason = reason


class ModelError(MunimentError):
    """A language model that a host brought gives nothing usable. Nothing of its answer was taken."""

    exit_code = 13


class ModelUnavailable(ModelError):
    """No answer came in time, nothing answers there, or it rests after failures."""


class ModelRefused(ModelError):
    """The server answers, and says no, or its answer breaks a rule of the line."""


class ModelMismatch(ModelError):
    """The answer is not one whole JSON object of the shape that was asked for."""
