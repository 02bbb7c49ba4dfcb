"""Mark a working: read it, compare every line with what stands above it, say where each error started."""
