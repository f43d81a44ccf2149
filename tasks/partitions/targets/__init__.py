"""Target distributions of redistributed values, and the subdomains and fakes that reach them.

It has trees over a domain, the distributions that a spec can ask for, the annotation of a tree with
a distribution, and the subdomains and fakes that a group then needs. All of it works on counts of
values. `expectations.groups.subdomains` judges the result, and a form publishes it.
"""
