"""Templates to HTML. Whatever a record holds is text here: escaped, and without characters that act on a page."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from muniment.surfaces.cli.words import count, number, pieces, shown, size
from muniment.surfaces.web import words

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@cache
def environment() -> Environment:
    """The templates of the package, each compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("muniment.surfaces.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every value that is printed passes here, so no template can forget it.
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    made.filters |= {
        "ago": words.ago,
        "moment": words.moment,
        "iso": words.iso,
        "percent": words.percent,
        "short": words.short,
        "asis": words.as_is,
        "plain_json": words.plain_json,
        "number": number,
        "size": size,
        "count": count,
    }
    made.globals |= {"static": static_url, "pieces": pieces, "editable": words.editable}
    return made


def render(template: str, **values: Any) -> str:
    """A template with these values."""
    return environment().get_template(template).render(**values)


@cache
def static_files() -> dict[str, tuple[bytes, str, str]]:
    """What stands in `static`, by name: bytes, media type, a hash of them."""
    found = {}
    for item in files("muniment.surfaces.web").joinpath("static").iterdir():
        kind = STATIC.get("." + item.name.rpartition(".")[2])
        if kind is not None:
            data = item.read_bytes()
            found[item.name] = (data, kind, hashlib.sha256(data).hexdigest()[:16])
    return found


def static_url(name: str) -> str:
    """The address of a static file; it changes with what the file holds, so it may be kept for ever."""
    return f"/static/{name}?{static_files()[name][2]}"
