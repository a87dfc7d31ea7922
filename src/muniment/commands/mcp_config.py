"""How programs that speak MCP are told to start `muniment mcp`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode")
_FILES = {
    "claude-code": ".mcp.json in the project, or as a command:",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json in the project",
}


def configuration(
    client: str, home: str | Path | None, agent: str | None, profile: str
) -> tuple[str, dict[str, Any]]:
    """What to put where: the text for a person, and the value that the client's file has to hold.

    Args:
        client: One of `CLIENTS`.
        home: The peer folder, if one was named; it is made absolute, as clients start programs anywhere.
        agent: The agent, if one was named.
        profile: Of the tools.
    """
    args = ["mcp"]
    if home is not None:
        args += ["--home", str(Path(home).expanduser().resolve())]
    if agent is not None:
        args += ["--agent", agent]
    if profile != "muniment":
        args += ["--profile", profile]
    server: dict[str, Any] = {"command": "muniment", "args": args}
    if client == "vscode":
        server = {"type": "stdio", **server}
    value = {"servers" if client == "vscode" else "mcpServers": {"muniment": server}}
    lines = [f"# {_FILES[client]}"]
    if client == "claude-code":
        lines.append(f"# claude mcp add muniment -- {shlex.join(['muniment', *args])}")
    return "\n".join([*lines, json.dumps(value, indent=2, ensure_ascii=False)]), value
