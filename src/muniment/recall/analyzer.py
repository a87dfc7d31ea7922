"""Text to index terms: what of a record is indexed, and what of a query is looked for.

`standard` (for recall): NFKC; maximal runs of letters and digits, parted at underscores; identifiers also in their
parts (camelCase, letter/digit borders); runs of scripts written without spaces as pairs of characters; pictographs one
by one; case folded, accents folded, Snowball stem, that of the base form where a word is irregular ("went"). The
*surface* (case folded, accents kept) is a second term where it differs from the stem; it adds nothing to the length.
`plain`: lower case, runs of letters and digits of two bytes or more.

Keys of the vocabulary are UTF-8 bytes: `stem`, `stem NUL surface`, so that the surfaces of a stem stand right behind it
in byte order, and none of them can be taken for a stem.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from muniment.base.errors import InvalidInput
from muniment.recall.alphabetic import character_class
from muniment.recall.irregular import irregular_forms
from muniment.recall.speakers import name_key, speaker_keys
from muniment.recall.stopwords import stop_words

Kind = Literal["standard", "plain"]

RULES_VERSION = 2  # raise when the same text would give other terms: indexes are then built anew
TOKEN_CHARS = 96  # longer tokens are kept by a prefix and a hash, so that no key is huge
CACHE_TOKENS = 200_000  # tokens remembered by one analyser; then it starts afresh
SEPARATOR = b"\0"

# Scripts written without spaces: Thai, Lao, Myanmar, Hangul jamo, Khmer, kana, bopomofo, Han, Hangul syllables.
_DENSE = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ec6\u1000-\u103f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Pictographs: arrows and technical signs that carry meaning in chats, symbols, emoji; not the skin tones.
_PICTURES = (
    "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001f0ff\U0001f300-\U0001f3fa"
    "\U0001f400-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"


# Marks inside words that are not alphabetic: diacritics, and the nuktas and viramas of Indic scripts.
_MARKS = (
    "\u0300-\u036f\u093c\u094d\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd"
    "\u0c3c\u0c4d\u0cbc\u0ccd\u0d4d\u0dca"
)


# The large patterns are compiled at the first text that is not ASCII: a cold process seldom needs them.
@cache
def _standard() -> re.Pattern[str]:
    """Runs of letters, digits and marks that are not of a dense script; runs that are; flags and pictographs."""
    letters = f"(?![{_DENSE}])(?:[^\\W_]|[{character_class()}])"
    return re.compile(f"{letters}(?:{letters}|[{_MARKS}])*|[{_DENSE}]+|{_FLAG}|[{_PICTURES}]")


@cache
def _plain() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W_]|[{character_class()}])+")


_STANDARD_ASCII = re.compile(r"[A-Za-z0-9]+")
_PLAIN_ASCII = re.compile(r"[A-Za-z0-9]+")
_DENSE_RUN = re.compile(f"[{_DENSE}]+")
_PICTURE = re.compile(f"{_FLAG}|[{_PICTURES}]")


@dataclass(frozen=True, slots=True)
class Keys:
    """What one token adds to the index.

    Attributes:
        counted: Keys that add to the length: stems of the token and of its parts.
        extra: Keys that do not: surfaces, single characters of dense scripts.
    """

    counted: tuple[bytes, ...]
    extra: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Terms of one record: key -> occurrences, and the number of counted ones."""

    counts: dict[bytes, int]
    length: int


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a query.

    Attributes:
        key: The stem's key.
        surfaces: The exact forms asked for (case folded, accents kept); empty where the analyser has none.
        weight: How often it counts.
        text: The stem as text, for people.
    """

    key: bytes
    surfaces: tuple[bytes, ...]
    weight: int
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of a query; `single` when they all come from one token (its whole form is the first term).

    Attributes:
        terms: Distinct terms in the order of the query.
        single: One token was asked for: whoever holds it exactly comes first.
        needed: Of a single token, the keys of the terms that an exact holder must have.
        names: Keys of the speakers that its words may name.
    """

    terms: tuple[QueryTerm, ...]
    single: bool
    needed: tuple[bytes, ...]
    names: tuple[bytes, ...] = ()


class Analyzer:
    """Turns text into terms by fixed settings.

    Args:
        language: Two-letter code or Snowball name of the stemmer and stop list; "none" for neither.
        kind: "standard" or "plain" (see the module).
        stops: Whether queries are freed of stop words (changes nothing in the index).

    Raises:
        InvalidInput: An unknown language or kind.
    """

    def __init__(self, language: str = "en", kind: Kind = "standard", *, stops: bool = True) -> None:
        if kind not in ("standard", "plain"):
            raise InvalidInput(f"unknown analyzer {kind!r}", "Choose `standard` or `plain`.")
        self.kind: Kind = kind
        self.language = "none" if kind == "plain" else _language(language)
        self._stem_word: Callable[[str], str] | None = None
        self._cache: dict[str, Keys] = {}
        self._stops = stop_words(self.language) if stops else frozenset()
        self._irregular = irregular_forms(self.language)

    @property
    def fingerprint(self) -> str:
        """Names everything that decides about terms; an index made under another one is built anew."""
        versions = f"{RULES_VERSION}/{unicodedata.unidata_version}/{_stemmer_version(self.language)}"
        return f"{self.kind}/{self.language}/{versions}"

    @property
    def surfaces(self) -> bool:
        """Whether exact forms are told apart from stems."""
        return self.kind == "standard"

    def tokens(self, text: str) -> list[str]:
        """The raw tokens of a text in order, case kept (`standard`) or lowered (`plain`)."""
        text = text.lower() if self.kind == "plain" else text if text.isascii() else _nfkc(text)
        return self.pattern(text).findall(text)

    def pattern(self, text: str) -> re.Pattern[str]:
        """What a token is, as a regular expression fit for this text (ASCII has a faster one)."""
        if self.kind == "plain":
            return _PLAIN_ASCII if text.isascii() else _plain()
        return _STANDARD_ASCII if text.isascii() else _standard()

    def is_dense(self, token: str) -> bool:
        """Whether a raw token is a run of a script written without spaces, indexed by pairs."""
        return self.kind == "standard" and _is_dense(token)

    def keys(self, token: str) -> Keys:
        """The keys of one raw token."""
        found = self._cache.get(token)
        if found is None:
            found = self._plain_keys(token) if self.kind == "plain" else self._standard_keys(token)
            if len(token) <= TOKEN_CHARS:
                if len(self._cache) >= CACHE_TOKENS:
                    self._cache.clear()
                self._cache[token] = found
        return found

    def speaker_keys(self, speakers: Iterable[str]) -> list[bytes]:
        """The keys by which the records of a speaker are found; they add nothing to the length."""
        return speaker_keys(speakers, self._names) if self.kind == "standard" else []

    def _names(self, name: str) -> list[str]:
        return [_fold_accents(token.casefold()) for token in self.tokens(name) if len(token) > 1]

    def document(self, parts: Iterable[str], speakers: Iterable[str] = ()) -> Document:
        """What is indexed of a record, given its fields in order, and of who said it."""
        counts: dict[bytes, int] = {}
        length = 0
        for token in self.tokens(" ".join(parts)):
            keys = self._cache.get(token) or self.keys(token)
            for key in keys.counted:
                counts[key] = counts.get(key, 0) + 1
            length += len(keys.counted)
            for key in keys.extra:
                counts[key] = counts.get(key, 0) + 1
        counts.update(dict.fromkeys(self.speaker_keys(speakers), 1))
        return Document(counts, length)

    def query(self, text: str) -> Query:
        """The terms that a query looks for; any text is a query, and one without a word has no terms."""
        tokens = [token for token in self.tokens(text) if self.keys(token).counted or self.keys(token).extra]
        if self.kind == "plain":
            counts = Counter(tokens)
            terms = tuple(QueryTerm(_encode(t), (), n, t) for t, n in counts.items())
            return Query(terms, single=False, needed=())  # the plain ranking knows no exact forms
        kept = [token for token in tokens if token.casefold() not in self._stops] or tokens
        found: dict[bytes, list[bytes]] = {}
        needed: list[bytes] = []
        for token in dict.fromkeys(kept):
            forms = self.forms(token)
            for stem, surface in forms:
                surfaces = found.setdefault(stem, [])
                if surface not in surfaces:
                    surfaces.append(surface)
            needed = [stem for stem, _ in (forms if _is_dense(token) else forms[:1])]
        terms = tuple(QueryTerm(k, tuple(s), 1, _decode(k)) for k, s in found.items())
        single = len({token.casefold() for token in kept}) == 1
        names = tuple(dict.fromkeys(name_key(_fold_accents(t.casefold())) for t in kept if len(t) > 1))
        return Query(terms, single, tuple(dict.fromkeys(needed)) if single else (), names)

    def forms(self, token: str) -> list[tuple[bytes, bytes]]:
        """(stem, surface) of what a query asks for with one raw token: itself first, then its parts."""
        if self.kind == "plain":
            return [(_encode(token), _encode(token))]
        if _is_dense(token):
            pairs = _pairs(token)
            return [(_encode(p), _encode(p)) for p in pairs]
        return [self._form(part) for part in _with_parts(token)]

    def _plain_keys(self, token: str) -> Keys:
        encoded = token.encode("utf-8", "surrogatepass")
        return Keys((_encode(token),) if len(encoded) >= 2 else (), ())

    def _standard_keys(self, token: str) -> Keys:
        if token.isascii() and token.islower() and token.isalpha() and 2 <= len(token) <= TOKEN_CHARS:
            surface, stem = token.encode(), self._stem(token).encode()  # most words; the rest says the same
            return Keys((stem,), () if stem == surface else (stem + SEPARATOR + surface,))
        if _is_dense(token):
            counted = tuple(_encode(p) for p in _pairs(token))
            return Keys(counted, tuple(_encode(c) for c in token) if len(token) > 1 else ())
        forms = self.forms(token)
        extra = tuple(stem + SEPARATOR + surface for stem, surface in forms if stem != surface)
        return Keys(tuple(stem for stem, _ in forms), extra)

    def _form(self, word: str) -> tuple[bytes, bytes]:
        surface = word.casefold()
        return _encode(self._stem(_fold_accents(surface))), _encode(surface)

    def _stem(self, word: str) -> str:
        if self.language == "none" or len(word) > TOKEN_CHARS:
            return word
        if self._stem_word is None:
            self._stem_word = _load_stemmer(self.language)
        word = self._irregular.get(word, word)
        return self._stem_word(word) or word


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _is_dense(token: str) -> bool:
    return not token.isascii() and _DENSE_RUN.match(token) is not None


def _pairs(run: str) -> list[str]:
    """Neighbouring pairs of characters; a run of one is that character."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _with_parts(token: str) -> list[str]:
    """The token and, of an identifier, its parts; nothing under two characters but pictographs."""
    if len(token) < 2:
        return [token] if not token.isalnum() and _PICTURE.match(token) else []
    if (
        token.isalpha()
        and (token.islower() or token.isupper() or token[1:].islower())
        or len(token) > TOKEN_CHARS
    ):
        return [token]
    parts = [part for part in _split_identifier(token) if len(part) > 1 and part != token]
    return [token, *parts]


def _split_identifier(token: str) -> list[str]:
    """Cuts at letter/digit borders, before a capital that follows a small letter, and before the last of several
    capitals that starts a word ("HTTPServer"); a plural "s" stays with its capitals ("APIs")."""
    cuts = [0]
    for i in range(1, len(token)):
        before, here, after = token[i - 1], token[i], token[i + 1 : i + 2]
        starts = here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        plural = before.isupper() and token[i + 1 :] == "s"
        if before.isdigit() != here.isdigit() or (starts and not plural):
            cuts.append(i)
    return [token[a:b] for a, b in zip(cuts, [*cuts[1:], len(token)], strict=True)]


def _fold_accents(word: str) -> str:
    """Drops diacritics (combining classes from 10 up; vowel signs of Indic scripts have 0 and stay)."""
    if word.isascii():
        return word
    marks = unicodedata.normalize("NFD", word)
    kept = "".join(c for c in marks if unicodedata.combining(c) < 10)
    return unicodedata.normalize("NFC", kept) or word


def _encode(word: str) -> bytes:
    """The key of a word; a very long one keeps its head and a hash of the whole."""
    data = word.encode("utf-8", "surrogatepass")
    if len(word) > TOKEN_CHARS:
        head = word[:32].encode("utf-8", "surrogatepass")
        return head + b"\x01" + hashlib.blake2b(data, digest_size=16).hexdigest().encode()
    return data


def _decode(key: bytes) -> str:
    return key.decode("utf-8", "replace").split("\x01")[0]


_LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def _language(name: str) -> str:
    """The Snowball name of a language."""
    name = name.strip().lower()
    full = _LANGUAGES.get(name.split("-")[0].split("_")[0], name)
    if full != "none" and full not in _LANGUAGES.values():
        known = ", ".join(sorted(_LANGUAGES))
        raise InvalidInput(f"no stemmer for the language {name!r}", f"Choose one of {known}, or `none`.")
    return full


def _load_stemmer(language: str) -> Callable[[str], str]:
    # Imported at the first word that needs it: `plain` and `none` never pay for it.
    import Stemmer

    word: Callable[[str], str] = Stemmer.Stemmer(language, 0).stemWord
    return word


def _stemmer_version(language: str) -> str:
    if language == "none":
        return "-"
    import Stemmer

    module: Any = Stemmer
    return str(module.version())
