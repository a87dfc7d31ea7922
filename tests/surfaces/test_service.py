"""The asyncio face: the ancestor's calls, cancellation, back-pressure, and an end without loss."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.base.errors import (
    EmbedderMismatch,
    InvalidInput,
    LimitExceeded,
    StorageError,
    UnknownRecord,
)
from muniment.commands.results import Listed
from muniment.service import MemoryService
from muniment.surfaces.worker import Worker

Body = Callable[[MemoryService], Awaitable[None]]


def serve(home: Path, body: Body, **options: Any) -> None:
    """Run a body with a service over a folder."""

    async def main() -> None:
        async with await MemoryService.open_or_create(home, **options) as service:
            await body(service)

    asyncio.run(main())


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine in a loop of its own."""
    asyncio.run(body())


# The ancestor's face


def test_the_ancestors_calls(tmp_path: Path) -> None:
    """Keep, search, list, count, delete, clear: on one folder, by the ancestor's names."""

    async def body(service: MemoryService) -> None:
        assert await service.search("anything") == []
        made = await service.remember("Prefers dark mode", "Theme", {"project": "chatty"})
        await service.remember("Tea is green", tags=["drink"])
        hit = (await service.search("dark mode"))[0]
        assert (hit.text, hit.title, hit.source, hit.frame_id) == (
            "Prefers dark mode",
            "Theme",
            "memory",
            made.id,
        )
        assert hit.record.metadata == {"project": "chatty"}
        assert hit.record.tags == ("project:chatty",)
        assert hit.to_json() == {
            "text": hit.text,
            "title": "Theme",
            "relevance_score": hit.score,
            "source": "memory",
        }
        assert [one.text for one in await service.list_memories()] == ["Tea is green", "Prefers dark mode"]
        assert [one.text for one in await service.list_memories("tea", 50)] == ["Tea is green"]
        stats = await service.stats()
        assert stats.entry_count == 2
        assert stats.file_size_bytes > 0
        assert await service.delete(made.id) is True
        assert await service.delete(made.id) is False
        assert (await service.stats()).entry_count == 1
        assert (await service.clear()).records == 1
        assert await service.search("tea") == []
        assert (await service.clear(undo=True)).records == 1
        assert service.path() == tmp_path / "data"

    serve(tmp_path / "data", body)


def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    """The folder is the memory."""

    async def keep(service: MemoryService) -> None:
        await service.remember("Tea is green")

    async def look(service: MemoryService) -> None:
        assert (await service.search("tea"))[0].text == "Tea is green"

    serve(tmp_path, keep)
    serve(tmp_path, look)


def test_five_are_found_unless_more_are_asked_for(tmp_path: Path) -> None:
    """The ancestor's default, and limits that are said."""

    async def body(service: MemoryService) -> None:
        for number in range(8):
            await service.remember(f"tea {number}")
        assert len(await service.search("tea")) == 5
        assert len(await service.search("tea", 8)) == 8
        with pytest.raises(InvalidInput):
            await service.search("tea", 0)
        with pytest.raises(LimitExceeded):
            await service.search("tea", 100_000)
        with pytest.raises(UnknownRecord):
            await service.delete("nothing")

    serve(tmp_path, body)


def test_vectors_of_the_hosts_own_making(tmp_path: Path) -> None:
    """Found by nearness within one model; another model's stay where they are."""

    async def body(service: MemoryService) -> None:
        await service.set_vec_model("OpenAI:small")
        await service.remember_with_embedding("north", [1.0, 0.0], title="N", tags={"a": "b"})
        await service.remember_with_embedding("east", [0.0, 1.0])
        await service.remember("nowhere")
        found = await service.search_vec([0.9, 0.1], 5)
        assert [hit.text for hit in found] == ["north", "east"]
        assert (await service.search("north"))[0].text == "north"
        with pytest.raises(EmbedderMismatch):
            await service.remember_with_embedding("odd", [1.0, 2.0, 3.0])
        with pytest.raises(EmbedderMismatch):
            await service.search_vec([0.0, 0.0])
        assert (await service.stats()).entry_count == 3
        await service.set_vec_model("OpenAI:large")
        assert await service.search_vec([1.0, 0.0, 0.0]) == []
        await service.set_vec_model("OpenAI/small")
        assert [hit.text for hit in await service.search_vec([0.0, 1.0], 1)] == ["east"]
        with pytest.raises(InvalidInput):
            await service.set_vec_model("nameless")

    serve(tmp_path, body)


def test_everything_else_by_name(tmp_path: Path) -> None:
    """Commands, the agent's own calls, a turn's context, slash lines."""

    async def body(service: MemoryService) -> None:
        await service.call("remember", text="Kim's workshop is in Bergen", key="kim")
        listed = await service.call("list")
        assert isinstance(listed, Listed)
        assert (await service.run(lambda ava: ava.get("kim"))).key == "kim"
        turn = [{"role": "user", "content": "where is Kim's workshop?"}]
        assert "Bergen" in await service.context(turn, "talk")
        assert (await service.slash("/memory recall kim", "talk")).startswith("- **kim**")
        with pytest.raises(InvalidInput, match="no command"):
            await service.call("lisst")

    serve(tmp_path, body, agent="ava")


def test_tools_by_way_of_the_service(tmp_path: Path) -> None:
    """Definitions, instructions and calls; wrong ones are answered."""

    async def body(service: MemoryService) -> None:
        names = [one["name"] for one in await service.definitions("anthropic", profile="chatty")]
        assert names == ["remember", "search_memory", "save_skill", "read_skill"]
        assert "search_memory" in await service.instructions(profile="chatty")
        assert (await service.use("remember", {"text": "tea", "key": "t"}, session="s")).ok
        assert not (await service.use("recall", "{")).ok
        assert (await service.run(lambda ava: ava.get("t"))).session == "s"

    serve(tmp_path, body)


# Without memory


def test_a_host_goes_on_without_memory(tmp_path: Path) -> None:
    """Where the folder can't be opened there are no tools, and the reason is told."""
    (tmp_path / "peer.db").write_text("somebody's notes " * 100)

    async def body() -> None:
        service = await MemoryService.start(tmp_path)
        assert not service.available
        assert service.reason
        assert await service.definitions() == []
        assert await service.instructions() == ""
        assert await service.context([{"role": "user", "content": "x"}], "s") == ""
        with pytest.raises(InvalidInput, match="there is no memory"):
            await service.remember("x")
        with pytest.raises(InvalidInput):
            service.path()
        await service.close()
        with pytest.raises(StorageError):
            await MemoryService.open_or_create(tmp_path)

    run(body)
    assert not [t for t in threading.enumerate() if t.name == "muniment-memory"]


def test_memory_can_be_switched_off(tmp_path: Path) -> None:
    """`memory_enabled: false` in the settings: no tools, and nothing is made."""
    (tmp_path / "config.yaml").write_text("memory_enabled: false\n")

    async def body() -> None:
        service = await MemoryService.start(tmp_path)
        assert "switched off" in str(service.reason)
        assert await service.definitions() == []

    run(body)
    assert not (tmp_path / "peer.db").exists()


# Cancellation, back-pressure, the end


def test_a_call_that_was_cancelled_before_it_began_is_never_done(tmp_path: Path) -> None:
    """While the thread is busy, what waits can be taken back."""

    async def body(service: MemoryService) -> None:
        gate = threading.Event()
        busy = asyncio.create_task(service.run(lambda _: gate.wait()))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(service.remember("never"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.set()
        await busy
        assert await service.search("never") == []

    serve(tmp_path, body)


def test_a_call_that_has_begun_is_finished(tmp_path: Path) -> None:
    """Who cancels it is not told what came of it; it is whole all the same."""

    async def body(service: MemoryService) -> None:
        begun, gate = threading.Event(), threading.Event()

        def work(agent: muniment.Agent) -> None:
            begun.set()
            gate.wait()
            agent.remember("finished")

        task = asyncio.create_task(service.run(work))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        assert [hit.text for hit in await service.search("finished")] == ["finished"]

    serve(tmp_path, body)


def test_a_full_queue_makes_callers_wait_and_the_loop_does_not(tmp_path: Path) -> None:
    """No more jobs are taken than there is room for; the loop goes on meanwhile; in the end all are done."""

    async def body(service: MemoryService) -> None:
        gate = threading.Event()
        busy = asyncio.create_task(service.run(lambda _: gate.wait()))
        calls = [asyncio.create_task(service.remember(f"note {n}")) for n in range(20)]
        for _ in range(100):
            await asyncio.sleep(0)
        worker = service._worker
        assert worker is not None
        assert worker._jobs.qsize() <= 4
        gate.set()
        await asyncio.gather(busy, *calls)
        assert (await service.stats()).entry_count == 20

    serve(tmp_path, body, capacity=4)


def test_cancelling_all_the_time_neither_fills_the_queue_nor_starves_it(tmp_path: Path) -> None:
    """Calls cancelled at random moments: each is whole or not there, and the next call is served."""

    async def body(service: MemoryService) -> None:
        dice = random.Random(7)
        kept: set[str] = set()

        async def one(number: int) -> None:
            task = asyncio.create_task(service.remember(f"word{number}"))
            await asyncio.sleep(dice.random() * 0.02)
            if dice.random() < 0.6:
                task.cancel()
            try:
                await task
                kept.add(f"word{number}")
            except asyncio.CancelledError:
                pass

        await asyncio.gather(*(one(number) for number in range(200)))
        there = {hit.text for hit in await service.list_memories(limit=1000)}
        assert kept <= there
        assert there <= {f"word{number}" for number in range(200)}
        worker = service._worker
        assert worker is not None
        for _ in range(1000):  # the last place is given back just after the answer
            if worker._room._value == 8:
                break
            await asyncio.sleep(0.005)
        assert worker._room._value == 8
        assert await service.run(lambda agent: agent.check()) == []

    serve(tmp_path, body, capacity=8)


def test_closing_finishes_what_was_taken(tmp_path: Path) -> None:
    """Calls that were under way when it closed are answered, and are on the disk; later ones are refused."""

    async def body() -> None:
        service = await MemoryService.open_or_create(tmp_path, capacity=32)
        calls = [asyncio.create_task(service.remember(f"note {n}")) for n in range(20)]
        await asyncio.sleep(0)
        await service.close()
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert all(not isinstance(one, BaseException) for one in done)
        assert not service.available
        with pytest.raises(InvalidInput, match="closed"):
            await service.remember("late")
        await service.close()
        assert await service.definitions() == []

    run(body)
    with muniment.open(tmp_path) as peer:
        assert peer.choose_agent().stats().records == 20


def test_who_waits_for_room_when_it_closes_is_refused(tmp_path: Path) -> None:
    """Nobody hangs."""

    async def body() -> None:
        service = await MemoryService.open_or_create(tmp_path, capacity=1)
        gate = threading.Event()
        busy = asyncio.create_task(service.run(lambda _: gate.wait()))
        await asyncio.sleep(0.02)
        late = [asyncio.create_task(service.remember(f"late {n}")) for n in range(5)]
        await asyncio.sleep(0.02)
        closing = asyncio.create_task(service.close())
        await asyncio.sleep(0.02)
        gate.set()
        await closing
        await busy
        for one in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(one, InvalidInput)

    run(body)


def test_an_opening_that_was_cancelled_leaves_no_thread(tmp_path: Path) -> None:
    """The thread ends and the files are let go."""

    async def body() -> None:
        task = asyncio.create_task(MemoryService.open_or_create(tmp_path))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(body)
    deadline = time.monotonic() + 10
    while any(t.name == "muniment-memory" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_service_belongs_to_one_loop(tmp_path: Path) -> None:
    """Another loop is refused, not deadlocked."""
    loop = asyncio.new_event_loop()
    try:
        service = loop.run_until_complete(MemoryService.open_or_create(tmp_path))

        async def other() -> None:
            with pytest.raises(InvalidInput, match="another event loop"):
                await service.remember("x")

        run(other)
        loop.run_until_complete(service.close())
    finally:
        loop.close()


def test_an_error_of_a_job_goes_to_who_waits() -> None:
    """And the thread lives on."""

    async def body() -> None:
        worker = Worker("test", 2)

        def broken() -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await worker.run(broken)
        assert await worker.run(lambda: 7) == 7
        await worker.close()
        with pytest.raises(InvalidInput):
            Worker("test", 0)

    run(body)


def test_the_loop_goes_on_while_memory_works(tmp_path: Path) -> None:
    """Between the beginning and the end of a slow call other tasks have their turns."""

    async def body(service: MemoryService) -> None:
        begun, gate = threading.Event(), threading.Event()

        def slow(_agent: muniment.Agent) -> None:
            begun.set()
            gate.wait()

        task = asyncio.create_task(service.run(slow))
        turns = 0
        while not begun.is_set() or turns < 1000:
            turns += 1
            await asyncio.sleep(0)
        assert not task.done()
        gate.set()
        await task

    serve(tmp_path, body)
