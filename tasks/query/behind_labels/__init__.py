"""The values behind labels, number lines, and conditions decided on them."""
