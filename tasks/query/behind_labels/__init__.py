"""What stands behind labels: their values, number lines, and conditions decided on them."""
