"""From a drawing to machine code: derive, keep, load, compile."""
