"""What a run left, and questions to it."""
