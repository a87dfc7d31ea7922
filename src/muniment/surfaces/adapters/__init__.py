"""Memory where other frameworks look for theirs: one module each, whose package is an extra of the same name.

`files` needs no package: the memory tool of Claude as a function from plain objects to words.
"""
