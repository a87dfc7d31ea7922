"""A server in a thread of this process: for programs that serve beside other work, and for tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.surfaces.serve.options import Options
from muniment.surfaces.serve.run import ServingProcess, listen

if TYPE_CHECKING:
    from muniment.peer import Peer


@contextmanager
def background(open_peer: Callable[[], Peer], options: Options | None = None) -> Iterator[str]:
    """Serve until the block is left; gives the address. Running requests are finished then.

    Args:
        open_peer: Opens a peer of the server's own; it is closed with it.
        options: How; by default a free port of loopback, without a log.

    Raises:
        MunimentError: It can't be started.
    """
    chosen = options or replace(Options(), port=0, log=False)
    listener = listen(chosen)
    url = chosen.url(listener.getsockname()[1])
    up = threading.Event()
    failed: list[BaseException] = []

    def ready(_url: str, _paths: Sequence[str]) -> None:
        up.set()

    process = ServingProcess(open_peer, chosen, listener, ready=ready)

    def work() -> None:
        try:
            asyncio.run(process.run())
        except BaseException as error:  # noqa: BLE001 - told in the thread that asked
            failed.append(error)
        finally:
            up.set()

    thread = threading.Thread(target=work, name="muniment-serve", daemon=True)
    thread.start()
    try:
        up.wait()
        if failed:
            raise failed[0]
        yield url
    finally:
        process.stop()
        thread.join()
        listener.close()
    if failed:
        raise failed[0]
