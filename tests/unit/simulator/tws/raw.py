"""The smallest client there is, without a socket: fields in, fields out."""

from pathlib import Path

from services.simulator.tws.client import Client
from services.simulator.tws.fields import encode, split
from tests.support.tws import DAY, Desk

ACCOUNT = "DU1234567"


class Raw:
    """One connection to a gateway; `seen` are the messages since it was last asked."""

    def __init__(self, desk: Desk, client_id: int = 7) -> None:
        self.desk, self.client = desk, Client()
        desk.gateway.greet(self.client, b"v157..178")
        self.send(71, 2, client_id, "")
        self.welcome = self.seen()

    def send(self, *fields: object) -> "Raw":
        """One message, fields as a client writes them."""
        self.desk.gateway.handle(self.client, encode([str(field) for field in fields]))
        return self

    def seen(self) -> list[tuple[str, ...]]:
        """What waits to be written."""
        return [split(payload) for payload in self.client.take()]

    def place(self, order_id: int = 1, limit: str = "191", ref: str = "r", **changes: str) -> list[tuple[str, ...]]:
        """Place a limit order for 10 AAPL and return what is answered; `changes` by name."""
        fields = placed(order_id, limit, ref, **changes)
        return self.send(*fields).seen()

    def cancel(self, order_id: int = 1) -> list[tuple[str, ...]]:
        """Cancel and return what is answered."""
        return self.send(4, 1, order_id, "").seen()


PLACES = {"exchange": 9, "action": 16, "quantity": 17, "type": 18, "tif": 21, "account": 23, "transmit": 27, "what_if": 84}


def placed(order_id: int, limit: str, ref: str, **changes: str) -> list[str]:
    """The requirement's captured placeOrder with these values."""
    line = (
        "3|4|265598|AAPL|STK||0.0|||SMART|NASDAQ|USD|AAPL|NMS|||BUY|10|LMT|191.0||DAY||DU1234567|O|0|my-ref-1|1|0|0|0|0|0|0|0||0.0|"
        "||||||0||-1|0|||0|||0|0||0||||||0|||||0|||||||||||0|||0|0|||0||0|0|0|0|||||||0|||||||||0|0|0|0|||0|||"
    )
    fields = line[:-1].split("|")
    fields[1], fields[19], fields[26] = str(order_id), limit, ref
    for name, value in changes.items():
        fields[PLACES[name]] = value
    return fields


def short(messages: list[tuple[str, ...]]) -> list[str]:
    """Orders and errors in a few words: `5 Submitted`, `3 Submitted 4/6`, `11 4`, `59`, `4 201`; the account is left out."""
    said = []
    for fields in messages:
        match fields[0]:
            case "5":
                said.append(f"5 {fields[93]}" + (f" {fields[103]}" if fields[103] else ""))
            case "3":
                said.append(f"3 {fields[2]} {fields[3]}/{fields[4]}" + (f" {fields[10]}" if fields[10] else ""))
            case "11":
                said.append(f"11 {fields[17 + 2]} {fields[14]}")
            case "59":
                said.append(f"59 {fields[2]}")
            case "4":
                said.append(f"4 {fields[3]}")
            case "61" | "6" | "7" | "8" | "73" | "63":
                pass
            case other:
                said.append(other)
    return said


def desk_at_slot(folder: Path) -> Desk:
    """A gateway at a session's slot."""
    desk = Desk(folder)
    desk.slot(DAY)
    return desk
