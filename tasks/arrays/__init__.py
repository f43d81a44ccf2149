"""Arrays and tables as such, whatever they are about: ranks, compiled loops, tables at rest."""
