# ruff: noqa: A005 - named after the room that it tests
