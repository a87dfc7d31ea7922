"""Banks: who may do what, grants and what takes them back, invites, and who asks to be let in."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

from starlette.responses import Response

from muniment.bank_views import Invited
from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.ids import BankId, parse_cid
from muniment.commands.table import COMMANDS
from muniment.ledger.levels import parse_level
from muniment.surfaces.web.qr import qr_svg
from muniment.surfaces.web.visit import Visit
from muniment.sync.ticket import Ticket, parse_ticket

LEVELS = ("read", "write", "admin", "relay")
REQUESTS, SHARE = "bank requests", "bank share"


def show(visit: Visit) -> Response:
    """All banks."""
    return visit.page("banks.html", banks=visit.ask("bank list"), requests=_requests(visit))


def new(visit: Visit) -> Response:
    """Make a bank."""
    made = visit.ask(
        "bank new", name=visit.said("name").strip(), description=visit.said("description").strip()
    )
    return visit.go("bank", bank=made.id)


def one(visit: Visit) -> Response:
    """One bank."""
    return _one(visit)


def _one(visit: Visit, **more: Any) -> Response:
    bank = visit.bank or visit.acting.bank_id
    # What the key that asks may not see is left out, and the page says so.
    members, invites = _or_none(visit, "bank members", bank), _or_none(visit, "bank invite list", bank)
    return visit.page(
        "bank.html", bank=visit.ask("bank describe", bank=bank), members=members, invites=invites, levels=LEVELS,
        address=visit.house.options.url(visit.house.port) if SHARE in COMMANDS else None,
        **({"made": None, "cut": None} | more),
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
    return _one(visit, cut=decision) if decision.let_in else visit.go("bank", bank=visit.said("bank"))


def invite(visit: Visit) -> Response:
    """Make a secret that lets its holder ask, and show it this once."""
    bank = visit.said("bank")
    made = visit.ask(
        "bank invite new", bank=bank, level=visit.said("level"), uses=_number(visit.said("uses"))
    )
    text = _ticket(visit, made) if SHARE in COMMANDS else made.secret
    return _one(visit, made={"invite": made.invite, "ticket": text, "qr": qr_svg(text)})


def _ticket(visit: Visit, made: Invited) -> str:
    """The invite with the address at which others reach this installation."""
    invite = made.invite
    seed = urlsafe_b64decode(made.secret + "=" * (-len(made.secret) % 4))
    peer = visit.said("address").strip()
    ticket = str(
        Ticket(BankId(parse_cid(invite.bank)), (peer,), seed, parse_level(invite.level), invite.until_ms)
    )
    parse_ticket(ticket)  # an address that nobody could read is refused here, and not by who gets it
    return ticket


def withdraw(visit: Visit) -> Response:
    """Answer an invite no more."""
    visit.ask("bank invite revoke", bank=visit.said("bank"), invite=visit.said("invite"))
    return visit.go("bank", bank=visit.said("bank"))


def put_away(visit: Visit) -> Response:
    """Delete a bank here, once its name was typed."""
    bank, word = visit.said("bank"), visit.said("word").strip()
    if word != visit.ask("bank describe", bank=bank).name:
        raise InvalidInput("the bank was not put away", "Type its name as it stands above.")
    visit.ask("bank delete", bank=bank)
    visit.query = type(visit.query)()
    return visit.go("banks")


def decide(visit: Visit) -> Response:
    """Approve or deny a request."""
    name = {"approve": "bank approve", "deny": "bank deny"}.get(visit.said("do"), "")
    if name not in COMMANDS:
        raise InvalidInput("there is no such thing to do", "Open the page again.")
    given = [value for value in (visit.said("bank"), visit.said("request")) if value]
    needed = [param.name for param in COMMANDS[name].params if param.positional and param.required]
    visit.ask(name, **dict(zip(needed, given[-len(needed) :], strict=False)))
    return visit.go("banks")


def _requests(visit: Visit) -> list[dict[str, Any]] | None:
    """Who asks to be let in; None where this installation has no such list."""
    if REQUESTS not in COMMANDS:
        return None
    if any(param.required for param in COMMANDS[REQUESTS].params):
        return None
    found = visit.ask(REQUESTS).to_json()
    rows = found if isinstance(found, list) else next((v for v in found.values() if isinstance(v, list)), [])
    return [dict(row) for row in rows]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InvalidInput(f"not a number: {text[:40]!r}", "Write how many may be answered.")
    return int(text)


SCREENS = (
    ("GET", "/a/{agent}/banks", show),
    ("POST", "/a/{agent}/banks", new),
    ("POST", "/a/{agent}/requests", decide),
    ("GET", "/a/{agent}/bank", one),
    ("POST", "/a/{agent}/bank/grant", grant),
    ("POST", "/a/{agent}/bank/revoke", revoke),
    ("POST", "/a/{agent}/bank/invite", invite),
    ("POST", "/a/{agent}/bank/withdraw", withdraw),
    ("POST", "/a/{agent}/bank/delete", put_away),
)
