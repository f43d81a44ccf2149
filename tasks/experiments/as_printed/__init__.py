"""The papers' algorithms as they are printed, errors included: baselines, and never a release.

Nothing but experiments and tests may import these.
"""
