"""What attackers get from a release, scored against the truth in private.

One module per attack behind one protocol (`attack`). An attack sees the published tables and what
it is said to know besides; who its guesses are about is known to the score alone. No score is
shown without its references: what the same attacker would guess without the attack.
"""
