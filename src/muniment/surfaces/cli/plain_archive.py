"""Results of the archive's commands as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muniment.commands.results import Listed
from muniment.surfaces.cli.plain_custody import WRITE_CUSTODY
from muniment.surfaces.cli.words import count, number, one_line, size, utc


def archived_lines(result: Any) -> list[str]:
    """What an archiving did, or would do; why what was meant stays."""
    verb = "would go into the archive" if result.dry_run else "in the archive"
    lines = [f"{count(result.records, 'memory', 'memories')} {verb}, {size(result.text_bytes)} of text"]
    if result.packs:
        lines[0] += f", in {count(result.packs, 'pack')} of {size(result.pack_bytes)}"
        lines.append(f"  the bank's file: {size(result.before_bytes)} before, {size(result.file_bytes)} now")
    lines += [f"  left: {number(n)}, {one_line(why)}" for why, n in result.skipped.items()]
    lines += [
        f"  {one_line(match.key or match.id, 40)}  {one_line(match.text, 80)}" for match in result.matches
    ]
    return lines


def restored_lines(records: Listed) -> list[str]:
    """What came back."""
    names = [one_line(record.key or record.id, 60) for record in records]
    return [f"back in the bank: {name}" for name in names] or ["nothing of it is in the archive"]


def pack_rows(packs: Listed) -> list[tuple[str, str, str, str]]:
    """Name, size, payloads, and whether anything needs it."""
    return [
        (
            pack.name,
            size(pack.size),
            number(pack.payloads),
            "" if pack.idle_ms is None else f"not needed since {utc(pack.idle_ms)}",
        )
        for pack in packs
    ]


def _packs(packs: Listed) -> str:
    return "\n".join("  ".join(cell for cell in row if cell) for row in pack_rows(packs)) or "no packs"


def collected_lines(result: Any) -> list[str]:
    """What a collection did, or would do."""
    verb = "would go" if result.dry_run else "gone"
    rest = f"{number(result.resting)} not needed and in their time of grace, {number(result.kept)} kept"
    lines = [f"{count(result.gone, 'pack')} {verb} ({size(result.gone_bytes)}), {rest}"]
    if result.merged:
        would, into = "would be " if result.dry_run else "", count(result.merged_into, "pack")
        freed = "" if result.dry_run else f", {size(max(0, result.merged_bytes))} set free"
        lines.append(f"{count(result.merged, 'pack')} {would}put together into {into}{freed}")
    if result.reason:
        lines.append(f"note: {one_line(result.reason)}")
    return lines


def erased_lines(result: Any) -> list[str]:
    """What an erase destroyed, or would destroy; what waits, and what it may not touch."""
    verb = "would be erased" if result.dry_run else "erased"
    lines = [f"{count(len(result.versions), 'version')} {verb}, with {count(result.acts, 'act')} about them"]
    if result.payload_keys:
        lines.append(f"  {count(result.payload_keys, 'key')} of archived texts: no copy of them can be read")
    if not result.dry_run and (result.destroyed or result.waiting):
        lines.append(f"  {count(result.destroyed, 'sealed body', 'sealed bodies')} gone from this peer")
    if result.waiting:
        lines.append(f"  {number(result.waiting)} hidden, and gone from {utc(result.due_ms)} on")
    if not result.swept:
        lines.append("  somebody is reading: log and indexes are swept with the next write")
    if result.standing:
        lines.append("  late versions of the key will go too")
    lines += [f"  left: {number(n)} by {author}" for author, n in result.left.items()]
    return lines


WRITE_ARCHIVE: Mapping[str, Callable[[Any], str]] = {
    "erase": lambda result: "\n".join(erased_lines(result)),
    "archive": lambda result: "\n".join(archived_lines(result)),
    "restore": lambda result: "\n".join(restored_lines(result)),
    "blobs list": _packs,
    "blobs gc": lambda result: "\n".join(collected_lines(result)),
    **WRITE_CUSTODY,
}
