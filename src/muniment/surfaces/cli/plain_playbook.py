"""What the commands about feedback and playbooks say, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.commands.results import Configured, Listed
from muniment.surfaces.cli.words import count, one_line, utc

if TYPE_CHECKING:
    from muniment.feedback import Judged
    from muniment.playbook import Eviction
    from muniment.playbook_apply import Applied, Outcome
    from muniment.playbook_review import Proposal
    from muniment.playbook_view import Shown

LINE = 160
_SAID = {"done": "done", "unchanged": "nothing to do", "unknown": "no such bullet"}


def counts(helpful: int, harmful: int) -> str:
    """How something was judged; empty if it was not."""
    parts = [f"{number} {name}" for name, number in (("helpful", helpful), ("harmful", harmful)) if number]
    return ", ".join(parts)


def judged_line(result: Judged) -> str:
    """What `feedback` did."""
    said = f"judged {result.judgement}" if result.created else f"judged {result.judgement} before"
    return f"{said}: {counts(result.helpful, result.harmful) or 'not judged'} by now  {result.id}"


def shown_text(result: Shown) -> str:
    """The playbook as a prompt takes it, and what is missing."""
    text = "\n".join(one_line(line) for line in result.text.splitlines()) or "no bullets"
    more = f"\n({count(result.left_out, 'bullet')} left out)" if result.left_out else ""
    return text + more


def outcome_line(result: Outcome) -> str:
    """What became of one operation."""
    return f"{result.op} {one_line(result.bullet, 80)}: {_SAID.get(result.outcome, one_line(result.outcome))}"


def applied_lines(result: Applied) -> str:
    """What became of a batch."""
    name = one_line(result.batch, 128)
    if result.pending:
        return f"waits for a review: {name}\n`muniment playbook review list` shows it"
    return "\n".join([f"batch {name}", *(f"  {outcome_line(one)}" for one in result.outcomes)])


def eviction_lines(result: Eviction) -> str:
    """What an eviction did."""
    if result.restored:
        return f"{count(result.restored, 'bullet')} brought back"
    if not result.evicted:
        return "nothing to evict"
    verb = "would go" if result.dry_run else "gone"
    lines = [f"{one.reason}: [{one.bullet.id}] {one_line(one.bullet.text, LINE)}" for one in result.evicted]
    undo = [] if result.dry_run else ["`muniment playbook evict --undo` brings them back"]
    return "\n".join([f"{count(len(lines), 'bullet')} {verb}", *lines, *undo])


def config_lines(result: Configured) -> str:
    """The settings of a playbook."""
    return "\n".join(f"{name:<12} {value}" for name, value in result.settings.items())


def proposal_lines(one: Proposal) -> str:
    """One batch that waits."""
    head = f"{one_line(one.id, 128)}  {utc(one.proposed_at_ms)}  by {one_line(one.author)}"
    return "\n".join([head, *(f"  {_operation(value)}" for value in one.operations)])


def _operation(value: Mapping[str, Any]) -> str:
    """An operation of a batch, as words that can't run over their line."""
    rest = {name: item for name, item in value.items() if name not in {"op", "text"}}
    facts = " ".join(
        one_line(" ".join(item) if isinstance(item, list) else str(item), 200) for item in rest.values()
    )
    said = f": {one_line(value['text'], LINE)}" if "text" in value else ""
    return f"{one_line(str(value['op']), 20)} {facts}{said}"


def _proposals(found: Listed) -> str:
    return "\n".join(map(proposal_lines, found)) or "nothing waits"


def rejected_line(one: Proposal) -> str:
    """What `review reject` did."""
    return f"rejected: {one_line(one.id, 128)}, {count(len(one.operations), 'operation')}"


WRITE: Mapping[str, Callable[[Any], str]] = {
    "feedback": judged_line,
    "playbook show": shown_text,
    **dict.fromkeys([f"playbook {name}" for name in ("add", "edit", "merge", "delete")], outcome_line),
    "playbook apply": applied_lines,
    "playbook evict": eviction_lines,
    "playbook config": config_lines,
    "playbook review list": _proposals,
    "playbook review accept": applied_lines,
    "playbook review reject": rejected_line,
}
