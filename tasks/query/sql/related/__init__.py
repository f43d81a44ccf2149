"""The SQL of bounds about people, their related rows, and facts of them."""
