"""Texts of which GitHub makes a link or a mention, and some that look like it: for both writers of Markdown."""

JOINER = "\u2060"
"""The word joiner: it takes no room, and is no part of an address or a name."""

LINKED = (
    "see http://evil.example/x",
    "HTTPS://EVIL.example",
    "ftp://evil.example",
    "wool (www.evil.example)",
    "@octocat",
    "cc @some-team/inside",
    "somebody@evil.example",
    "mailto:somebody@evil.example",
    "fixes #123",
    "owner/repo#1",
    "owner/repo@0a1b2c3d",
    "GH-12",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    "0a1b2c3",
)
NOT_LINKED = ("wool: hat", "a / b", "w.w", "at @ noon", "# 1", "1234567", "GH-x", "abc123", "1:1", "a//b", "Würfel")
