"""Uses of the public names, written as a caller would; checked by mypy, never run."""

import muniment


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


def errors(error: muniment.MunimentError) -> tuple[int, str, str, str]:
    """What a surface needs of an error."""
    return error.exit_code, error.name, error.message, error.next_step
