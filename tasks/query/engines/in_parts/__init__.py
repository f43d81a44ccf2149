"""Answers part by part: no more than one part is in memory, and what groups contribute is joined.

No group has rows of two parts, so that sums over groups are sums over parts.
"""
