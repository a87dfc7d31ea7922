"""What the commands about auto-recall print: lines for pipes, and the same for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment.commands.results import Attachment, RecallConfigured
from muniment.surfaces.cli.words import one_line, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from muniment.auto_recall import Preview


def attachment_line(result: Attachment) -> str:
    """What `bank attach` or `bank detach` did, and what is attached now."""
    session = one_line(result.session, 60)
    names = ", ".join(one_line(bank.name, 60) for bank in result.attached) or "no bank"
    if result.bank is None:
        return f"nothing changed; {session} looks through {names}"
    return f"{one_line(result.bank.name, 60)} {result.bank.id}\n{session} looks through {names}"


def config_rows(result: RecallConfigured) -> list[tuple[str, Any]]:
    """The settings by name, as they are typed."""
    return [(name, _said(name, value)) for name, value in result.to_json().items() if name != "agent"]


def _said(name: str, value: Any) -> str:
    if name == "auto_recall_banks":
        return "all that are attached" if value is None else ", ".join(value) or "none"
    return str(value).lower()


def config_lines(result: RecallConfigured) -> str:
    """The settings, one a line."""
    rows = config_rows(result)
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in rows)


def preview_text(result: Preview) -> str:
    """The block as an agent gets it; nothing where there is none."""
    return shown(result.block)


def drawn_attachment(result: Attachment) -> RenderableType:
    """For a person."""
    from rich.text import Text

    return Text.assemble(("● ", "green" if result.changed else "dim"), attachment_line(result))


def drawn_config(result: RecallConfigured) -> RenderableType:
    """For a person."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, value in config_rows(result):
        table.add_row(Text(name, "dim"), Text(value))
    return table


def drawn_preview(result: Preview) -> RenderableType:
    """For a person: the block, and why each record is in it."""
    from rich.console import Group
    from rich.text import Text

    if not result.block:
        why = f" ({one_line(result.found.degraded)})" if result.found.degraded else ""
        return Text(f"Nothing: no memory is near enough to this turn.{why}", "dim")
    reasons = [
        Text(
            f"{one_line(hit.hit.record.key or hit.hit.record.title or hit.hit.record.id, 60)}: {hit.reason}",
            "dim",
        )
        for store in result.found.stores
        for hit in store.hits
    ]
    return Group(Text(shown(result.block)), Text(), *reasons)
