"""Private pages, for people who may see counts of the source: candidates, drafts, comparisons."""
