"""Shared banks, requests, rounds and peers: as lines of text, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.access import Answered, RequestInfo
from muniment.bank_sharing import PeerInfo, Shared, SyncedAll, Unshared
from muniment.commands.results import Listed
from muniment.joining import Imported
from muniment.rounds import Synced
from muniment.surfaces.cli.plain_banks import columns
from muniment.surfaces.cli.words import number, one_line, utc

if TYPE_CHECKING:
    from rich.console import RenderableType


def _shared(result: Shared) -> str:
    lines = [
        result.ticket,
        f"{one_line(result.name)} is shared; the ticket leads to {', '.join(result.addresses)}",
    ]
    if result.invite is None:
        lines.append("it opens nothing by itself: members sync by it, others ask by it")
    else:
        until = "" if result.until_ms is None else f" until {utc(result.until_ms)}"
        lines.append(f"whoever brings it gets {result.level}{until}; it is shown this once")
    return "\n".join(lines)


def _unshared(result: Unshared) -> str:
    name = one_line(result.name)
    return f"{name} is served no more" if result.was else f"{name} was not shared"


def _imported(result: Imported) -> str:
    name = one_line(result.name or result.bank)
    if result.state == "here":
        return f"{name} is here: {result.level}, {number(result.entries)} entries came"
    if result.state == "asked":
        return (
            f"asked for {result.level}; {result.detail}\n"
            f"an admin there has to approve {result.did}\n"
            "it completes by itself while `muniment serve` runs, or at the next `muniment sync`"
        )
    return f"nobody could be reached: {one_line(result.detail, 200)}\nit is tried again at the next sync"


def request_line(one: RequestInfo) -> str:
    """Who asks: the fingerprint first, the stranger's own words last and marked as such."""
    state = "" if one.state == "waiting" else f"  [{one.state}]"
    said = f'  (says: "{one_line(one.note, 80)}")' if one.note else ""
    return f"{one.id}  {one.fingerprint}  asks for {one.level} in {one_line(one.bank_name, 40)}{state}{said}"


def _requests(requests: Listed) -> str:
    if not requests:
        return "nobody asks"
    lines = [line for one in requests for line in (request_line(one), f"    {one.did}")]
    return "\n".join([*lines, "compare the fingerprint with the key's owner; what it says is not verified"])


def _answered(result: Answered) -> str:
    one = result.request
    if result.done == "denied":
        return f"denied: {one.did}"
    return f"approved: {one.did} gets {result.level} in {one_line(one.bank_name)}"


def _round(one: Synced) -> str:
    if one.error is not None:
        return f"{one_line(one.name)}  {one.address}  failed: {one_line(one.error, 200)}"
    state = "in sync" if one.done else f"not all: {number(one.missing)} missing"
    lines = [
        f"{one_line(one.name)}  {one.address}  {state}, {number(one.received)} came, {number(one.sent)} went"
    ]
    lines += [f"  rolled back there, and filled up: {did}" for did in one.rolled_back]
    lines += [f"  two ways: {did}" for did in one.forked]
    return "\n".join(lines)


def _synced(result: SyncedAll) -> str:
    return "\n".join(map(_round, result.rounds))


def _ago(ms: int | None) -> str:
    return "never" if ms is None else utc(ms)


def _peer_cells(one: PeerInfo) -> tuple[str, ...]:
    state = one.state if not one.lag else f"{one.state}, {number(one.lag)} to send"
    return (one_line(one.name, 40), one.address, state, f"synced {_ago(one.succeeded_ms)}",
            f"members agreed {_ago(one.agreed_ms)}", one_line(one.error or "", 120))  # fmt: skip


def _peers(peers: Listed) -> str:
    return columns(map(_peer_cells, peers)) if peers else "no other peers are known"


def _peer(one: PeerInfo) -> str:
    return f"{one_line(one.name)}  {one.address}"


def _draw_peers(peers: Listed) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    if not peers:
        return Text("No other peers are known.", "dim")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for header in ("bank", "address", "state", "synced", "members agreed", "to send"):
        table.add_column(header, overflow="fold")
    looks = {"ok": "green", "failing": "red", "behind": "yellow"}
    for one in peers:
        state = Text(one.state, looks.get(one.state, "dim"))
        if one.error:
            state.append(f"\n{one_line(one.error, 120)}", "dim")
        table.add_row(Text(one_line(one.name, 40), "bold cyan"), Text(one.address), state,
                      Text(_ago(one.succeeded_ms)), Text(_ago(one.agreed_ms)), Text(number(one.lag)))  # fmt: skip
    return table


def _draw_shared(result: Shared) -> RenderableType:
    from rich.text import Text

    ticket, *lines = _shared(result).split("\n")
    text = Text.assemble((ticket, "bold yellow"))  # alone on its lines, so that it can be copied whole
    for line in lines:
        text.append(f"\n{line}", "dim")
    return text


WRITE: Mapping[str, Callable[[Any], str]] = {
    "bank share": _shared,
    "bank unshare": _unshared,
    "bank import": _imported,
    "bank requests": _requests,
    "bank approve": _answered,
    "bank deny": _answered,
    "sync": _synced,
    "peers list": _peers,
    "peers add": lambda one: f"added: {_peer(one)}",
    "peers remove": lambda one: f"removed: {_peer(one)}",
}


def _as_text(write: Callable[[Any], str]) -> Callable[[Any], RenderableType]:
    def draw(result: Any) -> RenderableType:
        from rich.text import Text

        return Text(write(result))

    return draw


DRAW: Mapping[str, Callable[[Any], RenderableType]] = {
    **{name: _as_text(write) for name, write in WRITE.items()},
    "bank share": _draw_shared,
    "peers list": _draw_peers,
}
