"""What is decided: values and `now` in, values out. No await, clock, dice, wire or log."""
