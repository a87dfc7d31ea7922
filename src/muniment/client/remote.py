"""An agent of another installation, with the methods of `muniment.Agent`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from muniment.client import views
from muniment.client.transport import Transport
from muniment.identity.http_signatures import Key
from muniment.views import Hits, Record, Remembered, Stats, Why

Records = list[Record]  # `list` is a method of the class below


class Client(Transport):
    """Keeps and recalls the memories of an agent that lives elsewhere. Methods and results are those of `Agent`.

    Args:
        url: Where `muniment serve` listens.
        key: The agent's key, or its controller's: from `key_from_file` or `key_from_peer`.
        agent: Which agent is meant, by DID or name; needed where a controller has several.
        timeout, ca_file, insecure: As for `Transport`.
    """

    def __init__(
        self,
        url: str,
        key: Key,
        agent: str | None = None,
        *,
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
        insecure: bool = False,
    ) -> None:
        super().__init__(url, key, timeout=timeout, ca_file=ca_file, insecure=insecure)
        self._agent = agent

    def command(self, name: str, params: Mapping[str, Any]) -> Any:
        """Any command that goes remote, by its full name; gives the JSON that `--json` prints.

        Raises:
            RemoteError: As for `call`.
            MunimentError: What the command has to say.
        """
        given = {key: _plain(value) for key, value in params.items()}
        if self._agent is not None:
            given["agent_did"] = self._agent
        return self.call("memory." + name.replace(" ", ".").replace("-", "_"), given)

    # The methods of an agent

    def remember(self, text: str, **more: Any) -> Remembered:
        """Keep a memory; as `Agent.remember`, without `id`."""
        result: Remembered = views.remembered(self.command("remember", {"text": text, **more}))
        return result

    def recall(self, query: str = "", **more: Any) -> Hits:
        """The records that answer a query best; as `Agent.recall`."""
        result: Hits = views.hits(self.command("recall", {"query": query, **more}))
        return result

    def get(self, ref: str) -> Record:
        """One record; as `Agent.get`."""
        result: Record = views.record(self.command("get", {"ref": ref}))
        return result

    def list(self, **more: Any) -> Records:
        """Records, newest first; as `Agent.list`."""
        result: Records = views.records(self.command("list", more))
        return result

    def history(self, ref: str) -> Records:
        """All versions of a record; as `Agent.history`."""
        result: Records = views.records(self.command("history", {"ref": ref}))
        return result

    def forget(self, ref: str, *, undo: bool = False) -> Records:
        """Hide a record, or show it again; as `Agent.forget`."""
        result: Records = views.records(self.command("forget", {"ref": ref, "undo": undo}))
        return result

    def why(self, query: str, ref: str, **more: Any) -> Why:
        """Why a record does, or does not, answer a query; as `Agent.why`."""
        result: Why = views.why(self.command("why", {"query": query, "ref": ref, **more}))
        return result

    def stats(self) -> Stats:
        """Counts of the bank; as `Agent.stats`."""
        result: Stats = views.stats(self.command("stats", {}))
        return result


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple | set | frozenset) else value
