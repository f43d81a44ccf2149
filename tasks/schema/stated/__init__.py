"""What a publisher states of a release that its tables cannot show."""
