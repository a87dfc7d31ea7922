"""Uses of the public names, written as a caller would; checked by mypy, never run."""

import muniment
from muniment.embed.base import Embedder
from muniment.embed.callable import CallableEmbedder
from muniment.embed.factory import open_embedder
from muniment.embed.local import LocalEmbedder
from muniment.embed.online import OnlineEmbedder
from muniment.embed.openai import ServerEmbedder
from muniment.embed.options import options
from muniment.embed.rerank import CallableReranker, Reranker
from muniment.service import MemoryHit, MemoryService
from muniment.testing.embedders import (
    CountingEmbedder,
    FailingEmbedder,
    RandomEmbedder,
    SlowEmbedder,
    StaticEmbedder,
)


def remember_and_recall(home: str) -> list[str]:
    """Every call gives back what its type says."""
    peer: muniment.Peer = muniment.open(home)
    agent: muniment.Agent = peer.agent("ava", create=True)
    kept: muniment.Remembered = agent.remember(
        "Kim's workshop is in Bergen", key="kim", title="Kim", tags=["people"], metadata={"year": 2026}
    )
    created: bool = kept.created
    hits: list[muniment.Hit] = list(agent.recall("where is Kim's workshop?", limit=3, tags=["people"]))
    texts = [hit.snippet for hit in hits if hit.score > 0 and created]
    record: muniment.Record = agent.get(kept.id)
    older: list[muniment.Record] = list(agent.history(record.key or record.id))
    agent.forget(kept.id)
    return [*texts, *(version.text for version in older)]


def unasked(agent: muniment.Agent) -> str:
    """A conversation takes messages as chat APIs give them, and gives text."""
    session: muniment.Session = agent.session("talk")
    session.attach(session.attached()[0].id)
    messages = [{"role": "user", "content": "where is Kim's workshop?"}]
    reasons: list[str] = [hit.reason for store in session.recall_for(messages).stores for hit in store.hits]
    entries: int = agent.configure_auto_recall(max_entries=5).max_entries
    return session.context(messages, budget_tokens=500, budget_ms=50) + "".join(reasons[:entries])


def second_look(home: str) -> list[float]:
    """A reranker is given by the program, and asked for or not by each recall; a floor may leave nothing."""
    mine: Reranker = CallableReranker("mine", lambda query, texts: [float(len(text)) for text in texts])
    with muniment.open(home, reranker=mine) as peer:
        hits: muniment.Hits = peer.agent("ava").recall("boats", rerank=True, floor=True)
        block: str = peer.agent("ava").session("talk").preview([{"role": "user", "content": "boats"}]).block
        return [hit.signals["rerank"] for hit in hits if block]


def errors(error: muniment.MunimentError) -> tuple[int, str, str, str]:
    """What a surface needs of an error."""
    return error.exit_code, error.name, error.message, error.next_step


def embedders(peer: muniment.Peer) -> list[Embedder]:
    """Every embedder is one to the type checker, the fakes too; keys come from the peer."""
    chosen = options({"backend": "openai", "model": "m"})
    made: Embedder = open_embedder({"backend": "local"}, peer.credentials.get)
    fake = RandomEmbedder(8)
    return [
        made,
        ServerEmbedder(chosen, lambda: peer.credentials.get("openai")),
        LocalEmbedder(chosen),
        OnlineEmbedder(chosen),
        CallableEmbedder("mine/m", lambda texts: [[1.0] for _ in texts]),
        *(
            fake,
            StaticEmbedder({"a": [1.0]}),
            SlowEmbedder(fake, 1.0),
            FailingEmbedder(fake),
            CountingEmbedder(fake),
        ),
    ]


def tools_and_chat(agent: muniment.Agent) -> str:
    """Tools answer in words; a chat too."""
    kit = muniment.tools("chaz").bind(agent, agent.session("talk"))
    defined: list[dict[str, object]] = kit.definitions("anthropic")
    text: str = kit.call("recall", {"query": "tea"})
    ok: bool = kit.answer("recall", "{}").ok
    slash: muniment.Slash = muniment.Slash(agent.session("talk"), files=True)
    names: tuple[str, ...] | None = agent.allow_tools(["recall"])
    return text + slash("/memory list") if ok and defined and names else agent.reachable_bank("notes").bank_id


async def service(home: str) -> list[MemoryHit]:
    """The asyncio face."""
    async with await MemoryService.open_or_create(home, agent="ava") as memory:
        made: muniment.Remembered = await memory.remember("tea", tags={"a": "b"})
        record: muniment.Record = await memory.run(lambda agent: agent.get(made.id))
        return await memory.search(record.text, 3)
