"""The tree over the chunks of a blob, held to RFC 9162 by an implementation of its own words."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.archive import tree


def reference(leaves: list[bytes]) -> bytes:
    """RFC 9162, 2.1.1, over leaf data, as it is written there."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + reference(leaves[:k]) + reference(leaves[k:])).digest()


@given(st.integers(0, 70))
def test_the_root_is_that_of_the_standard(count: int) -> None:
    """For every number of leaves, each different."""
    data = [str(number).encode() for number in range(count)]
    assert tree.root_of([tree.leaf_hash(one) for one in data]) == reference(data)


@given(st.integers(1, 70), st.data())
def test_a_path_proves_its_leaf_and_no_other(count: int, data: st.DataObject) -> None:
    """At its place, in a tree of that size; one changed bit, place or size, and it proves nothing."""
    leaves = [tree.leaf_hash(str(number).encode()) for number in range(count)]
    root, number = tree.root_of(leaves), data.draw(st.integers(0, count - 1))
    path = tree.path_of(leaves, number)
    assert tree.proves(root, count, number, leaves[number], path)
    other = data.draw(st.integers(-1, count))
    if other != number:
        assert not tree.proves(root, count, other, leaves[number], path)
    assert not tree.proves(root, count, number, tree.leaf_hash(b"else"), path)
    assert not tree.proves(bytes(32), count, number, leaves[number], path)
    assert not tree.proves(root, count, number, leaves[number], [*path, bytes(32)])
    if path:
        assert not tree.proves(root, count, number, leaves[number], path[:-1])
        assert not tree.proves(root, count, number, leaves[number], [path[0][:31], *path[1:]])


def test_a_node_is_never_taken_for_a_chunk() -> None:
    """The two sides of a node, sent as one chunk, do not have the node's hash."""
    leaves = [tree.leaf_hash(b"a"), tree.leaf_hash(b"b")]
    assert tree.leaf_hash(leaves[0] + leaves[1]) != tree.root_of(leaves)


@pytest.mark.parametrize("size", [0, 1, tree.CHUNK - 1, tree.CHUNK, tree.CHUNK + 1, 3 * tree.CHUNK])
def test_chunks_cover_a_blob(size: int) -> None:
    """Their lengths add up, and there is one leaf for each."""
    count = tree.chunk_count(size)
    assert sum(tree.chunk_length(size, number) for number in range(count)) == size
    assert tree.chunk_length(size, count) == 0 == tree.chunk_length(size, -1)
    assert len(tree.leaves_of(bytes(size))) == count
