"""Recall by meaning through the library: vectors are written, found, shared, missed and made up for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import EmbedderUnavailable, InvalidInput
from muniment.base.ids import parse_version
from muniment.embed.base import Embedder
from muniment.embed.callable import CallableEmbedder
from muniment.ledger.acts import Vector
from muniment.ledger.control import Grant
from muniment.ledger.levels import WRITE, Level
from muniment.peer import Peer
from muniment.project import Projector
from muniment.remembering import Draft
from muniment.testing.embedders import CountingEmbedder, FailingEmbedder, RandomEmbedder
from muniment.writing import Writer

TABLE = {
    "canine": (1.0, 0.0, 0.0, 0.1),
    "dog": (0.9, 0.1, 0.0, 0.1),
    "puppy": (0.9, 0.0, 0.2, 0.1),
    "invoice": (0.0, 1.0, 0.0, 0.1),
    "bill": (0.0, 0.9, 0.1, 0.1),
    "rain": (0.0, 0.0, 1.0, 0.1),
    "umbrella": (0.1, 0.0, 0.9, 0.1),
}
SAID = ["the dog sleeps", "a puppy barked", "an invoice came", "take the umbrella", "nothing of note"]


class Home:
    """Opens one peer folder again and again, with one embedder or another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.peers: list[Peer] = []

    def agent(self, embedder: Embedder | None = None) -> Agent:
        self.close()
        peer = muniment.open(self.folder, embedder=embedder)
        self.peers.append(peer)
        return peer.agent("ava", create=True)

    def close(self) -> None:
        while self.peers:
            self.peers.pop().close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A folder, closed afterwards."""
    made = Home(tmp_path / "home")
    yield made
    made.close()


def by_words(texts: list[str]) -> list[list[float]]:
    """The sum of the words of `TABLE` in each text, and something of everything."""
    sums = []
    for text in texts:
        rows = [TABLE[word] for word in text.split() if word in TABLE]
        sums.append([0.05 + sum(row[i] for row in rows) for i in range(4)])
    return sums


def static(name: str = "static/table") -> CallableEmbedder:
    """An embedder that knows the words of `TABLE`."""
    return CallableEmbedder(name, by_words)


def texts(hits: muniment.Hits) -> list[str]:
    """What was found, the best first."""
    return [hit.record.text for hit in hits]


def test_a_memory_is_found_by_what_it_means(home: Home) -> None:
    """No word in common, and still the answer; the signals say by what."""
    ava = home.agent(static())
    for text in SAID:
        assert ava.remember(text).degraded is None
    hits = ava.recall("canine", limit=2)
    assert (hits.mode, hits.degraded) == ("hybrid", None)
    assert set(texts(hits)) == {"the dog sleeps", "a puppy barked"}
    assert all(hit.signals["cosine"] > 0.9 for hit in hits)
    assert texts(ava.recall("bill", mode="vector", limit=1)) == ["an invoice came"]
    assert texts(ava.recall("canine", mode="text")) == []
    assert ava.check() == []


def test_a_vector_stands_in_the_entry_of_its_memory(home: Home) -> None:
    """One remember is one entry, with the vector as its second act, under the model's name."""
    ava = home.agent(static())
    before = ava.stats().entries
    ava.remember("the dog sleeps")
    assert ava.stats().entries == before + 1
    assert ava._bank.store.models() == {static().name: 1}


def test_writing_again_and_asking_cost_one_embedding(home: Home) -> None:
    """What is there already is not embedded again, and a question is embedded once."""
    counting = CountingEmbedder(static())
    ava = home.agent(counting)
    ava.remember("the dog sleeps", key="pet")
    ava.remember("the dog sleeps", key="pet")
    assert counting.texts == ["pet the dog sleeps"]
    ava.recall("canine")
    assert counting.texts == ["pet the dog sleeps", "canine"]
    ava.recall("canine", mode="text")
    ava.recall("")
    assert counting.calls == 2


def test_an_embedder_that_fails_costs_a_vector_and_nothing_else(home: Home) -> None:
    """The memory is kept and found by words, both answers say why, and reindex makes up for it."""
    ava = home.agent(FailingEmbedder(static(), error=lambda: EmbedderUnavailable("no answer came")))
    made = ava.remember("the dog sleeps")
    assert made.created
    assert made.degraded == "no answer came"
    hits = ava.recall("dog")
    assert texts(hits) == ["the dog sleeps"]
    assert (hits.mode, hits.degraded) == ("text", "no answer came")
    report = ava.reindex()
    assert (report.embedded, report.left, report.reason) == (0, 1, "no answer came")
    ava = home.agent(static())
    assert texts(ava.recall("canine")) == []
    report = ava.reindex()
    assert (report.model, report.embedded, report.left, report.ok) == (static().name, 1, 0, True)
    assert texts(ava.recall("canine")) == ["the dog sleeps"]
    assert ava.reindex().embedded == 0
    assert ava.check() == []


def test_models_live_side_by_side(home: Home) -> None:
    """Another model finds nothing until reindexed; the first one's vectors stay."""
    ava = home.agent(static())
    ava.remember_many([Draft(text) for text in SAID])
    ava = home.agent(static("static/other"))
    assert texts(ava.recall("canine", mode="vector")) == []
    assert ava.reindex().embedded == len(SAID)
    assert len(ava.recall("canine", mode="vector")) >= 2
    ava = home.agent(static())
    assert len(ava.recall("canine", mode="vector")) >= 2
    assert ava.reindex().embedded == 0


def test_what_is_forgotten_or_superseded_is_not_found_by_meaning(home: Home) -> None:
    """Vectors follow the state of their version, and filters hold for them too."""
    ava = home.agent(static())
    ava.remember("the dog sleeps", key="pet", tags=["home"])
    ava.remember("the puppy sleeps", key="pet", tags=["home"])
    ava.remember("a puppy barked")
    assert set(texts(ava.recall("canine", mode="vector"))) == {"the puppy sleeps", "a puppy barked"}
    assert texts(ava.recall("canine", mode="vector", tags=["home"])) == ["the puppy sleeps"]
    assert "the dog sleeps" in texts(ava.recall("canine", mode="vector", states=["live", "superseded"]))
    ava.forget("pet")
    assert texts(ava.recall("canine", mode="vector")) == ["a puppy barked"]
    ava.forget("pet", undo=True)
    assert len(ava.recall("canine", mode="vector")) == 2


def test_a_rebuild_finds_all_vectors_again(home: Home) -> None:
    """They are projected from the entries like everything else."""
    ava = home.agent(static())
    ava.remember_many([Draft(text) for text in SAID])
    home_without = home.agent(FailingEmbedder(static()))
    home_without.remember("a late dog")
    ava = home.agent(static())
    ava.reindex()
    before = texts(ava.recall("canine", mode="vector"))
    assert ava.check(rebuild=True) == []
    assert texts(ava.recall("canine", mode="vector")) == before
    assert len(before) >= 3


def test_a_strangers_vector_moves_nobodys_memory(home: Home) -> None:
    """Of a version only vectors by its author, the agent, the controller or this peer count."""
    ava = home.agent(static())
    made = ava.remember("an invoice came")
    peer = home.peers[0]
    stranger = peer.host.keyring.create(label="stranger")
    bank = ava._bank
    forged = static().documents(["dog"])[0].astype("<f2").tobytes()
    owner = next(iter(bank.authority.controllers))
    now = peer.host.clock.now_ms()
    with bank.write() as authority:
        Writer(bank, owner).commit_control(authority, [Grant(stranger, Level(WRITE))], now)
    with bank.write() as authority:
        Writer(bank, owner).start_epoch(authority, now)
    act = Vector(static().name, 4, forged, version=parse_version(made.version))
    with bank.write() as authority:
        _, seq = Writer(bank, stranger).commit_acts(authority, [act], now)
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])
    # Its key lies in this peer's keyring, so it is trusted here.
    assert ava.recall("canine", mode="vector")[0].score > 0.9
    peer.host.keyring.remove(stranger)
    ava = home.agent(static())
    ava.check(rebuild=True)
    assert ava.recall("canine", mode="vector")[0].score < 0.5
    assert ava.recall("bill", mode="vector")[0].score > 0.9


def test_without_an_embedder_words_are_asked(home: Home) -> None:
    """`hybrid` falls back and says so; `vector` is refused with the next step; the default says nothing."""
    ava = home.agent()
    ava.remember("the dog sleeps")
    hits = ava.recall("dog")
    assert (hits.mode, hits.degraded) == ("text", None)
    hits = ava.recall("dog", mode="hybrid")
    assert (hits.mode, hits.degraded) == ("text", "no embedder is configured")
    with pytest.raises(InvalidInput, match="no embedder") as caught:
        ava.recall("dog", mode="vector")
    assert "config.yaml" in caught.value.next_step
    with pytest.raises(InvalidInput, match="no embedder"):
        ava.reindex()


def test_random_vectors_leave_the_ranking_by_words_alone(home: Home) -> None:
    """An embedder that knows nothing moves no record that the words found."""
    ava = home.agent(RandomEmbedder(dimension=64))
    said = [f"note {number} about {word}" for number in range(40) for word in TABLE]
    ava.remember_many([Draft(text) for text in said])
    for query in ("note about rain 7", "umbrella", "invoice 12"):
        words = texts(ava.recall(query, mode="text"))
        assert texts(ava.recall(query, limit=len(words)))[: len(words)] == words


def test_why_tells_the_cosine(home: Home) -> None:
    """An answer by meaning alone is explained by it."""
    ava = home.agent(static())
    ids = {text: ava.remember(text).id for text in SAID}
    why = ava.why("canine", ids["the dog sleeps"])
    assert why.hit is not None
    assert why.hit.signals["cosine"] > 0.9
    assert why.missed == ("canin",)


def test_check_compares_the_vector_index_with_the_bank(home: Home) -> None:
    """An index that misses a vector is found, and made whole by a rebuild."""
    ava = home.agent(static())
    ava.remember_many([Draft(text) for text in SAID])
    assert ava.check() == []
    index = ava._bank.vectors(static().name, 4)
    index.purge([1])
    (problem,) = ava.check()
    assert (problem.where, problem.next_step) == ("vectors", "Run `muniment check --rebuild`.")
    assert ava.check(rebuild=True) == []


def test_fusion_by_rank_adds_up_ranks(home: Home) -> None:
    """`profile: ancestor` is plain words and cosine, each rank worth 1 / (60 + rank), first in both being 1."""
    ava = home.agent(static())
    home.folder.joinpath("config.yaml").write_text("profile: ancestor\n", "utf-8")
    ava.remember_many(
        [Draft(text) for text in ("the dog sleeps", "a puppy barked", "dogs of war", "an invoice")]
    )
    ava = home.agent(static())
    hits = {hit.record.text: hit for hit in ava.recall("the dog")}
    assert set(hits) == {"the dog sleeps", "a puppy barked", "an invoice"} | ({"dogs of war"} & set(hits))
    ranked = [hit.record.text for hit in ava.recall("the dog", mode="vector")]
    words = [hit.record.text for hit in ava.recall("the dog", mode="text")]
    assert words == ["the dog sleeps"]  # no stems
    for text, hit in hits.items():
        ranks = [side.index(text) + 1 for side in (words, ranked) if text in side]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks) * 61 / 2)
