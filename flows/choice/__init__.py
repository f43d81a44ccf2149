"""Previews of releases and help to choose a spec; nothing is published here."""
