"""Floor 6: everything that can be asked for, defined once.

`invoke(name, context, params)` checks and calls; `COMMANDS` lists what there is.
"""

from muniment.commands.context import Context
from muniment.commands.table import COMMANDS, GROUPS, Command, Example, Param, Result, invoke, lookup, nearest

__all__ = [
    "COMMANDS",
    "GROUPS",
    "Command",
    "Context",
    "Example",
    "Param",
    "Result",
    "invoke",
    "lookup",
    "nearest",
]
