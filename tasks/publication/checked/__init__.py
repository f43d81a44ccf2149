"""What a check holds a published release against."""
