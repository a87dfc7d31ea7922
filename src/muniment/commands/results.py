"""Results that are more than one view: lists, and findings that can be well or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol


class _Shown(Protocol):
    def to_json(self) -> dict[str, Any]: ...


class Listed(list[Any]):
    """A list of views under one name in JSON: `{"records": [...]}`."""

    def __init__(self, name: str, items: Iterable[_Shown]) -> None:
        super().__init__(items)
        self.name = name

    def to_json(self) -> dict[str, Any]:
        """The list as `--json` prints it."""
        return {self.name: [item.to_json() for item in self]}


class Exported:
    """What an export wrote, and where to (`-`: the output stream)."""

    def __init__(self, path: str, records: int, *, page: bool) -> None:
        self.path, self.records, self.page = path, records, page

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {"path": self.path, "records": self.records}


class Chosen:
    """What `init` set up."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def to_json(self) -> dict[str, Any]:
        """The choices as `--json` prints them."""
        return self.values


class Claimed:
    """What `key mine` did: the entry that joins all that the agent's key signed."""

    def __init__(self, agent: str, entry: str) -> None:
        self.agent, self.entry = agent, entry

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {"agent": self.agent, "entry": self.entry}


class Configured:
    """An agent's settings of one kind, as they stand."""

    def __init__(self, agent: str, settings: Mapping[str, Any]) -> None:
        self.agent, self.settings = agent, dict(settings)

    def to_json(self) -> dict[str, Any]:
        """The settings as `--json` prints them."""
        return {"agent": self.agent, "settings": self.settings}


class Checkup:
    """What `check` found; well when it found nothing."""

    def __init__(self, agent: str, problems: Iterable[Any], *, rebuilt: bool) -> None:
        self.agent, self.problems, self.rebuilt = agent, list(problems), rebuilt

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The findings as `--json` prints them."""
        problems = [{"where": p.where, "what": p.what, "next_step": p.next_step} for p in self.problems]
        return {"agent": self.agent, "ok": self.ok, "rebuilt": self.rebuilt, "problems": problems}


class Findings:
    """What `doctor` found, after what it mended; well when nothing failed, or, if `strict`, nothing is odd either."""

    def __init__(
        self, findings: Iterable[Any], mended: Iterable[Any] | None = None, *, strict: bool = False
    ) -> None:
        self.findings, self.strict = list(findings), strict
        self.mended = None if mended is None else list(mended)

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        bad = {"fail", "warn"} if self.strict else {"fail"}
        return all(finding.status not in bad for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The findings as `--json` prints them."""
        mended = {} if self.mended is None else {"mended": [one.to_json() for one in self.mended]}
        return {"ok": self.ok, **mended, "findings": [one.to_json() for one in self.findings]}


class Attachment:
    """What `bank attach` and `bank detach` did: the bank (None: it was not attached), and all that are attached now."""

    def __init__(self, session: str, bank: Any, attached: Iterable[Any], *, changed: bool) -> None:
        self.session, self.bank, self.attached, self.changed = session, bank, list(attached), changed

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "session": self.session,
            "changed": self.changed,
            "bank": None if self.bank is None else self.bank._asdict(),
            "attached": [bank._asdict() for bank in self.attached],
        }


class RecallConfigured:
    """The settings of auto-recall of an agent, as they stand now."""

    def __init__(self, agent: str, config: _Shown) -> None:
        self.agent, self.values = agent, config.to_json()

    def to_json(self) -> dict[str, Any]:
        """The settings as `--json` prints them."""
        return {"agent": self.agent, **self.values}


class AllowedTools:
    """The memory tools of an agent; None: all of them."""

    def __init__(self, agent: str, tools: Iterable[str] | None) -> None:
        self.agent, self.tools = agent, None if tools is None else list(tools)

    def to_json(self) -> dict[str, Any]:
        """What holds, as `--json` prints it."""
        return {"agent": self.agent, "tools": self.tools}


class Printed:
    """A text for another program's configuration, and the value that it holds."""

    def __init__(self, text: str, value: Mapping[str, Any]) -> None:
        self.text, self.value = text, dict(value)

    def to_json(self) -> dict[str, Any]:
        """The value alone."""
        return self.value


class Served:
    """A server that ran until its client left; its stream was the answer, so nothing is printed after it."""

    path = "-"

    def __init__(self, what: str) -> None:
        self.what = what

    def to_json(self) -> dict[str, Any]:
        """What was served."""
        return {"served": self.what}
