"""Modules and functions stay small enough to be read in one sitting. There is no list of exceptions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "muniment"
MODULE_LINES = 450
FUNCTION_LINES = 60
MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_is_short(path: Path) -> None:
    """A module that grows beyond the limit holds two ideas."""
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= MODULE_LINES, f"{path.name} has {lines} lines: split it"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_are_short(path: Path) -> None:
    """A function fits on a screen, docstring included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= FUNCTION_LINES, f"{path.name}: {node.name} has {lines} lines"
