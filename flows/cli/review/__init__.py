"""`sfumato review`: what reviewers do, and what the publishing user says of them."""
