"""What is known of all parts before any of them is made."""
