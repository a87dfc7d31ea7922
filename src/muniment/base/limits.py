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
    claim_bytes: int = 1024  # a request signed by an invite's key
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

    feedback_id_chars: int = 128  # what a judgement is named by
    bullets: int = 1000  # bullets of a playbook that are read
    bullet_chars: int = 2000  # one bullet of a playbook
    playbook_operations: int = 256  # of one batch
    playbook_bytes: int = 2 * 1024 * 1024  # a batch, or a model's answer, as JSON
    playbook_proposals: int = 256  # batches that wait for a review
    model_prompt_chars: int = 200_000  # what a model is asked

    query_chars: int = 2 * 1024 * 1024
    query_terms: int = 1024  # distinct terms ranked; the rarest are kept
    recall_limit: int = 1000  # hits

    clock_ahead_ms: int = 10 * 60 * 1000  # how far a foreign clock may move the local one
    waiting_per_author: int = 4096  # entries kept whose past is not here
    import_line_bytes: int = 16 * 1024 * 1024
    archive_members: int = 65_536  # files in a zip archive that is imported
    archive_bytes: int = 8 * 1024 * 1024 * 1024  # unpacked, all that is read of one archive
    memvid_frames: int = 1_000_000  # frames of one .mv2 file
    manifest_bytes: int = 1024 * 1024  # of an exported bank
    export_heads: int = 16_384  # entries that no other names, in one manifest
    blob_bytes: int = 32 * 1024 * 1024  # one blob, also in an exported bank
    witness_bytes: int = 16 * 1024 * 1024  # the witness file

    sync_frame_bytes: int = 512 * 1024  # entries and bodies of one message; a single larger entry goes alone
    sync_message_bytes: int = 17 * 1024 * 1024  # one message of a sync
    sync_ids: int = 8192  # ids named by one message
    sync_ranges: int = 8192  # ranges of one message
    sync_entries: int = 8192  # entries, or bodies, of one message
    sync_rounds: int = 1024  # rounds that one stateless server keeps open
    sync_round_ms: int = 60 * 1000  # how long it keeps one that is silent
    sync_waiting: int = 4096  # entries whose past is not here that one round may bring
    sync_tips: int = 64  # keys of which a round tells the newest entries

    routes: int = 32  # addresses known for one bank
    requests: int = 256  # strangers who ask for one bank, denied ones included
    request_note_chars: int = 200  # a stranger's own words
    request_ms: int = 7 * 24 * 3600 * 1000  # how long a request for access holds
    pack_trees: int = 8  # packs whose chunk hashes a peer keeps at hand while it serves them
    stub_bytes: int = 4 * 1024 * 1024  # what an archived record's stub opens to
    payload_bytes: int = 5 * 1024 * 1024  # a sealed payload, and what it opens to
    pack_bytes: int = 16 * 1024 * 1024  # a pack, its directory included
    pack_payloads: int = 65_536  # payloads in one pack
    custody_samples: int = 64  # chunks of one challenge
    custody_message_bytes: int = 5 * 1024 * 1024  # one message about custody: a proof is the longest
    custody_blobs: int = 65_536  # blobs kept for one owner

    vector_dimension: int = 65_536  # numbers in one vector
    embedder_answer_bytes: int = 64 * 1024 * 1024  # one answer of an embedding server
    credential_chars: int = 4096  # an API key

    ticket_chars: int = 4096
    ticket_peers: int = 16  # addresses in one ticket
    address_chars: int = 512
    lan_peers: int = 256  # announcements of others that are kept
    lan_banks: int = 120  # banks in one announcement
    did_chars: int = 512  # a DID, or the DID URL of a key
    did_document_bytes: int = 64 * 1024  # what a did:web leads to
    request_bytes: int = 8 * 1024 * 1024  # the body of one request to `muniment serve`
    form_bytes: int = 8 * 1024 * 1024  # one form of the web page
    request_calls: int = 256  # calls in one batch
    nonces: int = 1_000_000  # signed requests remembered until they expire
    tokens: int = 10_000  # bearer tokens kept, revoked ones included
    answer_bytes: int = 64 * 1024 * 1024  # one answer that the client reads
    disk_low_bytes: int = 512 * 1024 * 1024  # free space below which `doctor` warns
    disk_full_bytes: int = 32 * 1024 * 1024  # and below which it says that the disk is full
    log_long_bytes: int = 64 * 1024 * 1024  # a database's log that `doctor` calls long
    checked_bytes: int = 32 * 1024 * 1024  # files up to this size are read through by every `doctor`
    tool_argument_bytes: int = 8 * 1024 * 1024  # the arguments of one call by a model, as JSON text


LIMITS = Limits()
