"""The floors of the building: who may import whom, and what the lower floors may not touch."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "muniment"

# Each room and its floor. A floor imports only floors below it; rooms on one floor do not import each other.
FLOORS: list[list[str]] = [
    ["base"],
    ["identity"],
    ["ledger"],
    ["platform", "keyring", "store", "blobs", "embed"],
    ["recall", "sync", "archive", "portable"],
    ["bank"],  # and every other module at the top of the package: they are one room
    ["commands", "client"],
    ["surfaces", "testing", "demo"],
    ["__main__", "service"],
]
BANK_FLOOR = 5
ONE_ROOM_FLOORS = {BANK_FLOOR}
PURE_FLOORS = {0, 1, 2}
IMPURE_MODULES = {
    "time",
    "os",
    "random",
    "secrets",
    "socket",
    "threading",
    "pathlib",
    "subprocess",
    "io",
    "tempfile",
}
IMPURE_CALLS = {"datetime.now", "datetime.utcnow", "date.today", "open", "input", "uuid.uuid4", "uuid.uuid1"}


def floor_of(room: str) -> int:
    """The floor that holds `room`."""
    for number, rooms in enumerate(FLOORS):
        if room in rooms:
            return number
    if (ROOT / f"{room}.py").exists():
        return BANK_FLOOR
    raise AssertionError(f"room {room!r} is on no floor: add it to FLOORS")


def modules() -> list[Path]:
    """Every module of the package except its root."""
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def room_of(path: Path) -> str:
    """The first folder or module name below the package root."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    """Dotted names of all modules that a file imports, inside functions and type-only blocks too."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the floor"
            found.append(node.module or "")
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_floor_imports_only_floors_below(path: Path) -> None:
    """No module imports a floor above its own, or another room of its floor."""
    room = room_of(path)
    floor = floor_of(room)
    for name in imports(path):
        if not name.startswith("muniment."):
            continue
        other = name.split(".")[1]
        if other == room or not (ROOT / other).exists() and not (ROOT / f"{other}.py").exists():
            continue
        same_room = floor in ONE_ROOM_FLOORS and floor_of(other) == floor
        assert floor_of(other) < floor or same_room, f"{room} (F{floor}) imports {other} (F{floor_of(other)})"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_below_the_root_imports_the_root(path: Path) -> None:
    """The package root only re-exports: importing it from inside would make a ring."""
    roots = [name for name in imports(path) if name == "muniment"]
    assert not roots or floor_of(room_of(path)) >= 7


@pytest.mark.parametrize(
    "path",
    [p for p in modules() if floor_of(room_of(p)) in PURE_FLOORS],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_the_lower_floors_do_no_io(path: Path) -> None:
    """Floors 0 to 2 touch no file, socket, thread, clock, randomness or environment."""
    for name in imports(path):
        assert name.split(".")[0] not in IMPURE_MODULES, f"{path.name} imports {name}"
        assert name not in {"nacl.utils", "nacl.utils.random"}, f"{path.name} draws randomness"
    source = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(source):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in IMPURE_CALLS, f"{path.name} calls {ast.unparse(node.func)}"
