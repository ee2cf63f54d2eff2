"""What a deck has come to, as files for other programs and for people."""
