"""One tree of errors: drawn, documented, and every class raised somewhere."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from muniment.base import errors
from muniment.base.errors import MunimentError
from muniment.base.limits import LIMITS

TOP = Path(__file__).parents[1]
ROOT = TOP / "src" / "muniment"
DOCUMENT = TOP / "docs" / "errors.md"
CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, MunimentError)
]
# Parents that group others; what is raised is one of their children.
GROUPS = [cls for cls in CLASSES if cls.__subclasses__()]


def drawn() -> list[str]:
    """Class names in the order of the drawing in the module's docstring."""
    drawing = (errors.__doc__ or "").split("```")[1]
    names = [
        re.findall(r"(?:[├└]── )?([A-Z][A-Za-z]+)(?=\s|$)", line.split("  (")[0])
        for line in drawing.splitlines()
    ]
    known = {cls.__name__ for cls in CLASSES}
    return [name for line in names for name in line if name in known]


def raised() -> set[str]:
    """Names in every `raise` of the package, and of classes that are handed on to be raised."""
    found: set[str] = set()
    for path in ROOT.rglob("*.py"):
        if path.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise | ast.Return | ast.Assign | ast.Dict):
                found |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
                found |= {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    return found


def test_the_drawing_shows_every_class_in_order() -> None:
    """The tree in the docstring is the tree in the code."""
    assert drawn() == [cls.__name__ for cls in CLASSES]


@pytest.mark.parametrize("cls", [c for c in CLASSES if c not in GROUPS], ids=lambda c: c.__name__)
def test_every_class_is_raised_somewhere(cls: type[MunimentError]) -> None:
    """A class that nothing raises promises what does not happen."""
    assert cls.__name__ in raised()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_class_is_documented_with_its_exit_code(cls: type[MunimentError]) -> None:
    """`docs/errors.md` has a row for each class: name, exit code, what to do."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    found = {name: (int(code), meaning, step) for name, code, meaning, step in rows}
    assert cls.__name__ in found, f"{cls.__name__} has no row"
    assert found[cls.__name__][0] == cls.exit_code


def test_children_of_a_group_share_its_exit_code() -> None:
    """Scripts branch on the kind, not on the class."""
    for group in GROUPS:
        if group is not MunimentError:
            assert {child.exit_code for child in group.__subclasses__()} == {group.exit_code}


def test_a_message_ends_with_the_next_step() -> None:
    """What to do about it stands on a line of its own, and can be read apart."""
    error = MunimentError("it broke", "Mend it.")
    assert str(error) == "it broke\nMend it."
    assert (error.message, error.next_step, error.name) == ("it broke", "Mend it.", "MunimentError")


def test_every_limit_is_documented_with_its_value() -> None:
    """The table of limits in the document is the one in the code."""
    rows = re.findall(r"^\| .+ \| ([\d,]+)[^|]* \| `(\w+)` \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    documented = {name: int(value.replace(",", "")) for value, name in rows}
    assert {field.name: getattr(LIMITS, field.name) for field in fields(LIMITS)} == documented
