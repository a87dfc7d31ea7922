"""`default_memory_banks`: banks that an agent of this peer gets by the settings, once (design section 6).

A missing bank is made by the owner. Grant and ref are written the first time and noted; what was revoked or
detached since is not done again by itself, and a restart writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.base.errors import MunimentError
from muniment.base.ids import BankId, cid_text, parse_cid
from muniment.store.peer import BankRow

if TYPE_CHECKING:
    from muniment.config import DefaultBank
    from muniment.peer import Peer
    from muniment.session import Session

_MADE, _GIVEN, _ATTACHED = "default bank", "default given", "default attached"


def wanted(peer: Peer, agent: str) -> list[DefaultBank]:
    """The banks that the settings name for an agent."""
    name = agent.casefold()
    return [one for one in peer.default_memory_banks if one.agent is None or one.agent.casefold() == name]


def apply(peer: Peer, agent: str, *, strict: bool = False) -> list[BankRow]:
    """Make, grant and note what the settings name for an agent and was never given; the banks that are there.

    Args:
        peer: The peer.
        agent: The agent's name.
        strict: Say what can't be made or granted. Else the agent goes on without it, and it is tried again.

    Raises:
        UnknownAgent: No agent goes by that name.
        MunimentError: A bank can't be made or granted, and `strict` is set.
    """
    found = []
    for one in wanted(peer, agent):
        try:
            bank = _bank(peer, one.name)
            _give(peer, agent, bank, one)
        except MunimentError:
            if strict:
                raise
            continue
        row = peer.made_store().bank(bank)
        if row is not None and row.listed:
            found.append(row)
    return found


def _bank(peer: Peer, name: str) -> BankId:
    """The bank that goes by the name; made by the owner where there never was one."""
    store = peer.made_store()
    mark = f"{_MADE} {name.casefold()}"
    known = store.meta(mark)
    if known is None:
        rows = [row for row in store.banks() if row.name.casefold() == name.casefold()]
        made = cid_text(rows[0].bank) if len(rows) == 1 else None
        known = made or peer.banks.new(name, description=f"Made because the settings name {name}.").id
        store.set_meta(mark, known)
    return BankId(parse_cid(known))


def _give(peer: Peer, agent: str, bank: BankId, one: DefaultBank) -> None:
    row, store = peer.agent_row(agent), peer.made_store()
    mark = f"{_GIVEN} {cid_text(row.bank)} {cid_text(bank)}"  # by its bank: its key may change
    if store.meta(mark) is not None:
        return
    held = peer.bank(bank).authority.why(row.key)  # also what was taken back: it is somebody's word
    if not held and row.bank != bank:
        peer.banks.grant(cid_text(bank), row.name, one.level)
    store.set_meta(mark, 1)


def attach(peer: Peer, agent: str, session: Session) -> None:
    """Attach to a session what the settings name and was never attached to it before."""
    store, own = peer.made_store(), peer.agent_row(agent).bank
    for row in apply(peer, agent):
        name = session.name.encode("utf-8", "surrogatepass").hex()
        mark = f"{_ATTACHED} {cid_text(own)} {name} {cid_text(row.bank)}"
        if store.meta(mark) is None and row.bank != own:
            session.attach(cid_text(row.bank))
            store.set_meta(mark, 1)


def reload(peer: Peer) -> None:
    """Give and attach what the settings name by now to every agent and to each of its sessions.

    Raises:
        MunimentError: What went wrong first; the other agents are served all the same.
    """
    fault: MunimentError | None = None
    store = peer.standing_store()
    for row in [] if store is None else store.agents():
        agent = peer.agent(row.name)
        try:
            apply(peer, row.name, strict=True)
            for name in peer.made_store().sessions(row.key):
                agent.session(name)
        except MunimentError as error:
            fault = fault or error
    if fault is not None:
        raise fault
