"""Merkle trees: published vectors, the recursive definitions of RFC 9162, and laws of proofs."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.merkle import (
    EMPTY_ROOT,
    MerkleTree,
    consistency_path,
    includes,
    inclusion_path,
    is_consistent,
    leaf_hash,
    root_of,
    tree_of,
)

ENTRIES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""The roots of the first 0 to 8 entries, as the tests of Certificate Transparency have them."""
INCLUSION = {  # (index, size): the proof in the tests of Certificate Transparency
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}
CONSISTENCY = {  # (shorter, longer)
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
LEAVES = [leaf_hash(entry) for entry in ENTRIES]


def largest_power_below(n):
    power = 1
    while power * 2 < n:
        power *= 2
    return power


def mth(entries):
    """The definition of the RFC, word for word."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0]).digest()
    k = largest_power_below(len(entries))
    return hashlib.sha256(b"\1" + mth(entries[:k]) + mth(entries[k:])).digest()


def path(m, entries):
    if len(entries) == 1:
        return []
    k = largest_power_below(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m, entries):
    return subproof(m, entries, True)


def subproof(m, entries, complete):
    if m == len(entries):
        return [] if complete else [mth(entries)]
    k = largest_power_below(len(entries))
    if m <= k:
        return [*subproof(m, entries[:k], complete), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], False), mth(entries[:k])]


def entries_of(size):
    return [f"entry {i}".encode() for i in range(size)]


def leaves_of(entries):
    return [leaf_hash(entry) for entry in entries]


@pytest.mark.parametrize("size", range(9))
def test_roots_of_certificate_transparency(size):
    assert root_of(LEAVES[:size]).hex() == ROOTS[size]
    assert mth(ENTRIES[:size]).hex() == ROOTS[size]


def test_proofs_of_certificate_transparency():
    for (index, size), hashes in INCLUSION.items():
        assert [node.hex() for node in inclusion_path(LEAVES[:size], index)] == hashes
    for (size, longer), hashes in CONSISTENCY.items():
        assert [node.hex() for node in consistency_path(LEAVES[:longer], size)] == hashes


@pytest.mark.parametrize("size", [*range(34), 63, 64, 65])
def test_all_is_as_the_rfc_defines_it(size):
    entries = entries_of(size)
    leaves = leaves_of(entries)
    tree = tree_of(leaves)
    assert tree.root == mth(entries)
    for index in range(size):
        proved = inclusion_path(leaves, index)
        assert list(proved) == path(index, entries)
        assert includes(tree, leaves[index], index, proved)
    for shorter in range(1, size + 1):
        proved = consistency_path(leaves, shorter)
        assert list(proved) == proof(shorter, entries)
        assert is_consistent(MerkleTree(shorter, mth(entries[:shorter])), tree, proved)


def test_every_list_continues_the_empty_one():
    tree = tree_of(LEAVES)
    assert consistency_path(LEAVES, 0) == ()
    assert is_consistent(MerkleTree(0, EMPTY_ROOT), tree, ())
    assert not is_consistent(MerkleTree(0, tree.root), tree, ())
    assert not is_consistent(MerkleTree(0, EMPTY_ROOT), tree, LEAVES[:1])


@pytest.mark.parametrize("index", [-1, 8, 9])
def test_there_is_no_proof_of_entries_that_are_not_there(index):
    with pytest.raises(IndexError):
        inclusion_path(LEAVES, index)
    with pytest.raises(IndexError):
        consistency_path(LEAVES, index if index < 0 else index + 1)
    assert not includes(tree_of(LEAVES), LEAVES[0], index, inclusion_path(LEAVES, 0))


lists = st.lists(st.binary(max_size=3), min_size=1, max_size=70)


@st.composite
def places(draw):
    entries = draw(lists)
    return leaves_of(entries), draw(st.integers(0, len(entries) - 1))


def alter(draw, hashes):
    """A proof with one bit changed, one hash more, or one less."""
    change = draw(st.sampled_from(["bit", "more", "less"] if hashes else ["more"]))
    place = draw(st.integers(0, max(len(hashes) - 1, 0)))
    if change == "bit":
        bit = draw(st.integers(0, 255))
        node = (int.from_bytes(hashes[place], "big") ^ (1 << bit)).to_bytes(32, "big")
        return [*hashes[:place], node, *hashes[place + 1 :]]
    if change == "less":
        return [*hashes[:place], *hashes[place + 1 :]]
    return [*hashes[:place], draw(st.binary(min_size=32, max_size=32)), *hashes[place:]]


@given(places(), st.data())
def test_an_altered_proof_of_inclusion_fails(where, data):
    leaves, index = where
    tree, proved = tree_of(leaves), inclusion_path(leaves, index)
    assert includes(tree, leaves[index], index, proved)
    assert not includes(tree, leaves[index], index, alter(data.draw, proved))
    assert not includes(tree, leaf_hash(b"four bytes, at least"), index, proved)
    assert not includes(
        MerkleTree(tree.size, leaf_hash(b"another root")), leaves[index], index, proved
    )


@given(places(), st.data())
def test_an_altered_proof_of_consistency_fails(where, data):
    leaves, index = where
    size = index + 1
    earlier, later = tree_of(leaves[:size]), tree_of(leaves)
    proved = consistency_path(leaves, size)
    assert is_consistent(earlier, later, proved)
    assert not is_consistent(earlier, later, alter(data.draw, proved))
    other = leaf_hash(b"another root")
    assert not is_consistent(MerkleTree(size, other), later, proved)
    assert not is_consistent(earlier, MerkleTree(later.size, other), proved)
    if size < later.size:
        assert not is_consistent(later, earlier, proved)


@given(places(), st.binary(min_size=4, max_size=5))
def test_no_proof_joins_lists_that_differ_before(where, entry):
    """Not even the longer list's own: an entry below the remembered size was rewritten."""
    leaves, index = where
    earlier = tree_of(leaves)
    rewritten = [*leaves[:index], leaf_hash(entry), *leaves[index + 1 :], leaf_hash(b"new")]
    assert not is_consistent(earlier, tree_of(rewritten), consistency_path(rewritten, len(leaves)))
