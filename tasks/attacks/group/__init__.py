"""Attacks by who knows a person's group, and what values it shows."""
