"""`/healthz` and `/metrics`: whether it is alive, and what it did. No words of anybody's memory are in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import MunimentError
from muniment.custody_links import alarms
from muniment.store.base import State
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.house import House
from muniment.surfaces.serve.metrics import CONTENT_TYPE, Labels

_ONE = b"health"  # the thread that reads for them


class _Door:
    """What both have: they need no key, take no body and do nothing at start and stop."""

    body_limit = 0

    def __init__(self, house: House) -> None:
        self._house = house

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""


class HealthDoor(_Door):
    """Whether it is alive."""

    name, path = "health", "/healthz"

    def routes(self) -> Sequence[BaseRoute]:
        """`/healthz`."""
        return [Route(self.path, self._health)]

    async def _health(self, _: Request) -> Response:
        try:
            failing = await self._house.run(_ONE, self._look)
        except MunimentError as error:
            return JSONResponse({"ok": False, "error": error.name}, 503)
        return JSONResponse({"ok": True} | ({"custody_alarms": failing} if failing else {}))

    def _look(self) -> int:
        """Read a row, as whoever asks would; how many receipts do not count."""
        store = self._house.peer.standing_store()
        if store is not None:
            store.meta("owner")
        return alarms(self._house.peer)


class MetricsDoor(_Door):
    """What it did, and how much it holds."""

    name, path = "metrics", "/metrics"

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._records: list[tuple[Labels, float]] = []
        house.metrics.gauge("muniment_records", "Live memories by bank.", lambda: self._records)

    def routes(self) -> Sequence[BaseRoute]:
        """`/metrics`."""
        return [Route(self.path, self._metrics)]

    async def _metrics(self, _: Request) -> Response:
        def read() -> str:
            self._records = list(self._count())
            return self._house.metrics.text(self._house.others())

        return PlainTextResponse(await self._house.run(_ONE, read), media_type=CONTENT_TYPE)

    def _count(self) -> Iterable[tuple[Labels, float]]:
        store = self._house.peer.standing_store()
        for row in [] if store is None else store.banks():
            try:
                counts = self._house.peer.bank(row.bank).store.counts()
            except MunimentError:
                continue  # `doctor` says what is wrong with it
            yield (("bank", row.name),), counts.get(State.LIVE, 0)


def open_health(house: House) -> Door:
    """`/healthz`."""
    return HealthDoor(house)


def open_metrics(house: House) -> Door:
    """`/metrics`."""
    return MetricsDoor(house)
