"""Every cap in one frozen dataclass; sizes are checked before anything is parsed (design section 3)."""

from __future__ import annotations

from dataclasses import dataclass

MIN_AT_MS = 1_577_836_800_000  # 2020-01-01T00:00:00Z: no entry can be older than the format
MAX_AT_MS = 4_102_444_800_000  # 2100-01-01T00:00:00Z: beyond, a hostile clock could block writers for ever


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps in bytes, characters (Unicode code points) or counts, as each line says."""

    acts_per_entry: int = 256  # count
    control_acts_per_entry: int = 256  # count
    header_bytes: int = 256 * 1024
    body_bytes: int = 4 * 1024 * 1024  # one sealed body
    entry_bytes: int = 16 * 1024 * 1024  # header and bodies together
    parents: int = 64  # CIDs in `prev`, and in `auth`
    tips_per_cut: int = 64  # CIDs
    readers: int = 1024  # sealed boxes in one epoch
    open_epochs: int = 64  # older heads opened by one epoch

    key_chars: int = 512
    title_chars: int = 1024
    text_chars: int = 2 * 1024 * 1024
    text_bytes: int = 3 * 1024 * 1024  # UTF-8
    tag_chars: int = 128
    tags: int = 64  # count
    session_chars: int = 256
    metadata_depth: int = 8  # nested containers
    metadata_bytes: int = 64 * 1024  # canonical JSON
    name_chars: int = 64  # agent and bank names
    description_chars: int = 4096

    query_chars: int = 2 * 1024 * 1024
    query_terms: int = 1024  # distinct terms ranked; the rarest are kept
    recall_limit: int = 1000  # hits

    clock_ahead_ms: int = 10 * 60 * 1000  # how far a foreign clock may move the local one
    waiting_per_author: int = 4096  # entries kept whose past is not here
    import_line_bytes: int = 16 * 1024 * 1024

    stub_bytes: int = 4 * 1024 * 1024  # what an archived record's stub opens to
    payload_bytes: int = 5 * 1024 * 1024  # a sealed payload, and what it opens to
    pack_bytes: int = 16 * 1024 * 1024  # a pack, its directory included
    pack_payloads: int = 65_536  # payloads in one pack
    blob_bytes: int = 64 * 1024 * 1024  # any blob that is read whole

    vector_dimension: int = 65_536  # numbers in one vector
    embedder_answer_bytes: int = 64 * 1024 * 1024  # one answer of an embedding server
    credential_chars: int = 4096  # an API key


LIMITS = Limits()
