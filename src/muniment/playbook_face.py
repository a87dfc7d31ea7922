"""Feedback and the playbook, as the face of a memory offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.feedback import Judged
    from muniment.playbook import Playbook
    from muniment.reading import Reader


class PlaybookFace:
    """What `Memory` has of these two."""

    _bank: Bank
    _key: bytes
    _reader: Reader

    if TYPE_CHECKING:

        def _settle(self) -> None: ...

    def feedback(self, ref: str, judgement: str, *, id: str | None = None) -> Judged:  # noqa: A002
        """Say that a memory was `helpful` or `harmful`, or take that back (`neutral`).

        Args:
            ref: A key, a record id or a version: the words that were of use.
            judgement: One of the three.
            id: What the judgement is named by, such as the run it comes from: said again under it, it counts once,
                and another judgement under it takes its place.

        Raises:
            InvalidInput | LimitExceeded: There is no such judgement, or the id is none.
            UnknownRecord | Ambiguous: As for `get`.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
        """
        from muniment.feedback import judge

        self._settle()
        return judge(self._bank, self._key, self._reader, ref, judgement, id)

    @property
    def playbook(self) -> Playbook:
        """What was learned here, bullet by bullet."""
        from muniment.playbook import Playbook

        return Playbook(self._bank, self._key, self._reader, self._settle)
