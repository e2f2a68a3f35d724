"""The door in: HTTP -> verify -> split -> flow.accept. Plain ASGI, since every webhook passes here."""
