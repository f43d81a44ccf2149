"""Small lines with what their versions tell, and the route by which each promise composes."""

from decimal import Decimal

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, EntropyLDiversity

T1 = "ABC:123 / ABD:124"
T2 = "ABC:112 DEF:112 / ABD:112 CEF:112"
T3 = "ABC:123 DEF:123 / ABD:123 CEF:123"
T4 = f"{T3} / ABG:123 DEf:123"
T5 = "ABCD:1123 / ABCd:1123 EFG:125"
T6 = "ABCD:1123 / ABC:112"
T7 = "ABC:123 / ABCD:1233"
T8 = "ABC:123 / ABCDEF:123345"
T9 = "ABCDEF:123345 / ABC:123"
T10 = "ABCD:1234 EFGH:1256 / ABEF:1125 CDGH:2346"
T11A = "ABC:123 / BCD:123"
T11B = "ABC:123 / CDE:123"
T13 = "ABC:123 DEF:124 / AD:12 BE:24 CF:13"
T14 = "ABC:123 / ABCDE:12344"
T15A = "ABU:123 / ABu:123 CDV:345"  # U and V are one unit before and after a change
T15B = "ABU:123 / ABu:123 CDV:456"
T16 = "ABC:123 DEF:124 / ABCDEF:123124"
T17 = "ABC:123 DEFG:1245 / ABCDE:12312"

SLOTS = {"A": 0, "B": 1, "C": 2, "D": 2, "E": 0, "F": 1}  # a colouring of T2 and T3


def distinct(l):
    return DistinctLDiversity(l=l)


def entropy(l):
    return EntropyLDiversity(l=Decimal(l))


def ke(k, e):
    return KEAnonymity(k=k, e=Decimal(e))


# name, line, slots or None, promise, route (None: refused)
VERDICTS = [
    ("T1", T1, None, distinct(2), None),
    ("T2", T2, SLOTS, distinct(2), "C"),
    ("T2", T2, SLOTS, ke(2, 1), "C"),
    ("T2", T2, SLOTS, entropy(2), None),
    ("T2 without slots", T2, None, distinct(2), None),
    ("T3", T3, None, distinct(3), "S"),
    ("T3", T3, None, entropy(3), "S"),
    ("T4", T4, None, distinct(3), "S"),
    ("T4", T4, None, entropy(3), "S"),
    ("T5", T5, None, distinct(3), "A"),
    ("T5", T5, None, entropy(3), None),
    ("T6", T6, None, distinct(2), None),
    ("T7", T7, None, distinct(2), None),
    ("T8", T8, None, distinct(3), "A"),
    ("T9", T9, None, distinct(3), "A"),
    ("T10", T10, None, distinct(2), None),
    ("T11a", T11A, None, distinct(3), "S"),
    ("T11a", T11A, None, entropy(3), "S"),
    ("T11b", T11B, None, distinct(3), "S"),
    ("T11b", T11B, None, entropy(3), "S"),
    ("T13", T13, None, distinct(2), None),
    ("T14", T14, None, distinct(2), None),
    ("T15a", T15A, None, distinct(3), None),
    ("T15b", T15B, None, distinct(3), "A"),
    ("T16", T16, None, distinct(3), "A"),
    ("T17", T17, None, distinct(2), "A"),
    ("T17", T17, None, distinct(3), None),
]
