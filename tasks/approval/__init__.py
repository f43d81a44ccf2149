"""Approval of candidates: requests, decisions of reviewers, and their signatures."""
