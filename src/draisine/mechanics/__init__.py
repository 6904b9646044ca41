"""How the machine moves: pure functions over any scalar."""
