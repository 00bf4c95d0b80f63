"""Write shared/protocol/xnys.json, the static table of New York sessions, from exchange_calendars (a dev dependency).

Run it before the table's last day comes near, with a newer exchange_calendars and a later `LAST`.
"""

import json
import warnings
from datetime import date, timedelta
from pathlib import Path

FIRST, LAST = date(2000, 1, 1), date(2027, 11, 30)
REGULAR_CLOSE = "16:00"
SATURDAY = 5
TARGET = Path(__file__).parents[1] / "shared" / "protocol" / "xnys.json"


def table(first: date, last: date) -> dict[str, object]:
    """Weekdays without a session and sessions that close early (exchange time), both sorted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas deprecations inside exchange_calendars
        import exchange_calendars

        xnys = exchange_calendars.get_calendar("XNYS", start=first.isoformat(), end=last.isoformat())
        zone = str(xnys.tz)
        closes = {s.date(): xnys.session_close(s).tz_convert(zone).strftime("%H:%M") for s in xnys.sessions}
    days = (first + timedelta(n) for n in range((last - first).days + 1))
    return {
        "calendar": "XNYS",
        "zone": zone,
        "first": first.isoformat(),
        "last": last.isoformat(),
        "holidays": [day.isoformat() for day in days if day.weekday() < SATURDAY and day not in closes],
        "early_closes": {day.isoformat(): close for day, close in closes.items() if close != REGULAR_CLOSE},
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(table(FIRST, LAST), separators=(",", ":")) + "\n", "utf-8")
