"""Banks: who may do what, grants and what takes them back. How they reach other installations: `sharing`."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.ids import BankId, parse_cid
from muniment.surfaces.web.visit import Visit

LEVELS = ("read", "write", "admin", "relay")


def all_banks(visit: Visit, **more: Any) -> Response:
    """All banks, and who asks to be let in."""
    return visit.page(
        "banks.html", banks=visit.ask("bank list"), requests=visit.ask("bank requests"), levels=LEVELS[:3],
        **({"imported": None, "mark": None} | more),
    )  # fmt: skip


def show(visit: Visit) -> Response:
    """All banks."""
    return all_banks(visit)


def new(visit: Visit) -> Response:
    """Make a bank."""
    made = visit.ask(
        "bank new", name=visit.said("name").strip(), description=visit.said("description").strip()
    )
    return visit.go("bank", bank=made.id)


def show_one(visit: Visit) -> Response:
    """One bank."""
    return one_bank(visit)


def one_bank(visit: Visit, **more: Any) -> Response:
    """One bank, after something was done with it too."""
    bank = visit.ask("bank describe", bank=visit.said("bank") or visit.bank or visit.acting.bank_id)
    others = visit.house.peer.made_store().others
    # What the key that asks may not see is left out, and the page says so.
    members, invites = _or_none(visit, "bank members", bank.id), _or_none(visit, "bank invite list", bank.id)
    return visit.page(
        "bank.html", bank=bank, members=members, invites=invites, levels=LEVELS,
        shared=others.shared(BankId(parse_cid(bank.id))), address=visit.house.options.url(visit.house.port),
        **({"made": None, "qr": None, "cut": None} | more),
    )  # fmt: skip


def _or_none(visit: Visit, command: str, bank: str) -> Any:
    try:
        return visit.ask(command, bank=bank)
    except MunimentError:
        return None


def grant(visit: Visit) -> Response:
    """Let somebody in."""
    bank = visit.said("bank")
    visit.ask("bank grant", bank=bank, who=visit.said("who").strip(), level=visit.said("level"),
              until=visit.said("until") or None)  # fmt: skip
    return visit.go("bank", bank=bank)


def revoke(visit: Visit) -> Response:
    """Take it back, and say whom the key had let in."""
    decision = visit.ask("bank revoke", bank=visit.said("bank"), who=visit.said("who"),
                         cascade=bool(visit.said("cascade")))  # fmt: skip
    return one_bank(visit, cut=decision) if decision.let_in else visit.go("bank", bank=visit.said("bank"))


def put_away(visit: Visit) -> Response:
    """Delete a bank here, once its name was typed."""
    bank, word = visit.said("bank"), visit.said("word").strip()
    if word != visit.ask("bank describe", bank=bank).name:
        raise InvalidInput("the bank was not put away", "Type its name as it stands above.")
    visit.ask("bank delete", bank=bank)
    visit.query = type(visit.query)()
    return visit.go("banks")


SCREENS = (
    ("GET", "/a/{agent}/banks", show),
    ("POST", "/a/{agent}/banks", new),
    ("GET", "/a/{agent}/bank", show_one),
    ("POST", "/a/{agent}/bank/grant", grant),
    ("POST", "/a/{agent}/bank/revoke", revoke),
    ("POST", "/a/{agent}/bank/delete", put_away),
)
