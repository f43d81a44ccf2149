"""The questions that a release admits, by the way in which its form shows a person."""
