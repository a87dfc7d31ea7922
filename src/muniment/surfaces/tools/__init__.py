"""Memory as tools of a model that calls functions: definitions for its API, and a dispatcher that answers in words.

```python
kit = muniment.tools("muniment").bind(agent)
reply = client.messages.create(..., tools=kit.definitions("anthropic"))
answer = kit.call("recall", {"query": "when do we deploy?"})
```
"""

from muniment.surfaces.tools.bound import Answer, Kit
from muniment.surfaces.tools.toolset import PROFILES, Toolset, instructions, tools

__all__ = ["PROFILES", "Answer", "Kit", "Toolset", "instructions", "tools"]
