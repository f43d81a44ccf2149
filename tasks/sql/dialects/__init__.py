"""Databases: one module for each with its differences, and their registry.

A dialect is data and functions: how conditions are spelled, how columns are stored, how one
connects, and how a function over a query is made.
"""
