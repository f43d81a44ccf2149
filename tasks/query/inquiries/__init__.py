"""Inquiries: several questions that are answered with bounds, and calculations on their answers."""
