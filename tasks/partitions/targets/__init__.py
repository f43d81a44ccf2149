"""Target distributions of redistributed values, and the subdomains and fakes that reach them.

Here belong trees over a domain, the distributions that a spec can ask for, how a tree is annotated
with one, and which subdomains and fakes a group then needs: all of it works on counts of values.
Such a multiset is judged in `expectations.groups.subdomains`, and published by a form.
"""
