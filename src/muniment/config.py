"""What a person may choose: `config.yaml` in the peer folder, read only where it is there (design sections 6, 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.platform.files import explain

if TYPE_CHECKING:
    from muniment.recall.favours import FavourWeights
    from muniment.recall.scoring import ContextWeights

FILE = "config.yaml"
_MAX_BYTES = 1 << 20
_CHOICES = {
    "profile": ("default", "ancestor"),
    "analyzer": ("standard", "plain"),
    "fusion": ("convex", "rrf"),
    "dates": ("boost", "filter", "off"),
}
# What the ancestor did: plain words and cosine, ranks added up (reciprocal rank fusion).
_ANCESTOR: dict[str, Any] = {
    "analyzer": "plain", "fusion": "rrf", "context": False, "speakers": False, "dates": "off", "duplicates": True,
}  # fmt: skip


class DefaultBank(NamedTuple):
    """A bank that an agent gets by the settings: its name, the level, and whose it is (None: every agent's)."""

    name: str
    level: str = "write"
    agent: str | None = None


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
        speakers: Whether it counts who said a record: a speaker named in the question, or the user rather than the
            assistant.
        dates: What a time named in the question does: `boost` what was said then, `filter` out all else, or `off`.
        duplicates: Whether an answer lists records that say nearly the same as one before them.
        fusion: How words and meaning become one ranking: `convex`, weighted by evidence, or `rrf`, by rank.
        feedback_weight: How much judgements move a score at most, 0 to 0.2; 0: not at all.
        memory_enabled: Whether hosts give their agents memory tools; the command line works all the same.
        busy_ms: How long a write waits for another process, in milliseconds.
        witness: A file outside this folder that remembers how far each bank was; None for none.
        default_memory_banks: Banks that agents get once and that are attached to their sessions.
        embedding: What turns text into vectors: the block of `muniment.embed.options`; None for words alone.
        archive: What goes into the archive and where it lies: the block of `muniment.archive.options`.
        rerank: What looks at the best records again: the block of `muniment.embed.rerank_options`; None for nothing.
        serve: Where others reach this peer: the block of `muniment.sync_options.check_serve`.
        sync: How it syncs in the background: the block of `muniment.sync_options.sync_options`.
    """

    agent: str | None = None
    profile: Literal["default", "ancestor"] = "default"
    analyzer: Literal["standard", "plain"] = "standard"
    language: str = "en"
    k1: float = 1.5
    b: float = 0.75
    context: bool = True
    speakers: bool = True
    dates: Literal["boost", "filter", "off"] = "boost"
    duplicates: bool = False
    fusion: Literal["convex", "rrf"] = "convex"
    feedback_weight: float = 0.0
    memory_enabled: bool = True
    busy_ms: int = 10_000
    witness: str | None = None
    default_memory_banks: tuple[DefaultBank, ...] = ()
    embedding: Mapping[str, Any] | None = None
    archive: Mapping[str, Any] | None = None
    rerank: Mapping[str, Any] | None = None
    serve: Mapping[str, Any] | None = None
    sync: Mapping[str, Any] | None = None

    @property
    def weights(self) -> ContextWeights | None:
        """How much a record's conversation counts; None where it does not."""
        from muniment.recall.scoring import ContextWeights  # brings numpy, which not every command needs

        return ContextWeights() if self.context and self.analyzer != "plain" else None

    @property
    def favours(self) -> FavourWeights | None:
        """What a question favours; None where nothing."""
        from muniment.recall.favours import FavourWeights

        usual = FavourWeights()
        speaker, assistant = (usual.speaker, usual.assistant) if self.speakers else (1.0, 1.0)
        return FavourWeights(speaker, assistant, usual.dated) if self.analyzer != "plain" else None


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
        if name in _READERS:
            _check_block(str(name), value, where)
        elif name == "default_memory_banks":
            values = {**values, name: _default_banks(value, where)}
        elif not _fits(name, value):
            raise InvalidInput(
                f"{where}: {name} can't be {value!r}", "See docs/settings.md for what it takes."
            )
    base = _ANCESTOR if values.get("profile") == "ancestor" else {}
    return Settings(**{**base, **{str(name): value for name, value in values.items()}})


def _check_block(name: str, value: Any, where: str) -> None:
    """Refuse a block that has no meaning. Its values are not repeated: one may be a key, misplaced."""
    if value is None:
        return
    try:
        _block_reader(name)(value)
    except InvalidInput as error:
        fault = error
    else:
        return
    raise InvalidInput(f"{where}: {fault.message}", fault.next_step)


_READERS = {
    "embedding": "embed.options:options",
    "rerank": "embed.rerank_options:rerank_options",
    "archive": "archive.options:options",
    "serve": "sync_options:check_serve",
    "sync": "sync_options:sync_options",
}


def _block_reader(name: str) -> Callable[[Any], object]:
    """What reads a block, brought only where there is one."""
    module, _, reader = _READERS[name].partition(":")
    found: Callable[[Any], object] = getattr(import_module(f"muniment.{module}"), reader)
    return found


def _default_banks(value: Any, where: str) -> tuple[DefaultBank, ...]:
    """A list for every agent, or lists by agent; each entry a name (write), or a name and a level."""
    lists = value if isinstance(value, Mapping) else {None: value}
    found = []
    for agent, items in lists.items():
        if not isinstance(items, list) or not (agent is None or (isinstance(agent, str) and agent)):
            raise InvalidInput(
                f"{where}: default_memory_banks can't be {str(value)[:60]!r}",
                "Write a list of banks, or a list for each agent's name.",
            )
        found += [_default_bank(item, agent, where) for item in items]
    return tuple(found)


def _default_bank(item: Any, agent: str | None, where: str) -> DefaultBank:
    named = {"name": item} if isinstance(item, str) else item
    if not isinstance(named, Mapping) or not isinstance(named.get("name"), str) or not named["name"].strip():
        raise InvalidInput(
            f"{where}: default_memory_banks has {str(item)[:60]!r}",
            "An entry is the name of a bank, or {name: NAME, level: read}.",
        )
    if unknown := {str(key) for key in named} - {"name", "level"}:
        raise InvalidInput(
            f"{where}: an entry of default_memory_banks has no {sorted(unknown)[0][:40]!r}",
            "It has a name and a level.",
        )
    level = named.get("level", "write")
    if level not in ("read", "write"):
        raise InvalidInput(f"{where}: default_memory_banks gives {str(level)[:40]!r}", "Give read or write.")
    return DefaultBank(named["name"].strip(), level, agent)


def _fits(name: str, value: Any) -> bool:
    if name in {"agent", "witness"}:
        return value is None or (isinstance(value, str) and bool(value))
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name == "language":
        return isinstance(value, str) and bool(value)
    if name in {"context", "speakers", "duplicates", "memory_enabled"}:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "busy_ms":
        return isinstance(value, int) and 0 <= value <= 3_600_000
    return 0 <= value <= {"b": 1.0, "feedback_weight": 0.2}.get(name, 100.0)
