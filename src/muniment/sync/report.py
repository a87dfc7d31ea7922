"""The figures of a round."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RoundReport:
    """What a round did, as one end saw it.

    Attributes:
        other: The other end's key, once it proved it.
        received, sent: Entries that were new here; that were new there (at the server: that were given).
        bodies_received, bodies_sent: Missing bodies that came, and that were given.
        refused, void: Entries that were not kept: their bytes were wrong; they do not count.
        control_agreed, data_agreed: Whether both ends hold the same of each set.
        missing, absent: How many entries of the control past, and bodies, are still not here.
        lacking: How many of either the server still lacks, as far as it said (only at the client).
        questions: How many messages the client sent (only there).
        done: Nothing is missing at either end, as far as this end knows.
    """

    other: bytes = b""
    received: int = 0
    sent: int = 0
    bodies_received: int = 0
    bodies_sent: int = 0
    refused: int = 0
    void: int = 0
    control_agreed: bool = False
    data_agreed: bool = False
    missing: int = 0
    absent: int = 0
    lacking: int = 0
    questions: int = 0
    done: bool = False
