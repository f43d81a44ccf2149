"""Private pages, for who may see counts of the source: candidates, drafts, comparisons."""
