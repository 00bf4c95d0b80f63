"""Small words that several texts need. Pure."""


def counted(number: int, noun: str) -> str:
    """`1 order`, `2 orders`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
