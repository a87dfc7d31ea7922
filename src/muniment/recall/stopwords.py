"""Function words that a query can do without (never dropped from records, and never all words of a query)."""

from __future__ import annotations

_ENGLISH = """
a about above after again against all also am an and any are as at be because been before being below between both but
by can could did do does doing done down during each few for from further had has have having he her here hers herself
him himself his how i if in into is it its itself just let me more most my myself no nor not of off on once only or
other our ours ourselves out over own same shall she should so some such than that the their theirs them themselves
then there these they this those through to too under until up us very was we were what when where which while who
whom whose why will with would you your yours yourself yourselves
d ll m re s t ve don didn doesn isn wasn weren wouldn couldn shouldn hasn haven hadn aren won ain
"""
_LISTS = {"english": _ENGLISH}


def stop_words(language: str) -> frozenset[str]:
    """The stop list of a Snowball language name; empty where there is none."""
    return frozenset(_LISTS.get(language, "").split())
