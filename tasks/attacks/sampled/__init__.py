"""How sure figures are that come from a sample: of tries, of people, of groups and their worlds."""
