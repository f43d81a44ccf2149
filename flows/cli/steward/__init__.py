"""Commands of those who publish: they read specs, sources and private state."""
