"""How postcards are painted: light, surface, things and scenes."""
