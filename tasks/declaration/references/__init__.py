"""Promises of a release that only a reference can show: judged by it, or as they are stated."""
