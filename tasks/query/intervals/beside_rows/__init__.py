"""What is likely of values that stand apart beside exact rows: which rows, and which laws."""
