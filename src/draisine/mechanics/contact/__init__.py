"""Where a shape touches: a plane, a face, an edge, a vertex."""
