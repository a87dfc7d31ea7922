"""Finding what two sets differ in: ranges with fingerprints, split where they differ (docs/sync.md, section 5).

Keys are ordered by clock value, then id: `at` in eight bytes, then the 32 bytes of the id's sha-256. A range is
`lo <= key < hi`, bounds being as short as tells two neighbours apart. A fingerprint is the sha-256 of a count and of
the sum, modulo 2^2048, of SHAKE128 of each id (256 bytes).

**Why so wide a sum.** A peer, or a member that signs entries, may be hostile, and chooses ids by trial. For a sum
modulo 2^n of hashes, a set with a given sum is found in about 2^(2*sqrt(n)) steps when as many hashes may be used as
wished (Wagner, *A Generalized Birthday Problem*, 2002): for n = 256, as Negentropy has it, that is 2^32, so a writer
could split honest replicas for good. With n = 2048 it is 2^90, each step a signature. Bellare and Micciancio (*A New
Paradigm for Collision-Free Hashing*, 1997) give the sum, Meyer (*Range-Based Set Reconciliation*, 2023) the use. A sum
needs no fixed shape of tree, so any two implementations that hold the same set agree, and adding an entry costs one
addition.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from muniment.base.ids import CID_PREFIX, EntryId

START, END = b"", b"\xff"  # below and above every key: clock values have 63 bits
DIGEST_BYTES = 32
SUM_BYTES = 256
BRANCH = 16  # ranges that one is split into
LEAF = 32  # keys up to which ids are listed instead
SPAN = 512  # keys above which a range of which nothing is held is taken as a whole, without listing ids
LISTED = 2048  # keys that are listed when asked for
_MODULUS = (1 << 8 * SUM_BYTES) - 1
_BUCKET = 128
_PREFIXES = 512  # buckets whose running sums are kept: 20 MB at most

SKIP, FINGERPRINT, IDS, ASK = range(4)


def key_of(at: int, entry: EntryId) -> bytes:
    """Where an entry stands in the order."""
    return at.to_bytes(8) + entry[len(CID_PREFIX) :]


def id_of(digest: bytes) -> EntryId:
    """The id of 32 bytes as they travel."""
    return EntryId(CID_PREFIX + digest)


def _holds(keys: Sequence[bytes], key: bytes) -> bool:
    place = bisect_left(keys, key)
    return place < len(keys) and keys[place] == key


def _spread(key: bytes) -> int:
    return int.from_bytes(hashlib.shake_128(key[8:]).digest(SUM_BYTES))


@dataclass(slots=True)
class _Bucket:
    """Up to `_BUCKET` neighbouring keys; the sum is worked out at first use."""

    keys: list[bytes]
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """What one end says of the keys below `hi`, from where the range before it ends.

    Attributes:
        mode: SKIP nothing to say, FINGERPRINT `count` and `said` (32 bytes), IDS `said` (32 each), or ASK for ids.
    """

    hi: bytes
    mode: int
    count: int = 0
    said: bytes = b""


class Index:
    """A set of keys with fast fingerprints of ranges: about 110 bytes a key, and adding costs the same at any size."""

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        ordered = sorted(set(keys))
        self._buckets = [_Bucket(ordered[at : at + _BUCKET]) for at in range(0, len(ordered), _BUCKET)]
        self._firsts = [bucket.keys[0] for bucket in self._buckets]
        self._counts: list[int] | None = None
        self._sums: list[int] | None = None
        self._running: OrderedDict[int, list[int]] = OrderedDict()  # by the bucket's identity

    def __len__(self) -> int:
        return self._tables()[0][-1]

    def __contains__(self, key: bytes) -> bool:
        return bool(self._buckets) and _holds(self._buckets[self._bucket_of(key)].keys, key)

    def add(self, keys: Iterable[bytes]) -> None:
        """Add keys; those that are there already change nothing."""
        for key in keys:
            if not self._buckets:
                self._buckets.append(_Bucket([]))
                self._firsts.append(key)
            number = self._bucket_of(key)
            bucket = self._buckets[number]
            if _holds(bucket.keys, key):
                continue
            insort(bucket.keys, key)
            self._firsts[number] = bucket.keys[0]
            if bucket.total is not None:
                bucket.total = bucket.total + _spread(key) & _MODULUS
            self._running.pop(id(bucket), None)
            if len(bucket.keys) > 2 * _BUCKET:
                self._split(number)
        self._counts = self._sums = None

    def _split(self, number: int) -> None:
        keys = self._buckets[number].keys
        # Mostly the newest come: then the first half is full for good.
        halves = [_Bucket(keys[:_BUCKET]), _Bucket(keys[_BUCKET:])]
        self._buckets[number : number + 1] = halves
        self._firsts[number : number + 1] = [half.keys[0] for half in halves]

    def _bucket_of(self, key: bytes) -> int:
        """The bucket where a key belongs; keys below the first bucket's go into it."""
        return max(bisect_right(self._firsts, key) - 1, 0)

    def _tables(self) -> tuple[list[int], list[int]]:
        if self._counts is None or self._sums is None:
            for bucket in self._buckets:
                if bucket.total is None:
                    bucket.total = sum(map(_spread, bucket.keys)) & _MODULUS
            self._counts = list(accumulate((len(bucket.keys) for bucket in self._buckets), initial=0))
            self._sums = list(accumulate((bucket.total or 0 for bucket in self._buckets), initial=0))
        return self._counts, self._sums

    def _place(self, bound: bytes) -> tuple[int, int]:
        """The bucket and the place there of the first key that is not below a bound."""
        if not self._buckets:
            return 0, 0
        number = max(bisect_left(self._firsts, bound) - 1, 0)
        keys = self._buckets[number].keys
        place = bisect_left(keys, bound)
        return (number, place) if place < len(keys) else (number + 1, 0)

    def _upto(self, bound: bytes) -> tuple[int, int]:
        """How many keys are below a bound, and their sum."""
        counts, sums = self._tables()
        number, place = self._place(bound)
        if not place:
            return counts[number], sums[number]
        return counts[number] + place, sums[number] + self._prefix(self._buckets[number])[place]

    def _prefix(self, bucket: _Bucket) -> list[int]:
        running = self._running.get(id(bucket))
        if running is None:
            running = self._running[id(bucket)] = list(accumulate(map(_spread, bucket.keys), initial=0))
            if len(self._running) > _PREFIXES:
                self._running.popitem(last=False)
        return running

    def count(self, lo: bytes, hi: bytes) -> int:
        """How many keys a range has."""
        counts, _ = self._tables()
        (first, start), (last, stop) = self._place(lo), self._place(hi)
        return max(counts[last] + stop - counts[first] - start, 0)

    def fingerprint(self, lo: bytes, hi: bytes) -> bytes:
        """32 bytes that are equal for equal sets of keys in a range, and for no others that anybody can find."""
        (below, less), (upto, total) = self._upto(lo), self._upto(hi)
        whole = total - less & _MODULUS
        return hashlib.sha256((upto - below).to_bytes(8) + whole.to_bytes(SUM_BYTES)).digest()

    def keys(self, lo: bytes, hi: bytes, *, newest_first: bool = False) -> Iterator[bytes]:
        """The keys of a range in order."""
        (first, start), (last, stop) = self._place(lo), self._place(hi)
        numbers = range(first, min(last + 1, len(self._buckets)))
        for number in reversed(numbers) if newest_first else numbers:
            keys = self._buckets[number].keys
            part = keys[start if number == first else 0 : stop if number == last else len(keys)]
            yield from reversed(part) if newest_first else part

    def bounds(self, lo: bytes, hi: bytes, parts: int) -> list[bytes]:
        """Upper bounds that split a range into so many parts with about as many keys each."""
        counts, _ = self._tables()
        first, start = self._place(lo)
        begin, size = counts[first] + start, self.count(lo, hi)
        found = []
        for part in range(1, parts):
            place = begin + size * part // parts
            if begin < place < begin + size:
                found.append(_between(self._at(place - 1), self._at(place)))
        return [*found, hi]

    def _at(self, place: int) -> bytes:
        counts, _ = self._tables()
        number = bisect_left(counts, place + 1) - 1
        return self._buckets[number].keys[place - counts[number]]

    def range(self, lo: bytes, hi: bytes) -> Range:
        """What this end says of a range as a whole."""
        return Range(hi, FINGERPRINT, self.count(lo, hi), self.fingerprint(lo, hi))


def _between(before: bytes, key: bytes) -> bytes:
    """The shortest bound that is above one key and not above the next."""
    same = next(at for at, (a, b) in enumerate(zip(before, key, strict=True)) if a != b)
    return key[: same + 1]


def _size(one: Range) -> int:
    return len(one.hi) + len(one.said) + 12


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """The same with neighbouring silences made one, and none at the end."""
    out: list[Range] = []
    for one in ranges:
        if one.mode == SKIP and out and out[-1].mode == SKIP:
            out.pop()
        out.append(one)
    return out[:-1] if out and out[-1].mode == SKIP else out


def answer(index: Index, asked: Sequence[Range], budget: int) -> list[Range]:
    """What the server says to the ranges of a question, in about `budget` bytes; what is over is only fingerprinted."""
    out: list[Range] = []
    spent, lo = 0, START
    for one in asked:
        said = _reply(index, lo, one, full=spent >= budget)
        spent += sum(map(_size, said))
        out += said
        lo = one.hi
    return _joined(out)


def _reply(index: Index, lo: bytes, one: Range, *, full: bool) -> list[Range]:
    if one.mode not in (FINGERPRINT, ASK):
        return [Range(one.hi, SKIP)]
    count = index.count(lo, one.hi)
    if one.mode == FINGERPRINT and index.fingerprint(lo, one.hi) == one.said:
        return [Range(one.hi, SKIP)]
    if full:
        return [index.range(lo, one.hi)]
    if count <= LEAF or (one.mode == ASK and count <= LISTED):
        return [Range(one.hi, IDS, 0, b"".join(key[8:] for key in index.keys(lo, one.hi)))]
    return _halves(index, lo, one.hi)


def _halves(index: Index, lo: bytes, hi: bytes) -> list[Range]:
    out = []
    for bound in index.bounds(lo, hi, BRANCH):
        out.append(index.range(lo, bound))
        lo = bound
    return out


@dataclass(slots=True)
class Difference:
    """What the client has learnt: ids to ask for, spans of which it holds nothing, and keys that the server lacks.

    Each id comes with the bound of its range and its place there, so that sorting puts them in order.
    """

    need: list[tuple[bytes, int, EntryId]] = field(default_factory=list)
    spans: list[tuple[bytes, bytes]] = field(default_factory=list)
    have: list[bytes] = field(default_factory=list)


def compare(index: Index, said: Sequence[Range], found: Difference) -> list[tuple[bytes, Range]]:
    """The client's side: note what an answer shows, and return what is left to ask, each with its lower bound."""
    left: list[tuple[bytes, Range]] = []
    lo = START
    for one in said:
        if one.mode == IDS:
            order = [one.said[at : at + DIGEST_BYTES] for at in range(0, len(one.said), DIGEST_BYTES)]
            mine, theirs = {key[8:]: key for key in index.keys(lo, one.hi)}, set(order)
            lacking = [id_of(digest) for digest in order if digest not in mine]
            found.need += [(lo, place, entry) for place, entry in enumerate(lacking)]
            found.have += [key for digest, key in mine.items() if digest not in theirs]
        elif one.mode == FINGERPRINT and index.fingerprint(lo, one.hi) != one.said:
            count = index.count(lo, one.hi)
            if not count and one.count > SPAN:
                found.spans.append((lo, one.hi))
            elif not one.count:
                found.have += index.keys(lo, one.hi)
            elif not count or min(count, one.count) <= LEAF and one.count <= LISTED:
                left.append((lo, Range(one.hi, ASK)))
            else:
                left += _parts(lo, index, one.hi)
        lo = one.hi
    return left


def _parts(lo: bytes, index: Index, hi: bytes) -> list[tuple[bytes, Range]]:
    out = []
    for part in _halves(index, lo, hi):
        out.append((lo, part))
        lo = part.hi
    return out


def question(
    left: Sequence[tuple[bytes, Range]], budget: int
) -> tuple[list[Range], list[tuple[bytes, Range]]]:
    """As many of the ranges left as a question of about `budget` bytes takes, and the rest."""
    out: list[Range] = []
    spent, lo = 0, START
    for number, (low, one) in enumerate(left):
        if spent >= budget:
            return _joined(out), list(left[number:])
        if low != lo:
            out.append(Range(low, SKIP))
        out.append(one)
        spent += _size(one)
        lo = one.hi
    return _joined(out), []


def after(key: bytes) -> bytes:
    """The shortest lower bound that leaves a key out."""
    return (int.from_bytes(key) + 1).to_bytes(len(key))
