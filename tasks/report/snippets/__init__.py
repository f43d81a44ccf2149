"""What a page says of how to ask: one module for each way of showing, and a registry."""
