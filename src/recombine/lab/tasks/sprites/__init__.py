"""Sprites: images of a few shapes, put together by a known function."""
