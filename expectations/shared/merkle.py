"""Merkle trees over lists that only grow: roots, and proofs of inclusion and of consistency.

A root is one hash of a whole list. A proof of inclusion shows with a few hashes that an entry is in
the list of a root; a proof of consistency shows that one list begins with all of another.

Hashes are SHA-256, 32 bytes each: of a leaf over 0x00 and the bytes of its entry, of a node over
0x01 and the hashes below it. A node without a sibling is carried up as it is, which gives the tree
of the RFC: its left half is the largest full tree.

Source: RFC 9162 (Certificate Transparency Version 2.0), section 2.1.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Hash = bytes
Hashes = Sequence[Hash]
"""Hashes in order: of entries, or of a proof from the leaves upwards."""
EMPTY_ROOT: Hash = hashlib.sha256().digest()


class MerkleTree(NamedTuple):
    """A list as it is remembered: its number of entries, and its root."""

    size: int
    root: Hash


def leaf_hash(entry: bytes) -> Hash:
    """Return the hash of an entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(first: Hash, second: Hash) -> Hash:
    """Return the hash of a node from those below it, left and right."""
    return hashlib.sha256(b"\x01" + first + second).digest()


def root_of(leaves: Hashes) -> Hash:
    """Return the root of a list (MTH of the RFC).

    Args:
        leaves: the hashes of its entries.

    >>> root_of([]).hex()[:8], root_of([leaf_hash(b"")]).hex()[:8]
    ('e3b0c442', '6e340b9c')
    """
    return _levels(leaves)[-1][0] if leaves else EMPTY_ROOT


def tree_of(leaves: Hashes) -> MerkleTree:
    """Return the size and the root of a list."""
    return MerkleTree(len(leaves), root_of(leaves))


def _levels(leaves: Hashes) -> list[Hashes]:
    """Return the hashes of every level, from the leaves up to the root."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        levels.append(list(_level_above(levels[-1])))
    return levels


def _level_above(level: Hashes) -> Iterator[Hash]:
    for first in range(0, len(level) - 1, 2):
        yield node_hash(level[first], level[first + 1])
    if len(level) % 2:
        yield level[-1]


def inclusion_path(leaves: Hashes, index: int) -> tuple[Hash, ...]:
    """Return the proof that a list has its entry `index`, from 0 (PATH of the RFC).

    Raises:
        IndexError: where it has no such entry.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(index)
    return tuple(_siblings(_levels(leaves), index, 0))


def consistency_path(leaves: Hashes, size: int) -> tuple[Hash, ...]:
    """Return the proof that a list begins with its first `size` entries (PROOF of the RFC).

    It is empty where nothing has to be proved: for no entries, and for all.

    Raises:
        IndexError: where it has fewer entries.
    """
    if not 0 <= size <= len(leaves):
        raise IndexError(size)
    if size in (0, len(leaves)):
        return ()
    levels, height, index = _levels(leaves), 0, size - 1
    while index % 2:  # up to the largest full tree at the end of the shorter list
        index, height = index // 2, height + 1
    start = () if index == 0 else (levels[height][index],)  # the reader has the root of a full one
    return (*start, *_siblings(levels, index, height))


def _siblings(levels: Sequence[Hashes], index: int, height: int) -> Iterator[Hash]:
    """Yield the sibling of a node and of each node above it, where there is one."""
    for level in levels[height:-1]:
        sibling = index ^ 1
        if sibling < len(level):
            yield level[sibling]
        index //= 2


def includes(tree: MerkleTree, leaf: Hash, index: int, path: Hashes) -> bool:
    """Decide whether a proof shows that a list has a leaf at an index (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < tree.size:
        return False
    node, last, root = index, tree.size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if node % 2 or node == last:
            root = node_hash(sibling, root)
            node, last = _up_to_a_right_child(node, last)
        else:
            root = node_hash(root, sibling)
        node, last = node // 2, last // 2
    return last == 0 and root == tree.root


def is_consistent(earlier: MerkleTree, later: MerkleTree, path: Hashes) -> bool:
    """Decide whether a proof shows that `later` begins with `earlier` (RFC 9162, 2.1.4.2)."""
    if earlier.size == later.size or earlier.size == 0:
        expected = EMPTY_ROOT if earlier.size == 0 else later.root
        return not path and earlier.root == expected and earlier.size <= later.size
    if not (0 < earlier.size < later.size) or not path:
        return False
    hashes = [earlier.root, *path] if _is_power_of_two(earlier.size) else list(path)
    return _follow(earlier, later, hashes)


def _follow(earlier: MerkleTree, later: MerkleTree, hashes: Hashes) -> bool:
    """Compute both roots from a proof, and compare them."""
    node, last = earlier.size - 1, later.size - 1
    while node % 2:
        node, last = node // 2, last // 2
    first = second = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if node % 2 or node == last:
            first, second = node_hash(sibling, first), node_hash(sibling, second)
            node, last = _up_to_a_right_child(node, last)
        else:
            second = node_hash(second, sibling)
        node, last = node // 2, last // 2
    return last == 0 and (first, second) == (earlier.root, later.root)


def _up_to_a_right_child(node: int, last: int) -> tuple[int, int]:
    """Leave the levels on which a node is carried up alone."""
    while node and not node % 2:
        node, last = node // 2, last // 2
    return node, last


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
