"""The photo service: searches of a library, its pictures, and their routes."""
