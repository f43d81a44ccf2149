"""What a group's values are to look like once they are redistributed, and how to get there.

Here belong trees over a domain, the distributions that a spec can ask for, how a tree is annotated
with one, and which subdomains and fakes a group then needs: all of it works on counts of values.
What such a multiset promises is judged in `expectations.groups.subdomains`, and how it is published
is a form's matter.
"""
