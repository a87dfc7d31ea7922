"""Whether a question names a record: its title, its key or an alias stands in the question whole, as a phrase.

Pure: words are compared by their stems and in their order. A name of function words alone ("it", "the other") names
nothing, in any language that has a list of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.recall.analyzer import Analyzer
from muniment.recall.stopwords import stop_words


class Named:
    """A question, read once, and asked of each record.

    Args:
        question: Its text.
        analyzer: Of the bank's index.
    """

    def __init__(self, question: str, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._stops = stop_words(analyzer.language)
        self._asked = self._stems(question)

    def by(self, names: Iterable[str]) -> bool:
        """Whether the question holds one of these names whole."""
        return any(self._holds(name) for name in names)

    def _holds(self, name: str) -> bool:
        tokens = self._analyzer.tokens(name)
        if all(token.casefold() in self._stops for token in tokens):
            return False
        wanted, asked = self._stems(name), self._asked
        return any(asked[at : at + len(wanted)] == wanted for at in range(len(asked) - len(wanted) + 1))

    def _stems(self, text: str) -> list[bytes]:
        """The words of a text; single letters and digits as they are, since no index term is one."""
        found = ((token, self._analyzer.forms(token)) for token in self._analyzer.tokens(text))
        return [forms[0][0] if forms else token.casefold().encode() for token, forms in found]
