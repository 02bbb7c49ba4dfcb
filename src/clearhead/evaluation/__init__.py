"""Score translations. Every score has a signature that states how it was computed."""
