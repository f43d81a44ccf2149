"""Release lines on a real server and a real worker: what an operator does, and what goes wrong."""
