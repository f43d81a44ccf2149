"""Attacks on a release: what attackers learn from it, scored against the truth in private.

Each attack is one module behind one protocol (`attack`). An attack sees the published tables and
its stated extra knowledge; only the score knows whom the guesses are about. Every score is shown
with its references: the share that the same attacker would guess without the attack.
"""
