"""`/rpc`: signed requests in, JSON-RPC answers out."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import MunimentError, Overloaded, RefusedSignature
from muniment.base.limits import LIMITS
from muniment.identity.did import to_did
from muniment.identity.http_signatures import Request as Parts
from muniment.surfaces.rpc.faults import fault_of, status_of
from muniment.surfaces.rpc.methods import Methods
from muniment.surfaces.rpc.protocol import answer, dump, failure
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.gate import Scope
from muniment.surfaces.serve.house import House, request_parts

JSON = "application/json"
# What a 401 asks for (RFC 9421, 5.1).
ACCEPT = (
    'muniment=("@method" "@authority" "@path" "@query" "content-type" "content-digest")'
    ';created;expires;nonce;keyid;alg="ed25519";tag="muniment"'
)


class RpcDoor:
    """JSON-RPC for agents and their controllers."""

    name, path, body_limit = "rpc", "/rpc", LIMITS.request_bytes

    def __init__(self, house: House) -> None:
        self._house = house

    def routes(self) -> Sequence[BaseRoute]:
        """`POST /rpc`."""
        return [Route(self.path, self._post, methods=["POST"])]

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""

    async def _post(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            return Response(f"send {JSON}\n", 415, media_type="text/plain")
        body = await request.body()
        parts, headers = request_parts(request.scope, body)
        owner = request.headers.get("signature-input", "").partition("keyid=")[2][:128].encode("latin-1")
        try:
            data = await self._house.run(owner, lambda: self._answer(parts, headers, request.scope))
        except MunimentError as error:
            return self._refused(error)
        return Response(status_code=204) if data is None else Response(data, media_type=JSON)

    def _answer(self, parts: Parts, headers: list[tuple[str, str]], scope: Scope) -> bytes | None:
        """Everything that takes time, in one thread: check who asks, then do it."""
        house = self._house
        claim = house.signed(parts, headers)
        scope["muniment.log"] = {"key": to_did(claim.key)}
        methods = Methods(
            house.peer,
            lambda named, writes: house.callers.of(claim.key, named, writes=writes),
            lambda method, result: house.metrics.count(
                "muniment_rpc_calls_total",
                "JSON-RPC calls by method and result.",
                method=method,
                result=result,
            ),
        )
        return answer(parts.body, methods.call)

    def _refused(self, error: MunimentError) -> Response:
        """A request that is refused as a whole: nothing of it was done."""
        status = status_of(error)
        headers = {}
        if isinstance(error, RefusedSignature):
            self._house.metrics.count(
                "muniment_refused_total", "Requests refused for their signature, by rule.", rule=error.reason
            )
            headers["accept-signature"] = ACCEPT
        if isinstance(error, Overloaded):
            headers["retry-after"] = str(max(1, round(error.retry_after)))
        return Response(dump(failure(None, fault_of(error))), status, headers, media_type=JSON)


def open_door(house: House) -> Door:
    """The door."""
    return RpcDoor(house)
