"""Tickets: one spelling, strict reading, no secret where it does not belong."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import InputError, LimitExceeded, MunimentError, RefusedTicket
from muniment.base.ids import BankId, cid_of, cid_text
from muniment.base.limits import LIMITS, MAX_AT_MS, MIN_AT_MS
from muniment.ledger.levels import Level, parse_level
from muniment.sync.ticket import Ticket, check_address, parse_ticket

BANK = BankId(cid_of(b"bank"))
ENDPOINT = "ab" * 32
SEED = bytes(range(32))
PLAIN = f"muniment:?bank={cid_text(BANK)}&peer=https://memory.example:8443/m"
INVITE = base64.urlsafe_b64encode(SEED).rstrip(b"=").decode()

addresses = st.one_of(
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["http", "https"]),
        st.sampled_from(["a.example", "127.0.0.1", "[::1]", "localhost"]),
        st.one_of(st.just(""), st.integers(1, 65535).map(":{}".format)),
        st.sampled_from(["", "/m", "/a/b%20c", "/x&y=z"]),
    ),
    st.sampled_from([f"iroh:{ENDPOINT}", f"iroh:{ENDPOINT}@127.0.0.1:7777,[::1]:8"]),
)
tickets = st.builds(
    lambda peers, invite: Ticket(BANK, tuple(dict.fromkeys(peers)), *invite),
    st.lists(addresses, min_size=1, max_size=4),
    st.one_of(
        st.just((None, None, None)),
        st.tuples(
            st.binary(min_size=32, max_size=32),
            st.one_of(st.none(), st.sampled_from(["relay", "read", "write", "admin(1)"]).map(parse_level)),
            st.one_of(st.none(), st.integers(MIN_AT_MS, MAX_AT_MS)),
        ),
    ),
)


@given(tickets)
def test_what_is_written_is_read_again(ticket: Ticket) -> None:
    """Every ticket reads back as itself, and is spelled the same again."""
    assert parse_ticket(str(ticket)) == ticket
    assert str(parse_ticket(f"  {ticket}\n")) == str(ticket)


@given(st.one_of(st.text(), st.text().map(f"{PLAIN}&".__add__), st.text().map(f"{PLAIN[:20]}".__add__)))
def test_any_text_gives_a_ticket_or_a_named_error(text: str) -> None:
    """No text raises anything but an error of ours."""
    with contextlib.suppress(RefusedTicket, InputError):
        parse_ticket(text)


@given(tickets, st.integers(0, 400))
def test_a_ticket_that_was_cut_is_never_one_for_another_bank(ticket: Ticket, at: int) -> None:
    """A shorter ticket is refused, or leads to the same bank."""
    with contextlib.suppress(MunimentError):
        assert parse_ticket(str(ticket)[:at]).bank == BANK


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a ticket"),
        ("hello", "not a ticket"),
        (PLAIN.replace("muniment:", "Muniment:"), "not a ticket"),
        (PLAIN.replace("muniment:?", "muniment://?"), "not a ticket"),
        ("muniment:?peer=http://a", "no bank"),
        (f"muniment:?bank={cid_text(BANK)}", "no peer"),
        (PLAIN + "&colour=red", "unknown field"),
        (PLAIN + "&", "unknown field"),
        (PLAIN + "&Bank=x", "unknown field"),
        (PLAIN + "&invite", "empty field"),
        (PLAIN + "&invite=", "empty field"),
        (PLAIN + f"&bank={cid_text(BANK)}", "doubled field"),
        (PLAIN + f"&invite={INVITE}&invite={INVITE}", "doubled field"),
        (PLAIN + "&level=read", "no invite"),
        (PLAIN + f"&until={MIN_AT_MS}", "no invite"),
        (PLAIN.replace("bank=b", "bank=B"), "bad bank"),
        (f"muniment:?bank=ö&peer=http://a&invite={INVITE}", "bad bank"),
        (PLAIN + f"&invite={INVITE}=", "bad invite"),
        (PLAIN + f"&invite={INVITE[:-1]}", "bad invite"),
        (PLAIN + "&invite=" + INVITE[:-1] + "9", "bad invite"),
        (PLAIN + f"&invite={INVITE}&level=owner", "bad level"),
        (PLAIN + f"&invite={INVITE}&level=admin", "bad level"),
        (PLAIN + f"&invite={INVITE}&until=12", "bad time"),
        (PLAIN + f"&invite={INVITE}&until=soon", "bad time"),
        (PLAIN + f"&invite={INVITE}&until=0{MIN_AT_MS}", "bad time"),
        (PLAIN + "&peer=%ff", "bad text"),
        (PLAIN + "&peer=ftp://a", "bad address"),
        (PLAIN + "&peer=file:///etc/passwd", "bad address"),
        (PLAIN + "&peer=http://", "bad address"),
        (PLAIN + "&peer=http://me:word@a", "bad address"),
        (PLAIN + "&peer=http://a?x=1", "bad address"),
        (PLAIN + "&peer=http://a%23b", "bad address"),
        (PLAIN + "&peer=http://a:0", "bad address"),
        (PLAIN + "&peer=http://a:99999", "bad address"),
        (PLAIN + "&peer=http://a%0d%0aHost:x", "bad address"),
        (PLAIN + "&peer=http://-a", "bad address"),
        (PLAIN + "&peer=iroh:abc", "bad address"),
        (PLAIN + f"&peer=iroh:{ENDPOINT}@", "bad address"),
        (PLAIN + f"&peer=iroh:{ENDPOINT}@name:1", "bad address"),
        (PLAIN + f"&peer=iroh:{ENDPOINT}@127.0.0.1:0", "bad address"),
    ],
)
def test_each_fault_is_named(text: str, reason: str) -> None:
    """What is wrong is said by its reason, and no secret is repeated."""
    with pytest.raises(RefusedTicket) as caught:
        parse_ticket(text)
    assert caught.value.reason == reason
    assert INVITE not in str(caught.value)


def test_sizes_come_before_parsing() -> None:
    """Too long a text, too many peers and too long an address are refused by their limits."""
    with pytest.raises(LimitExceeded, match="ticket_chars"):
        parse_ticket(PLAIN + "x" * LIMITS.ticket_chars)
    with pytest.raises(LimitExceeded, match="ticket_peers"):
        parse_ticket(PLAIN + "".join(f"&peer=http://h{i}" for i in range(LIMITS.ticket_peers)))
    with pytest.raises(LimitExceeded, match="address_chars"):
        check_address("http://a/" + "x" * LIMITS.address_chars)


def test_the_secret_shows_only_in_the_ticket_itself() -> None:
    """Neither `repr` nor the redacted form holds the secret; the ticket's own text does."""
    ticket = Ticket(BANK, ("http://127.0.0.1:1",), SEED, Level(2), MAX_AT_MS)
    assert INVITE in str(ticket)
    assert INVITE not in ticket.redacted()
    assert INVITE not in repr(ticket)
    assert "bytes" not in repr(ticket)
    assert str(SEED) not in repr(ticket)


def test_one_address_has_one_spelling() -> None:
    """Host names are lower case, slashes at the end are dropped, doubled peers are one."""
    assert check_address("HTTPS://Memory.Example:443/m/") == "https://memory.example:443/m"
    assert parse_ticket(PLAIN + "&peer=https://MEMORY.example:8443/m/").peers == (
        "https://memory.example:8443/m",
    )
