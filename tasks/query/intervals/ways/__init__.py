"""What is likely of answers: one module for each way in which forms show a person."""
