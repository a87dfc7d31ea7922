"""JSON-RPC 2.0 over signed HTTP requests: `/rpc` (design section 11; docs/rpc.md).

`protocol.py` is the protocol alone, `methods.py` what can be called, `tenzro.py` the ancestor's four methods,
`door.py` the way in.
"""
