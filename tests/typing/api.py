"""Uses of the public names, written as a caller would; checked by mypy, never run."""

from muniment.base.ids import VersionId, parse_version
from muniment.ledger.levels import Level, parse_level

version: VersionId = parse_version("bafyrei/0")
level: Level = parse_level("write")
stronger: bool = level.weaker_than(Level(4, 0))
