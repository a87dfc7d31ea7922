"""A text as a QR code, where the extra `qr` is installed."""

from __future__ import annotations

_MOST = 1000  # characters; beyond, no telephone reads it from a screen


class Drawn(str):
    """Markup of our own making, which templates put in as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Itself: it is made of numbers alone, and nothing of the text stands in it as such."""
        return str(self)


def qr_svg(text: str) -> Drawn | None:
    """An SVG element to stand in a page; None without the extra, or for a text that is too long."""
    try:
        import segno
    except ImportError:
        return None
    if len(text) > _MOST:
        return None
    code = segno.make(text, error="m", micro=False)
    return Drawn(code.svg_inline(scale=4, border=3, svgclass="qr", lineclass=None, dark="#000", light="#fff"))
