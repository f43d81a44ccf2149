"""Release lines as deployments of a Prefect server: what is registered, and what it acts upon."""
