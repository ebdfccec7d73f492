"""Examples of Template Model Builder's, written anew from their mathematics for this library."""
