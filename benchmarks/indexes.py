"""The indexes of a bank of a question set, made as the product makes them, without store and signatures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import sets

from muniment.ranking import named_times
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.dates import Span
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights, WordIndex
from muniment.recall.speakers import speaker_in
from muniment.recall.vector_corpus import ListVectors
from muniment.recall.vectors import VectorIndex

NOW = int(time.time() * 1000)  # when all questions are asked
Array = np.ndarray[Any, Any]


def corpus(bank: sets.Bank) -> ListCorpus:
    """Its rows, with who said them and when: in conversations only, as a record's session tells."""
    made = ListCorpus()
    for text, session, said in zip(bank.texts, bank.sessions, bank.times, strict=True):
        speaker = speaker_in(text) if session else ""
        made.add(
            text, session=session, place=NOW if said is None else said, speakers=(speaker,) if speaker else ()
        )
    return made


def words(
    bank: sets.Bank,
    folder: Path,
    analyzer: Analyzer | None = None,
    context: ContextWeights | None = None,
    favours: FavourWeights | None = None,
) -> WordIndex:
    """Its word index; the usual settings, where none are given."""
    made = WordIndex(
        folder,
        corpus(bank),
        analyzer or Analyzer(),
        context=context or ContextWeights(),
        favours=favours or FavourWeights(),
    )
    made.refresh()
    return made


def meaning(rows: Array, folder: Path) -> VectorIndex:
    """The index of its vectors."""
    vectors = ListVectors(rows.shape[1])
    for row in rows:
        vectors.add(row)
    made = VectorIndex(folder, vectors, rows.shape[1])
    made.refresh()
    return made


def times(question: str) -> Sequence[Span]:
    """The times that a question names, as recall takes them."""
    return named_times(question, NOW)
