"""Imprecise timestamps: signatures are found by joins over intervals, their confidences by dynamic programmes."""
