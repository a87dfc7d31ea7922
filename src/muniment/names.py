"""What agents and banks may be called."""

from __future__ import annotations

from muniment.base.errors import InvalidInput, LimitExceeded
from muniment.base.limits import LIMITS


def check_name(name: str) -> None:
    """Refuse a name that can't be typed or shown.

    Raises:
        InvalidInput | LimitExceeded: As their names say.
    """
    if len(name) > LIMITS.name_chars:
        raise LimitExceeded("name characters", LIMITS.name_chars, len(name))
    if not name.strip() or name != name.strip() or not name.isprintable() or name.startswith("-"):
        raise InvalidInput(f"not a name: {name!r}", "Use letters, digits and signs, without spaces around.")
