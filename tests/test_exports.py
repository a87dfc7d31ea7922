"""What a caller may touch is listed, sorted, importable, and nothing happens on import."""

import importlib
import subprocess
import sys
import types

import pytest

import muniment

PUBLIC_ROOMS = ["muniment", "muniment.testing"]


@pytest.mark.parametrize("name", PUBLIC_ROOMS)
def test_all_is_sorted_and_equals_what_is_visible(name: str) -> None:
    """`__all__` lists every public name once, in order, and `dir()` shows the same names."""
    room = importlib.import_module(name)
    listed = list(getattr(room, "__all__", []))
    assert sorted(set(listed)) == listed
    visible = {
        item
        for item in dir(room)
        if not item.startswith("_")
        and not isinstance(getattr(room, item), types.ModuleType)
        and item != "annotations"
    }
    assert visible == {item for item in listed if not item.startswith("_")}


@pytest.mark.parametrize("name", PUBLIC_ROOMS)
def test_every_listed_name_is_there_and_has_a_docstring(name: str) -> None:
    """A listed name can be imported; classes and functions say what they are."""
    room = importlib.import_module(name)
    for item in getattr(room, "__all__", []):
        value = getattr(room, item)
        if isinstance(value, type | types.FunctionType):
            assert value.__doc__, f"{name}.{item} has no docstring"


def test_the_root_of_all_errors_is_public() -> None:
    """A caller catches everything muniment raises on purpose by one public name."""
    assert muniment.MunimentError.__name__ in muniment.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist fails as Python's own modules fail."""
    with pytest.raises(AttributeError):
        muniment.no_such_name  # noqa: B018


def test_nothing_happens_on_import() -> None:
    """Importing the package writes nothing, starts no thread, prints nothing, and touches no logging setting."""
    code = (
        "import logging, os, pathlib, threading\n"
        "before = len(logging.getLogger().handlers)\n"
        "import muniment\n"
        "assert threading.active_count() == 1\n"
        "assert len(logging.getLogger().handlers) == before\n"
        "assert not pathlib.Path(os.environ['MUNIMENT_HOME']).exists()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
