"""Commands for those who change fnabi: ``python -m tools``."""
