"""What to publish and how: what a spec would give, before anything is published."""
