"""Inquiries: several questions that bounds answer, and what is calculated of their answers."""
