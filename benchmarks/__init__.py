"""What things cost, measured beside the limit of what they could cost. Not part of the installed package."""
