"""The store for LangGraph: the same answers as its own store, durable, and beside the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import muniment
from muniment.agent import Agent
from muniment.base.errors import InvalidInput, LimitExceeded, MissingExtra

pytest.importorskip("langgraph", reason="needs the extra langgraph")

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from muniment.surfaces.adapters.langgraph import MunimentStore


@pytest.fixture
def ava(tmp_path: Path) -> Iterator[Agent]:
    """An agent with an empty memory."""
    with muniment.open(tmp_path / "home") as peer:
        yield peer.agent("ava", create=True)


def seen(result: Any) -> Any:
    """A result without its times and its order."""
    if isinstance(result, list):
        return sorted((seen(one) for one in result), key=repr)
    if result is None or isinstance(result, tuple):
        return result
    return (result.namespace, result.key, result.value)


LABELS = st.sampled_from(["a", "b", "users", "ünï", "a b", "x/y", "1"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "k2", ".", "..", "a..b", "", "ключ", "with space"])
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
VALUES = st.dictionaries(
    st.sampled_from(["text", "content", "n", "tags", "meta"]) | st.text(max_size=4), JSON, max_size=4
)
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["n", "text", "meta"]),
    JSON.filter(lambda value: not isinstance(value, dict))
    | st.fixed_dictionaries({"$ne": st.integers(0, 3)}),
    max_size=2,
)
PATHS = st.lists(LABELS | st.just("*"), max_size=2).map(tuple)
RULES = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS), max_size=2).map(
    tuple
)
PUTS = st.builds(
    PutOp,
    NAMESPACES,
    KEYS,
    st.none() | VALUES,
    st.none() | st.just(False) | st.just(["text", "n"]),
    st.none(),
)
GETS = st.builds(GetOp, NAMESPACES, KEYS)
SEARCHES = st.builds(
    SearchOp, st.lists(LABELS, max_size=2).map(tuple), FILTERS, st.just(1000), st.just(0), st.none()
)
OPS = st.lists(PUTS | PUTS | GETS | SEARCHES, max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(OPS, max_size=4), rules=RULES, depth=st.none() | st.integers(1, 3))
def test_it_answers_as_the_frameworks_own_store_does(
    tmp_path_factory: pytest.TempPathFactory, batches: list[Any], rules: Any, depth: int | None
) -> None:
    """Any batches of puts, deletes, gets and searches: the same items, whatever JSON they hold."""
    with muniment.open(tmp_path_factory.mktemp("home")) as peer:
        ours, theirs = MunimentStore(peer.agent("ava", create=True)), InMemoryStore()
        for ops in batches:
            assert [seen(one) for one in ours.batch(ops)] == [seen(one) for one in theirs.batch(ops)]
        everything = theirs.search((), limit=1000)
        assert seen(ours.search((), limit=1000)) == seen(everything)
        # Theirs goes on naming a namespace whose last item was deleted.
        holding = InMemoryStore()
        for item in everything:
            holding.put(item.namespace, item.key, item.value)
        op = ListNamespacesOp(match_conditions=rules, max_depth=depth)
        assert ours.batch([op]) == holding.batch([op])


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_documented_calls_give_documented_answers(ava: Agent, kind: str) -> None:
    """The examples of the interface, at both stores."""
    store: Any = MunimentStore(ava) if kind == "ours" else InMemoryStore()
    store.put(("docs",), "one", {"type": "article", "score": 5, "text": "by cats"})
    store.put(("docs", "old"), "two", {"type": "article", "score": 4.5, "text": "by dogs"})
    store.put(("users", "kim"), "prefs", {"theme": "dark", "deep": {"a": [1, {"b": None}]}})
    assert store.get(("users", "kim"), "prefs").value == {"theme": "dark", "deep": {"a": [1, {"b": None}]}}
    assert store.get(("users", "kim"), "none") is None
    keys = lambda found: sorted(item.key for item in found)  # noqa: E731
    assert keys(store.search(("docs",), filter={"score": {"$gt": 4.6}})) == ["one"]
    assert keys(store.search(("docs",), filter={"score": {"$gte": 4.5, "$lt": 5}})) == ["two"]
    assert keys(store.search(("docs",), filter={"type": "article"})) == ["one", "two"]
    assert keys(store.search(("docs",), filter={"type": {"$eq": "article"}, "score": {"$lte": 4.5}})) == [
        "two"
    ]
    assert keys(store.search((), filter={"deep": {"a": [1, {"b": None}]}})) == ["prefs"]
    assert len(store.search(("docs",), limit=1)) == len(store.search(("docs",), limit=5, offset=1)) == 1
    assert store.list_namespaces() == [("docs",), ("docs", "old"), ("users", "kim")]
    assert store.list_namespaces(prefix=("docs",), max_depth=1) == [("docs",)]
    assert store.list_namespaces(suffix=("kim",)) == [("users", "kim")]
    assert store.list_namespaces(prefix=("*", "old")) == [("docs", "old")]
    assert store.list_namespaces(limit=1, offset=1) == [("docs", "old")]
    store.delete(("docs",), "one")
    store.delete(("docs",), "one")
    assert store.get(("docs",), "one") is None
    for namespace in ((), ("a.b",), ("",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(("docs",), "k", {}, ttl=5)


def test_a_query_is_answered_by_recall(ava: Agent) -> None:
    """What bears on it comes best first with a score, within the namespace; what is not indexed is not found by it."""
    store = MunimentStore(ava)
    store.put(("facts",), "deploy", {"text": "The deploy window is Friday", "by": "kim"})
    store.put(("facts", "food"), "cheese", {"memory": "Will likes brown cheese", "by": "kim"})
    store.put(("facts",), "hidden", {"text": "The deploy key is under the mat"}, index=False)
    store.put(("other",), "deploy", {"text": "another deploy window"})
    found = store.search(("facts",), query="deploy window")
    assert [item.key for item in found] == ["deploy"]
    assert found[0].score
    assert 0 < found[0].score <= 1
    assert [item.key for item in store.search(("facts",), query="brown cheese", filter={"by": "kim"})] == [
        "cheese"
    ]
    assert store.search(("facts",), query="brown cheese", filter={"by": "lee"}) == []
    assert store.search(("facts",), query="deploy", limit=5, offset=1) == []
    assert {item.key for item in store.search(("facts",))} == {"deploy", "cheese", "hidden"}


def test_fields_say_what_is_found_by(ava: Agent) -> None:
    """Those of the store, or of one put; all of the value comes back in any case."""
    store = MunimentStore(ava, fields=["title", "facts[*].said"])
    value = {"title": "Cheese", "facts": [{"said": "brown", "by": "kim"}, {"said": "sweet", "by": "lee"}]}
    store.put(("notes",), "one", value)
    store.put(("notes",), "two", value, index=["facts[0].by"])
    item = store.get(("notes",), "one")
    assert item is not None
    assert item.value == value
    assert ava.get("store:notes..one").text == "Cheese\nbrown\nsweet"
    assert [one.key for one in store.search(("notes",), query="kim")] == ["two"]


def test_items_are_memories_with_a_history(ava: Agent, tmp_path: Path) -> None:
    """A second put is a new version, the same again is none, and another program sees them after a restart."""
    store = MunimentStore(ava)
    for text in ("tea", "tea", "coffee"):
        store.put(("users", "kim"), "drink", {"text": f"Kim drinks {text}"})
    first = store.get(("users", "kim"), "drink")
    assert first is not None
    assert [record.text for record in ava.history("store:users.kim..drink")] == [
        "Kim drinks coffee",
        "Kim drinks tea",
    ]
    assert first.created_at <= first.updated_at
    ava.remember("not an item", key="elsewhere")
    with muniment.open(tmp_path / "home") as peer:
        again = MunimentStore(peer.agent("ava"))
        assert again.get(("users", "kim"), "drink") == first
        assert len(again.search(())) == 1
        again.delete(("users", "kim"), "drink")
    assert store.get(("users", "kim"), "drink") is None


def test_a_batch_is_written_as_a_whole_or_not_at_all(ava: Agent) -> None:
    """One value that can't be kept keeps the others out; reads of the batch are of before it."""
    store = MunimentStore(ava)
    good = PutOp(("a",), "k", {"text": "x"})
    for bad, error in (
        (PutOp(("a",), "t", {"at": time.struct_time(range(9))[0:1], "o": object()}), InvalidInput),
        (PutOp(("a",), "t", {1: "x"}), InvalidInput),  # type: ignore[dict-item]
        (PutOp(("a",), "t", {"x": 1}, None, 5.0), InvalidInput),
        (PutOp(("a.b",), "t", {"x": 1}), InvalidInput),
        (PutOp((), "t", {"x": 1}), InvalidInput),
        (PutOp(("a",), "t" * 600, {"x": 1}), LimitExceeded),
        (PutOp(("a",), "t", {"text": "x" * 3_000_000}), LimitExceeded),
        (SearchOp(("a",), {"x": {"$like": 1}}), None),
    ):
        if error is not None:
            with pytest.raises(error):
                store.batch([good, bad])
    assert store.search(()) == []
    assert store.batch([good, GetOp(("a",), "k")]) == [None, None]
    with pytest.raises(InvalidInput, match="operator"):
        store.search((), filter={"text": {"$like": "x"}})
    with pytest.raises(InvalidInput):
        store.search((), filter={"text": {"$gt": "x"}})


def test_large_and_deep_values_come_back(ava: Agent) -> None:
    """What passes the limits of metadata is kept as text."""
    store = MunimentStore(ava)
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    values = [{"deep": deep}, {"text": "brown cheese", "big": "y" * 200_000}, {"n": 10**40, "nan": "\ud800"}]
    for number, value in enumerate(values):
        store.put(("big",), str(number), value)
    for number, value in enumerate(values):
        item = store.get(("big",), str(number))
        assert item is not None
        assert item.value == value
    assert len(store.search(("big",), query="cheese")) == 1


def test_long_namespaces_are_searched_too(ava: Agent) -> None:
    """Labels beyond the length of a tag."""
    store = MunimentStore(ava)
    place = ("tenant-" + "0" * 60, "user-" + "1" * 60, "thread-" + "2" * 60)
    store.put(place, "k", {"text": "far away"})
    assert [item.namespace for item in store.search(place[:2], query="far")] == [place]
    assert store.search((place[0] + "x",)) == []


def test_it_never_blocks_the_event_loop(ava: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop goes on while the memory is slow; many at once come out right."""
    store, gate = MunimentStore(ava), threading.Event()
    get = ava.get

    def slow(ref: str) -> Any:
        assert gate.wait(30)
        return get(ref)

    async def main() -> None:
        await store.aput(("a",), "k", {"text": "x"})
        monkeypatch.setattr(ava, "get", slow)
        asked = asyncio.create_task(store.aget(("a",), "k"))
        await asyncio.sleep(0.01)
        assert not asked.done()
        gate.set()  # which only a loop that runs can do
        assert (await asked) is not None
        await asyncio.gather(*(store.aput(("many",), str(n), {"n": n}) for n in range(30)))
        assert len(await store.asearch(("many",), limit=100)) == 30
        assert await store.alist_namespaces() == [("a",), ("many",)]
        await store.adelete(("a",), "k")
        assert await store.aget(("a",), "k") is None

    asyncio.run(main())


def test_a_graph_keeps_what_its_nodes_put(ava: Agent) -> None:
    """Compiled into a real graph, across two runs."""
    graphs = pytest.importorskip("langgraph.graph", reason="needs the extra langgraph")
    from langgraph.runtime import Runtime

    class State(TypedDict):
        said: str
        known: list[str]

    def node(state: State, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        known = [item.value["text"] for item in runtime.store.search(("said",), query=state["said"])]
        runtime.store.put(("said",), str(len(state["said"])), {"text": state["said"]})
        return {"known": known}

    builder = graphs.StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(graphs.START, "node")
    graph = builder.compile(store=MunimentStore(ava))
    assert graph.invoke({"said": "I like brown cheese", "known": []})["known"] == []
    assert graph.invoke({"said": "which cheese?", "known": []})["known"] == ["I like brown cheese"]


def test_without_its_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each adapter says what to install."""
    import importlib
    import sys

    for module, package, extra in (
        ("langgraph", "langgraph.store.base", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("anthropic", "anthropic.lib.tools", "anthropic"),
    ):
        name = f"muniment.surfaces.adapters.{module}"
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=extra):
            importlib.import_module(name)
        monkeypatch.delitem(sys.modules, name, raising=False)
