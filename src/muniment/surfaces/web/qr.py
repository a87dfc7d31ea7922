"""A text as a QR code, where the extra `qr` is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST = 1000  # characters; beyond, no telephone reads it from a screen


def qr_svg(text: str) -> Markup | None:
    """An SVG element to stand in a page; None without the extra, or for a text that is too long."""
    try:
        import segno
    except ImportError:
        return None
    from markupsafe import Markup

    if len(text) > _MOST:
        return None
    code = segno.make(text, error="m", micro=False)
    drawn = code.svg_inline(scale=4, border=3, svgclass="qr", lineclass=None, dark="#000", light="#fff")
    return Markup(drawn)  # noqa: S704 - made of numbers alone: nothing of the text stands in it as such
