"""From the `embedding:` block of the settings to an embedder. What it does not need is not imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.embed.options import REMOTE, Options, options

if TYPE_CHECKING:
    from muniment.embed.base import Embedder

Secret = Callable[[str], "str | None"]


def open_embedder(block: Mapping[str, Any], secret: Secret) -> Embedder:
    """The embedder that the settings describe. No server is asked and no model loaded yet.

    Args:
        block: The `embedding:` block: see `docs/embedders.md`.
        secret: Gives the API key of a provider, or None; called when a request is made, and what it raises
            comes out of that request.

    Raises:
        InvalidInput: A name is unknown or a value has no meaning; the message names it.
        MissingExtra: The extra that runs the backend is not installed.
    """
    chosen = options(block)
    if chosen.backend in REMOTE:
        from muniment.embed.openai import ServerEmbedder

        return ServerEmbedder(chosen, lambda: secret(chosen.provider))
    if chosen.backend == "fastembed":
        from muniment.embed.online import OnlineEmbedder

        return OnlineEmbedder(chosen)
    return _local(chosen)


def _local(chosen: Options) -> Embedder:
    from muniment.embed.carriers import CARRIERS
    from muniment.embed.local import LocalEmbedder

    carrier = None
    if chosen.folder is None:
        carrier = CARRIERS.get(chosen.model)
        if carrier is None:
            raise InvalidInput(
                f"embedding.model {chosen.model[:60]!r} is carried by no known package",
                f"Known are {', '.join(CARRIERS)}; for another one name its `folder`.",
            )
    return LocalEmbedder(chosen, carrier)
