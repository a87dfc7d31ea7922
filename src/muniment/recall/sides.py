"""Words and meaning asked for the same question, and the one ranking that they make (design section 7, "Fusion").

The whole of what recall does with both indexes, so that a benchmark or a test over indexes alone measures the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.recall.dates import Span
from muniment.recall.fusion import Background, Fused, Gate, fuse, in_context
from muniment.recall.lexical import Scored, WordIndex
from muniment.recall.segments import Array
from muniment.recall.vectors import VectorIndex

FEW = 16  # so few records are no background: what stands out cannot be told among them


@dataclass(frozen=True, slots=True)
class Sides:
    """What both indexes say of one question.

    Attributes:
        words: What the words found, the best first.
        near: The rows nearest by meaning, the best first.
        cosines: By row: of all of these that have a vector.
        meant: What stands for the cosines in the ranking: with their neighbours, and with what the question favours.
        background: Cosines of the question with records in general.
    """

    words: list[Scored]
    near: list[int]
    cosines: dict[int, float]
    meant: dict[int, float]
    background: Background

    def fused(self, gate: Gate | None = None) -> list[Fused]:
        """The common ranking, the best first."""
        scores = [(one.ord, one.score) for one in self.words]
        return fuse(scores, self.cosines, self.background, gate, meant=self.meant)


def both_sides(
    index: WordIndex,
    vectors: VectorIndex,
    text: str,
    vector: Array,
    depth: int,
    allow: Array | None = None,
    *,
    past: bool = False,
    context: bool = True,
    spans: Sequence[Span] = (),
) -> Sides:
    """Ask both indexes, which are refreshed already.

    Args:
        index: The words.
        vectors: The meaning.
        text: The question.
        vector: Its vector.
        depth: Rows that each side brings in.
        allow: Boolean by row number: only these.
        past: Versions that are no longer live too.
        context: Whether conversations count.
        spans: The times that the question names.
    """
    words = index.search(text, depth, allow, past=past, context=context, spans=spans).hits
    near = [one.ord for one in vectors.search(vector, depth, allow, past)]
    ords = list(dict.fromkeys([*(one.ord for one in words), *near]))
    around = index.around(ords, context=context)
    wide = ords if around is None else list(dict.fromkeys([*ords, *around.before, *around.after]))
    pairs = zip(wide, vectors.cosines(vector, wide, past=past), strict=True)
    known = {ord: cosine for ord, cosine in pairs if cosine is not None}
    background = vectors.background(vector)
    if background.rows < FEW:
        background = background._replace(mean=0.0, spread=0.0)
    weights = index.weights_of(ords, text, past=past, spans=spans)
    meant = in_context(known, ords, background.mean, around, weights)
    return Sides(words, near, {ord: known[ord] for ord in ords if ord in known}, meant, background)
