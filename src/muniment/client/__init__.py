"""A memory on another installation, asked over HTTP by signed requests (design section 11; docs/rpc.md).

```python
from muniment.client import Client, key_from_file

with Client("https://memory.example", key_from_file("ava.seed"), agent="ava") as ava:
    ava.remember("The deadline is 1 June.", key="project.deadline")
    for hit in ava.recall("when is the deadline?"):
        print(hit.score, hit.record.text)
```
"""

from muniment.client.keys import key_from_file, key_from_peer, new_key_file
from muniment.client.remote import Client
from muniment.client.transport import Transport

__all__ = ["Client", "Transport", "key_from_file", "key_from_peer", "new_key_file"]
