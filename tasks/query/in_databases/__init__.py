"""What databases know exactly of published rows: columns calculated of them, aggregates, order."""
