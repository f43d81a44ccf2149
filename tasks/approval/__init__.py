"""Who may let a candidate appear: requests, decisions of reviewers, and their signatures."""
