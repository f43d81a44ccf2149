"""What is said of a line and of its versions in public, beside the versions themselves."""
