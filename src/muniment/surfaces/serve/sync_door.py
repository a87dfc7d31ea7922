"""`/sync/1`: rounds of sync over signed requests, and live tails (design section 8; docs/sync.md, "HTTP")."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
import time
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from muniment.base.errors import MunimentError, Overloaded, RefusedSignature, StorageError
from muniment.base.ids import BankId
from muniment.base.limits import LIMITS
from muniment.identity.did import parse_did, to_did
from muniment.identity.http_signatures import Claim, Key, key_of, keyid_of, sign_answer, verify_request
from muniment.identity.http_signatures import Request as Parts
from muniment.keyring.custody import Keyring
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.gate import Scope
from muniment.surfaces.serve.house import House, request_parts
from muniment.surfaces.serve.metrics import Labels
from muniment.surfaces.serve.rates import Rates
from muniment.sync import messages
from muniment.sync.desk import Desk
from muniment.sync.http import MEDIA_TYPE, PATH, origin_of, public_origins
from muniment.sync.messages import Failure
from muniment.sync.serving import STRANGER_BYTES, ServerRound
from muniment.sync.tails import MEDIA_TYPE as TAIL_TYPE
from muniment.sync.tails import write_frame

Make = Callable[[bytes], ServerRound]
Stamp = Callable[[BankId], Hashable]
"""Something that is another one after each write to a bank, and costs next to nothing to ask for."""

_LOOK_S = 0.015  # between two looks at a bank that is followed
_SURE_S = 1.0  # after so long it is looked at in any case
_ALIVE_S = 5.0  # between two signs of life
_TAILS = 48  # at once, of one process
_LARGE_BYTES = 64 * 1024 * 1024  # of large questions that are being read, all together
_SEEN = 65_536  # nonces remembered
_BURST = 8  # how much more an address may ask than one key: several peers may stand behind one
_COST_OF_NOISE = 4  # how many requests one without a good signature counts for


class SyncDoor:
    """Serves rounds.

    Args:
        house: Its threads, rates, clock and log.
        make: Makes a round, given the binding of its channel.
        keyring: Signs answers with the key that a round shows.
        stamp: Tells whether a bank was written to; without it, it is looked at each time.
        begin: Called before the first request, off the event loop.
        end: Called after the last one, likewise.
    """

    name, path, body_limit = "sync", PATH, LIMITS.sync_message_bytes

    def __init__(
        self,
        house: House,
        make: Make,
        keyring: Keyring,
        stamp: Stamp | None = None,
        *,
        begin: Callable[[], None] | None = None,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._house, self._keyring, self._stamp = house, keyring, stamp
        self._desk, self._begin, self._end = Desk(make), begin, end
        self._public = public_origins(house.options.public_urls)
        # Signs for nobody: it keeps an answer together before a member's key may be shown.
        self._nobody = key_of(house.peer.host.entropy.bytes(32))
        rate, burst = house.options.rate * _BURST, house.options.burst * _BURST
        self._addresses, self._lock = Rates(rate, burst), threading.Lock()
        self._seen: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._large = self._tails = 0
        house.metrics.gauge(
            "muniment_sync_rounds", "Rounds of sync under way.", lambda: [((), len(self._desk))]
        )
        house.metrics.gauge("muniment_sync_tails", "Peers that follow a bank.", lambda: [((), self._tails)])

    def routes(self) -> Sequence[BaseRoute]:
        """`POST /sync/1`."""
        return [Route(self.path, self._post, methods=["POST"])]

    async def start(self) -> None:
        """Begin what goes on beside requests."""
        if self._begin is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._begin)

    async def stop(self) -> None:
        """End it. Whoever is in a round begins anew elsewhere."""
        if self._end is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._end)

    async def _post(self, request: Request) -> Response:
        if request.headers.get("content-type") != MEDIA_TYPE:
            return _plain(415, f"send {MEDIA_TYPE}")
        address = (request.client.host if request.client else "").encode()
        keyid = request.headers.get("signature-input", "").partition('keyid="')[2].partition('"')[0][:200]
        size = self._room(request, keyid)
        if size is None:
            return _plain(413, "prove a key first: a stranger's question is short")
        if size > STRANGER_BYTES and self._large + size > _LARGE_BYTES:
            return self._refused(Overloaded("too much is being sent already"), address)
        self._large += size
        try:
            self._addresses.take(address)
            body = await _body(request, size)
        except Overloaded as error:
            return self._refused(error, b"")
        finally:
            self._large -= size
        if body is None:
            return _plain(413, "say the length of a long question")
        parts, headers = request_parts(request.scope, body)
        try:
            call = self._answer
            return await self._house.run(keyid.encode(), lambda: call(parts, headers, request.scope, keyid))
        except MunimentError as error:
            return self._refused(error, address)

    def _room(self, request: Request, keyid: str) -> int | None:
        """How long a question may be that begins like this: short, but for a key that is in a round."""
        told = request.headers.get("content-length", "")
        size = int(told) if told.isdigit() else STRANGER_BYTES
        if size <= STRANGER_BYTES:
            return STRANGER_BYTES
        try:
            known = self._desk.knows(parse_did(keyid))
        except MunimentError:
            return None
        return size if known else None

    def _answer(self, parts: Parts, headers: list[tuple[str, str]], scope: Scope, owner: str) -> Response:
        """Everything that takes time, in one thread: check who asks, then ask the round."""
        house = self._house
        now_ms = house.peer.host.clock.now_ms()
        claim, origin = self._signed(parts, headers, scope, now_ms // 1000)
        house.limit(claim.key)
        self._once(claim, now_ms // 1000)
        scope["muniment.log"] = {"key": to_did(claim.key)}
        answers, held = self._desk.ask(parts.body, origin.encode(), now_ms)
        signature = dict(headers)["signature"]
        key = self._key(held)
        if held is not None and held.other and held.other != claim.key:
            answers, key = [messages.encode(Failure(messages.BAD))], self._nobody
        elif held is not None and held.following and not answers:
            if self._tails >= _TAILS:
                raise Overloaded("too many peers follow already", 30)
            return StreamingResponse(self._tail(held, key, signature, owner), media_type=TAIL_TYPE)
        data = answers[0] if answers else messages.encode(Failure(messages.BAD))
        nonce = urlsafe_b64encode(house.peer.host.entropy.bytes(18)).decode()
        signed = sign_answer(200, MEDIA_TYPE, data, signature, key, created=now_ms // 1000, nonce=nonce)
        return Response(data, 200, {"content-type": MEDIA_TYPE, **signed})

    def _key(self, held: ServerRound | None) -> Key:
        holder = None if held is None else held.holder
        if holder is None:
            return self._nobody
        public = holder.key
        return Key(keyid_of(public), lambda domain, rest: self._keyring.sign(public, domain, rest))

    def _signed(
        self, parts: Parts, headers: list[tuple[str, str]], scope: Scope, now: int
    ) -> tuple[Claim, str]:
        """Whose request it is, and the origin that was dialled: one of those that this server has, as it was signed.

        Behind a proxy the request that was signed had another host and path than the one that arrives.
        """
        asked = parts.authority.lower()
        places = [(parts.authority, parts.path, self._public[asked][0])] if asked in self._public else []
        if not places and self._is_own(asked, scope):
            places = [(parts.authority, parts.path, origin_of(self._house.options.scheme, asked))]
        places += [(authority, path, origin) for authority, (origin, path) in self._public.items()]
        refused = RefusedSignature("bad_signature", "this server has no such address", "See --public-url.")
        for authority, path, origin in places:
            named = Parts(parts.method, authority, path, parts.query, parts.content_type, parts.body)
            try:
                return verify_request(named, headers, now), origin
            except RefusedSignature as error:
                refused = error
                if error.reason != "bad_signature":
                    break
        raise refused

    def _is_own(self, authority: str, scope: Scope) -> bool:
        """Whether the host that was asked for is this server, and not somebody who passes a request on."""
        options = self._house.options
        if options.loopback or authority in options.hosts or authority.rpartition(":")[0] in options.hosts:
            return True
        host = authority.rpartition(":")[0] if not authority.endswith("]") else authority
        host = (host or authority).strip("[]")
        try:
            return ipaddress.ip_address(host) == ipaddress.ip_address(scope["server"][0])
        except (ValueError, TypeError):
            return False

    def _once(self, claim: Claim, now: int) -> None:
        """Refuse a request that was seen before.

        A round has nonces of its own, so a request repeated after this memory was lost opens nothing either.
        """
        name = (claim.keyid, claim.nonce)
        with self._lock:
            while self._seen and (len(self._seen) >= _SEEN or next(iter(self._seen.values())) < now):
                self._seen.popitem(last=False)
            if name in self._seen:
                raise RefusedSignature("replayed", "this nonce was used before", "Sign the request anew.")
            self._seen[name] = claim.expires + 1

    async def _tail(self, held: ServerRound, key: Key, signature: str, owner: str) -> AsyncIterator[bytes]:
        """Frames with what is new, as it comes, and a sign of life now and then."""
        self._tails += 1
        number, stamp = 0, object()
        said = looked = 0.0
        try:
            while held.following and not self._house.stopping.is_set():
                now = time.monotonic()
                at = self._stamp(held.bank) if self._stamp and held.bank else object()
                told: list[bytes] = []
                if at != stamp or now - looked > _SURE_S:
                    stamp, looked = at, now
                    told = await self._news(held, owner)
                for message in told or ([b""] if not number or now - said > _ALIVE_S else []):
                    yield write_frame(key.sign, signature, number, message)
                    number, said = number + 1, now
                await asyncio.sleep(_LOOK_S)
        finally:
            self._tails -= 1

    async def _news(self, held: ServerRound, owner: str) -> list[bytes]:
        try:
            return await self._house.run(owner.encode(), held.news)
        except (Overloaded, StorageError):
            return []  # it is looked at again

    def _refused(self, error: MunimentError, address: bytes) -> Response:
        """A request that never came to a round."""
        if isinstance(error, RefusedSignature):
            for _ in range(_COST_OF_NOISE - 1 if address else 0):
                try:
                    self._addresses.take(address)
                except Overloaded:
                    break
            return _plain(401, error.message)
        if isinstance(error, Overloaded):
            return _plain(429, error.message, {"retry-after": str(max(1, round(error.retry_after)))})
        return _plain(503, "this peer has trouble of its own", {"retry-after": "5"})


async def _body(request: Request, most: int) -> bytes | None:
    """The body; None where it is longer than it may be."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            return None
    return bytes(body)


def _plain(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return Response(words + "\n", status, headers, media_type="text/plain")


def open_door(house: House) -> Door:
    """The door over the banks that this peer shares, and the background sync beside it."""
    from muniment.bank_sharing import peers
    from muniment.rounds import options_of
    from muniment.sharing import listens, server
    from muniment.syncer import Syncer

    peer, options = house.peer, house.options
    made, syncer = server(peer), Syncer(peer) if options_of(house.peer).background else None

    def begin() -> None:
        wild = not options.loopback and ipaddress.ip_address(options.host).is_unspecified
        listens(peer, "http", options.public_urls or ([] if wild else [options.url(house.port)]))
        if syncer is not None:
            syncer.start()

    def end() -> None:
        if syncer is not None:
            syncer.stop()

    def lags() -> Iterator[tuple[Labels, float]]:
        for one in peers(peer):
            yield (("address", one.address), ("bank", one.name)), one.lag

    def ages() -> Iterator[tuple[Labels, float]]:
        now = peer.host.clock.now_ms()
        for one in peers(peer):
            if one.succeeded_ms is not None:
                yield (("address", one.address), ("bank", one.name)), (now - one.succeeded_ms) / 1000

    house.metrics.gauge("muniment_sync_lag_entries", "Entries here that are not known to be there.", lags)
    house.metrics.gauge("muniment_sync_age_seconds", "Time since the last whole sync.", ages)
    return SyncDoor(house, made.round, peer.host.keyring, made.stamp, begin=begin, end=end)
