"""Following rankings as they change: one look at Redis per ranking and interval, however many follow it."""
