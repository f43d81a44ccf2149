"""Answers from codes and group ids: groups are addressed, and nothing is joined."""
