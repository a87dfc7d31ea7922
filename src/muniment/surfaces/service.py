"""The asyncio face: one thread owns the memory, a bounded queue leads to it, and the loop never waits (section 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.worker import Worker

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer
    from muniment.surfaces.given_vectors import GivenVectors
    from muniment.surfaces.tools import Answer, Kit
    from muniment.surfaces.tools.spec import Shape
    from muniment.views import Cleared, Record, Remembered

T = TypeVar("T")
CAPACITY = 32
TOP_K = 5
VECTORS = "host/vectors"  # the model of vectors whose model nobody named


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """One memory that was found.

    Attributes:
        text: All of its words.
        title: Its label, or None.
        score: 0..1, how well it answers; 1.0 where nothing was asked.
        source: `memory`.
        frame_id: Its record id, which `delete` takes. Not for the model.
        record: The record with its provenance.
    """

    text: str
    title: str | None
    score: float
    source: str
    frame_id: str
    record: Record

    def to_json(self) -> dict[str, Any]:
        """As a model is shown it; the score is called `relevance_score`, the id is left out."""
        title = {} if self.title is None else {"title": self.title}
        return {"text": self.text, **title, "relevance_score": self.score, "source": self.source}


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """How many memories are live, and the bytes that they take on the disk."""

    entry_count: int
    file_size_bytes: int


class MemoryService:
    """The memory of one agent, for an event loop. Made by `open_or_create` or `start`.

    A call that is cancelled while it waits is never done; one that is under way is finished all the same. What a call
    has returned is on the disk.

    Attributes:
        reason: Why there is no memory, where `start` found none; None where there is one.
    """

    def __init__(
        self, worker: Worker | None, peer: Peer | None, agent: Agent | None, reason: str | None
    ) -> None:
        self.reason = reason
        self._worker, self._peer, self._agent = worker, peer, agent
        self._kits: dict[tuple[str, str | None], Kit] = {}
        self._model: str | None = None
        self._given: GivenVectors | None = None
        self._second: Peer | None = None  # the same folder, for vectors that the host makes

    # Opening and closing

    @classmethod
    async def open_or_create(
        cls,
        data_dir: str | Path | None = None,
        *,
        agent: str | None = None,
        capacity: int = CAPACITY,
        **options: Any,
    ) -> MemoryService:
        """Open the memory in a folder, or make it.

        Args:
            data_dir: The peer folder; the usual one if not given.
            agent: Whose memory; it is made if there is none. Without a name: as the command line chooses.
            capacity: Calls that may wait or be under way at once; more wait for room.
            options: As for `muniment.open`.

        Raises:
            InvalidInput: `memory_enabled` is false in the settings.
            MunimentError: It can't be opened.
        """
        worker = Worker("muniment-memory", capacity)
        opened: list[Peer] = []

        def work() -> tuple[Peer, Agent]:
            from muniment.peer import open_peer

            opened.append(open_peer(data_dir, **options))
            return opened[0], _chosen(opened[0], agent)

        try:
            peer, chosen = await worker.run(work)
        except BaseException:  # also when nobody waits for it any more
            await worker.close(lambda: _close(opened))
            raise
        return cls(worker, peer, chosen, None)

    @classmethod
    async def start(cls, data_dir: str | Path | None = None, **options: Any) -> MemoryService:
        """The same for hosts that go on without memory: where it can't be opened, there are no tools.

        Look at `available` and `reason`; every call of an unavailable service raises `InvalidInput`.
        """
        try:
            return await cls.open_or_create(data_dir, **options)
        except MunimentError as error:
            return cls(None, None, None, error.message)

    async def __aenter__(self) -> MemoryService:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def available(self) -> bool:
        """Whether there is a memory, and it was not closed."""
        return self._worker is not None and not self._worker.closing

    def path(self) -> Path:
        """The peer folder.

        Raises:
            InvalidInput: There is no memory.
        """
        return self._open_peer().home

    async def close(self) -> None:
        """Finish what was taken, then let go of all files; harmless when done twice."""
        if self._worker is not None:
            await self._worker.close(lambda: _close([self._second, self._peer]))

    # The face of the ancestor

    async def remember(
        self, content: str, title: str | None = None, tags: Mapping[str, str] | Sequence[str] | None = None
    ) -> Remembered:
        """Keep a memory; a tag map becomes metadata and `key:value` tags.

        Raises:
            MunimentError: As for `Agent.remember`.
        """
        return await self._run(lambda: _keep(self._whose(), content, title, tags))

    async def search(self, query: str, top_k: int = TOP_K) -> list[MemoryHit]:
        """The memories that answer best; none of an empty store, without an error."""
        return await self._run(lambda: _hits(self._whose().recall(query, limit=top_k)))

    async def list_memories(self, query: str = "", limit: int = 200) -> list[MemoryHit]:
        """For a browser: the newest, or with a query those that match it."""
        return await self.search(query, limit)

    async def stats(self) -> MemoryStats:
        """Live memories, and bytes on the disk."""
        found = await self._run(lambda: self._whose().stats())
        return MemoryStats(found.records, found.file_bytes)

    async def clear(self, *, undo: bool = False) -> Cleared:
        """Forget all memories of the agent's own bank; `undo` brings back what was cleared last."""
        return await self._run(lambda: self._whose().clear(undo=undo))

    async def delete(self, frame_id: str) -> bool:
        """Forget one memory; False if it was forgotten already. `call("forget", undo=True)` brings it back.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        return bool(await self._run(lambda: self._whose().forget(frame_id)))

    # Vectors that the host makes

    async def set_vec_model(self, model: str) -> None:
        """Name the model of the vectors that are given from now on; those of other models stay where they are.

        Raises:
            InvalidInput: It is no name: `<provider>/<model>` or `<provider>:<model>`.
        """
        await self._run(lambda: self._bind(model))

    async def remember_with_embedding(
        self,
        content: str,
        vector: Sequence[float],
        title: str | None = None,
        tags: Mapping[str, str] | Sequence[str] | None = None,
    ) -> Remembered:
        """Keep a memory with a vector of the host's own making; words that are there already stay as they are.

        Raises:
            EmbedderMismatch: The vector has another dimension than those before, or no direction.
            MunimentError: As for `remember`.
        """

        def work() -> Remembered:
            agent = self._with_vectors(vector)
            return _keep(agent, content, title, tags)

        return await self._run(work)

    async def search_vec(self, vector: Sequence[float], top_k: int = TOP_K) -> list[MemoryHit]:
        """The memories whose vectors of the same model are nearest.

        Raises:
            EmbedderMismatch: As for `remember_with_embedding`.
        """

        def work() -> list[MemoryHit]:
            return _hits(self._with_vectors(vector).recall("vector", mode="vector", limit=top_k))

        return await self._run(work)

    def _bind(self, model: str) -> None:
        from muniment.surfaces.given_vectors import GivenVectors

        given = GivenVectors(model)
        if self._given is not None and self._given.name == given.name:
            return
        if self._second is not None:
            self._second.close()
        self._given, self._second = given, None

    def _with_vectors(self, vector: Sequence[float]) -> Agent:
        """The agent, with an embedder that gives this vector next."""
        from muniment.peer import Peer

        first = self._open_peer()
        if self._given is None:
            meaning = first.host.meaning
            self._bind(VECTORS if meaning is None else meaning.model)
        assert self._given is not None  # noqa: S101 - it was just bound
        self._given.hand(vector)
        if self._second is None:
            self._second = Peer(first.home, first.passphrase, clock=first.host.clock, embedder=self._given)
        return self._second.agent(self._whose().name)

    # Everything else

    async def call(self, command: str, **params: Any) -> Any:
        """Any command by its full name, such as `bank new`; gives what it gives.

        Raises:
            InvalidInput | LimitExceeded: No such command or parameter, or a value that it can't take.
            MunimentError: Whatever the command has to say.
        """

        def work() -> Any:
            from muniment.commands import invoke
            from muniment.surfaces.tools.operations import Seat

            return invoke(command, Seat(self._whose(), here=True), params)

        return await self._run(work)

    async def run(self, work: Callable[[Agent], T]) -> T:
        """Anything that the agent can do, in the thread that owns it: `await service.run(lambda ava: ava.get(id))`."""
        return await self._run(lambda: work(self._whose()))

    async def context(self, messages: Sequence[Mapping[str, Any]], session: str, **budget: Any) -> str:
        """What memory knows of a turn of a conversation; empty where there is no memory.

        Args:
            messages: The conversation, the oldest first.
            session: Its name.
            budget: `budget_tokens` and `budget_ms` of `Session.context`.
        """
        if not self.available:
            return ""
        return await self._run(lambda: self._whose().session(session).context(messages, **budget))

    async def slash(self, line: str, session: str) -> str:
        """The answer to a slash line of a conversation."""

        def work() -> str:
            from muniment.surfaces.slash import Slash

            return Slash(self._whose().session(session))(line)

        return await self._run(work)

    # Tools

    async def definitions(
        self, shape: Shape = "openai", *, profile: str = "muniment"
    ) -> list[dict[str, Any]]:
        """The tools that the agent has; none where there is no memory."""
        if not self.available:
            return []
        return await self._run(lambda: self._kit(profile, None).definitions(shape))

    async def instructions(self, *, profile: str = "muniment") -> str:
        """What the system prompt says of memory and of the agent's skills; empty where there is no memory."""
        if not self.available:
            return ""
        return await self._run(lambda: self._kit(profile, None).instructions())

    async def use(
        self, name: str, arguments: Any = None, *, profile: str = "muniment", session: str | None = None
    ) -> Answer:
        """Answer a model's call; what is wrong with it is said in words."""
        return await self._run(lambda: self._kit(profile, session).answer(name, arguments))

    def _kit(self, profile: str, session: str | None) -> Kit:
        from muniment.surfaces.tools import tools

        if (profile, session) not in self._kits:
            agent = self._whose()
            talk = None if session is None else agent.session(session)
            self._kits = {
                **dict(list(self._kits.items())[-63:]),
                (profile, session): tools(profile).bind(agent, talk),
            }
        return self._kits[profile, session]

    # Inside

    async def _run(self, work: Callable[[], T]) -> T:
        if self._worker is None:
            raise InvalidInput(f"there is no memory: {self.reason}", "Look at `available` first.")
        return await self._worker.run(work)

    def _whose(self) -> Agent:
        if self._agent is None:
            raise InvalidInput(f"there is no memory: {self.reason}", "Look at `available` first.")
        return self._agent

    def _open_peer(self) -> Peer:
        if self._peer is None:
            raise InvalidInput(f"there is no memory: {self.reason}", "Look at `available` first.")
        return self._peer


def _chosen(peer: Peer, agent: str | None) -> Agent:
    if not peer.host.settings.memory_enabled:
        raise InvalidInput(
            "memory is switched off in the settings", "Set `memory_enabled: true` in config.yaml."
        )
    return peer.choose_agent(for_write=True) if agent is None else peer.agent(agent, create=True)


def _close(peers: Sequence[Peer | None]) -> None:
    for peer in peers:
        if peer is not None:
            peer.close()


def _keep(
    agent: Agent, content: str, title: str | None, tags: Mapping[str, str] | Sequence[str] | None
) -> Remembered:
    if isinstance(tags, Mapping):
        labels = [f"{name}:{value}" if value else name for name, value in tags.items()]
        return agent.remember(content, title=title or None, tags=labels, metadata=dict(tags) or None)
    return agent.remember(content, title=title or None, tags=tags or ())


def _hits(found: Sequence[Any]) -> list[MemoryHit]:
    return [
        MemoryHit(hit.record.text, hit.record.title, hit.score, "memory", hit.record.id, hit.record)
        for hit in found
    ]
