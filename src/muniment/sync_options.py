"""The blocks `serve` and `sync` of `config.yaml` (docs/settings.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.base.errors import InvalidInput, MunimentError
from muniment.iroh_options import NAMES, iroh_options
from muniment.sync.ticket import check_address


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a peer syncs while it serves.

    Attributes:
        background: Whether it syncs at all unless it is asked to.
        interval: Seconds between two full rounds with one address.
        live: Whether it follows other peers, to hear at once what is new there.
        plain_http: Whether addresses beyond this machine may be dialled without encryption.
        timeout: Seconds to wait for a connection, and for each answer.
    """

    background: bool = True
    interval: float = 300.0
    live: bool = True
    plain_http: bool = False
    timeout: float = 30.0


_FLAGS = {"background", "live", "plain_http"}
_BOUNDS = {"interval": (1, 86_400), "timeout": (1, 600)}


def sync_options(block: Any) -> SyncOptions:
    """The options that a block gives; what it does not name keeps its default.

    Raises:
        InvalidInput: It is no block, or a value has no meaning.
    """
    if block is None:
        return SyncOptions()
    known = _FLAGS | set(_BOUNDS)
    for name, value in _items("sync", block, known).items():
        if name in _FLAGS and not isinstance(value, bool):
            raise InvalidInput(f"sync: {name} can't be {str(value)[:40]!r}", "Write true or false.")
        if name in _BOUNDS:
            low, high = _BOUNDS[name]
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise InvalidInput(
                    f"sync: {name} can't be {str(value)[:40]!r}", f"It is {low} to {high} seconds."
                )
    return SyncOptions(**block)


def check_serve(block: Any) -> None:
    """Refuse a block `serve` that has no meaning.

    Raises:
        InvalidInput: It is no block, an address is none, or a value has no meaning.
    """
    if block is None:
        return
    said = _items("serve", block, {"public_url"} | NAMES)
    iroh_options(said)
    urls = said.get("public_url")
    for url in [urls] if isinstance(urls, str) else urls or ():
        try:
            fits = isinstance(url, str) and check_address(url).startswith("http")
        except MunimentError:
            fits = False
        if not fits:
            raise InvalidInput(
                f"serve: public_url can't be {str(url)[:80]!r}", "Write https://HOST, or a list of such."
            )


def _items(name: str, block: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(block, Mapping):
        raise InvalidInput(f"{name} is no block of settings", "Write `name: value` lines under it.")
    for key in block:
        if key not in known:
            raise InvalidInput(
                f"{name}: unknown setting {str(key)[:40]!r}", f"It has {', '.join(sorted(known))}."
            )
    return block
