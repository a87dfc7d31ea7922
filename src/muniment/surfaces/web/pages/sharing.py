"""Banks beyond this installation: tickets given out and taken in, invites, and who asks to be let in."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.base.errors import InvalidInput
from muniment.identity.did import fingerprint, parse_did
from muniment.surfaces.web.pages.banks import all_banks, one_bank
from muniment.surfaces.web.qr import qr_svg
from muniment.surfaces.web.visit import Visit


def share(visit: Visit) -> Response:
    """Serve a bank, and show the ticket that leads to it, this once where an invite is in it."""
    level = visit.said("level") or None
    terms: dict[str, Any] = {}
    if level:
        terms = {"invite": level, "uses": _number(visit.said("uses")), "until": visit.said("until") or None}
    made = visit.ask("bank share", bank=visit.said("bank"), address=visit.said("address").split(), **terms)
    return one_bank(visit, made=made, qr=qr_svg(made.ticket))


def unshare(visit: Visit) -> Response:
    """Serve it no more."""
    visit.ask("bank unshare", bank=visit.said("bank"))
    return visit.go("bank", bank=visit.said("bank"))


def withdraw(visit: Visit) -> Response:
    """Answer an invite no more."""
    visit.ask("bank invite revoke", bank=visit.said("bank"), invite=visit.said("invite"))
    return visit.go("bank", bank=visit.said("bank"))


def bring(visit: Visit) -> Response:
    """Import a bank by its ticket; where that has to wait, say for what, and show the key that asks."""
    found = visit.ask("bank import", ticket=visit.said("ticket").strip(), level=visit.said("level"),
                      note=visit.said("note").strip())  # fmt: skip
    if found.state == "here":
        return visit.go("bank", bank=found.bank)
    return all_banks(visit, imported=found, mark=fingerprint(parse_did(found.did)))


def decide(visit: Visit) -> Response:
    """Approve or deny a request."""
    chosen, request = visit.said("do"), visit.said("request")
    if chosen == "approve":
        visit.ask("bank approve", request=request, level=visit.said("level") or None,
                  until=visit.said("until") or None, delegable=bool(visit.said("delegable")))  # fmt: skip
    elif chosen == "deny":
        visit.ask("bank deny", request=request)
    else:
        raise InvalidInput("there is no such thing to do", "Open the page again.")
    return visit.go("banks")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InvalidInput(f"not a number: {text[:40]!r}", "Write how many the invite lets in.")
    return int(text)


SCREENS = (
    ("POST", "/a/{agent}/bank/share", share),
    ("POST", "/a/{agent}/bank/unshare", unshare),
    ("POST", "/a/{agent}/bank/withdraw", withdraw),
    ("POST", "/a/{agent}/bank/import", bring),
    ("POST", "/a/{agent}/requests", decide),
)
