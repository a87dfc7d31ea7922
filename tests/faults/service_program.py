"""Remembers by way of the service, many calls at once, and prints each text once it is acknowledged."""

import asyncio
import sys
from pathlib import Path

from muniment.service import MemoryService


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(home: Path) -> None:
    """Until it is killed."""
    service = await MemoryService.open_or_create(home, capacity=8)
    _say("ready")

    async def writer(name: int) -> None:
        for number in range(100_000):
            text = f"writer {name} note {number}"
            await service.remember(text)
            _say(text)

    await asyncio.gather(*(writer(name) for name in range(6)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
