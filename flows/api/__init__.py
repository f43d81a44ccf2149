"""The Python face: what `import sfumato` gives to analysts and owners, in notebooks above all.

Its names stand in `sfumato/__init__.py`. Here add what makes
those names; keep out what the command line needs as well.
"""
