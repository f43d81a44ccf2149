"""What may be asked of a release, by the way in which its form shows a person."""
