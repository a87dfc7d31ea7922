"""What a person may choose: `config.yaml` in the peer folder, read only where it is there (design sections 6, 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from muniment.base.errors import InvalidInput
from muniment.platform.files import explain

if TYPE_CHECKING:
    from muniment.recall.scoring import ContextWeights

FILE = "config.yaml"
_MAX_BYTES = 1 << 20
_CHOICES = {
    "profile": ("default", "ancestor"),
    "analyzer": ("standard", "plain"),
    "fusion": ("convex", "rrf"),
}
# What the ancestor did: plain words and cosine, ranks added up (reciprocal rank fusion).
_ANCESTOR: dict[str, Any] = {"analyzer": "plain", "fusion": "rrf", "context": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one peer folder.

    Attributes:
        agent: The agent that is meant where none is named.
        profile: `default`, or `ancestor`: plain words and cosine, fused by rank; settings given beside it hold.
        analyzer: `standard`, or `plain`: lower-case words without stems, context or stop words.
        language: Of the stems and stop words: a Snowball language code, `en` by default.
        k1: How soon a repeated word stops adding to the score; `b` how much long texts are held back.
        context: Whether the neighbours and the whole conversation of a record count.
        fusion: How words and meaning become one ranking: `convex`, weighted by evidence, or `rrf`, by rank.
        busy_ms: How long a write waits for another process, in milliseconds.
        embedding: What turns text into vectors: the block of `muniment.embed.options`; None for words alone.
        archive: What goes into the archive and where it lies: the block of `muniment.archive.options`.
    """

    agent: str | None = None
    profile: Literal["default", "ancestor"] = "default"
    analyzer: Literal["standard", "plain"] = "standard"
    language: str = "en"
    k1: float = 1.5
    b: float = 0.75
    context: bool = True
    fusion: Literal["convex", "rrf"] = "convex"
    busy_ms: int = 10_000
    embedding: Mapping[str, Any] | None = None
    archive: Mapping[str, Any] | None = None

    @property
    def weights(self) -> ContextWeights | None:
        """How much a record's conversation counts; None where it does not."""
        from muniment.recall.scoring import ContextWeights  # brings numpy, which not every command needs

        return ContextWeights() if self.context and self.analyzer != "plain" else None


def load(folder: Path) -> Settings:
    """Read `config.yaml`; a folder without one has the defaults.

    Raises:
        InvalidInput: It is no mapping, or a setting is unknown or has no meaning; the message names it.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise explain(error, path) from error
    if len(data) > _MAX_BYTES:
        raise InvalidInput(f"{path} has {len(data)} bytes", "A config file has a few lines.")
    import yaml

    try:
        values = yaml.safe_load(data) or {}
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path} is not YAML: {error}", "Mend or delete it.") from None
    return from_mapping(values, str(path))


def from_mapping(values: Any, where: str) -> Settings:
    """Settings from a mapping; names not given keep their defaults.

    Raises:
        InvalidInput: As for `load`.
    """
    if not isinstance(values, Mapping):
        raise InvalidInput(f"{where} is not a list of settings", "Write one `name: value` a line.")
    known = {field.name: field for field in fields(Settings)}
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(
                f"{where}: unknown setting {str(name)[:40]!r}", f"Settings are {', '.join(known)}."
            )
        if name == "embedding":
            _check_embedding(value, where)
        elif name == "archive":
            _check_archive(value, where)
        elif not _fits(name, value):
            raise InvalidInput(
                f"{where}: {name} can't be {value!r}", "See docs/settings.md for what it takes."
            )
    base = _ANCESTOR if values.get("profile") == "ancestor" else {}
    return Settings(**{**base, **{str(name): value for name, value in values.items()}})


def _check_embedding(value: Any, where: str) -> None:
    """Refuse a block that opens no embedder. Its values are not repeated: one may be a key, misplaced."""
    if value is None:
        return
    from muniment.embed.options import options

    try:
        options(value)
    except InvalidInput as error:
        fault = error
    else:
        return
    raise InvalidInput(f"{where}: {fault.message}", fault.next_step)


def _check_archive(value: Any, where: str) -> None:
    from muniment.archive.options import options

    try:
        options(value)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}", error.next_step) from None


def _fits(name: str, value: Any) -> bool:
    if name == "agent":
        return value is None or (isinstance(value, str) and bool(value))
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name == "language":
        return isinstance(value, str) and bool(value)
    if name == "context":
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "busy_ms":
        return isinstance(value, int) and 0 <= value <= 3_600_000
    return 0 <= value <= (1 if name == "b" else 100)
