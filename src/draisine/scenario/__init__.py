"""The scenario file: what it may say, and what it means."""
